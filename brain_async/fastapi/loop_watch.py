"""LoopWatch: how long the event loop is held up, which every request then waits for."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

__all__ = ["LoopWatch"]

_INTERVAL_SECONDS = 0.02
_SLICE_SECONDS = 5.0
_SLICES = 12
_SCHEDULE = "/proc/thread-self/schedstat"


class LoopWatch:
    """Sleeps for short whiles, and notes how much longer it slept than it wanted to. ``run`` it beside the work."""

    def __init__(self) -> None:
        self._slices: deque[float] = deque([0.0], maxlen=_SLICES)

    @property
    def worst(self) -> float:
        """The longest delay of the last minute, in seconds.

        On Linux without the time that the thread was ready and the system let others run: that is no fault of the process.
        """
        return max(self._slices)

    async def run(self) -> None:
        """Watch until cancelled."""
        began = time.perf_counter()
        with _kept_waiting() as kept_waiting:
            while True:
                before, waited = time.perf_counter(), kept_waiting()
                await anyio.sleep(_INTERVAL_SECONDS)
                now = time.perf_counter()
                delay = now - before - _INTERVAL_SECONDS - (kept_waiting() - waited)
                if now - began > _SLICE_SECONDS:
                    self._slices.append(0.0)
                    began = now
                self._slices[-1] = max(self._slices[-1], delay)


@contextmanager
def _kept_waiting() -> Iterator[Callable[[], float]]:
    """Gives the seconds that this thread has been ready without running, so far; 0 where the system does not say."""
    try:
        schedule = os.open(_SCHEDULE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield lambda: 0.0
        return
    try:
        yield lambda: int(os.pread(schedule, 128, 0).split()[1]) / 1e9
    finally:
        os.close(schedule)
