"""LoopWatch: how long the event loop is held up, which every request then waits for."""

from __future__ import annotations

import time
from collections import deque

import anyio

__all__ = ["LoopWatch"]

_INTERVAL_SECONDS = 0.02
_SLICE_SECONDS = 5.0
_SLICES = 12


class LoopWatch:
    """Sleeps for short whiles, and notes how much longer it slept than it wanted to. ``run`` it beside the work."""

    def __init__(self) -> None:
        self._slices: deque[float] = deque([0.0], maxlen=_SLICES)

    @property
    def worst(self) -> float:
        """The longest delay of the last minute, in seconds, also of a process that did not get its turn from the system."""
        return max(self._slices)

    async def run(self) -> None:
        """Watch until cancelled."""
        began = time.perf_counter()
        while True:
            before = time.perf_counter()
            await anyio.sleep(_INTERVAL_SECONDS)
            now = time.perf_counter()
            if now - began > _SLICE_SECONDS:
                self._slices.append(0.0)
                began = now
            self._slices[-1] = max(self._slices[-1], now - before - _INTERVAL_SECONDS)
