"""Group commit: works that are submitted while others are being written wait, and are then written together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from brain_async.ports.kv import Work

__all__ = ["AnyWork", "Outcome", "WorkGroups"]

T = TypeVar("T")

AnyWork: TypeAlias = Callable[[], Work[Any]]


class Outcome(NamedTuple):
    """What became of a work: its result, or what it raised or failed with."""

    result: Any = None
    error: BaseException | None = None


class WorkGroups:
    """Collects works on one event loop, and hands them on in groups, one group at a time, in the order in which they came.

    ``start`` begins to write a group without waiting for it; ``finish`` is to be called on the loop, with an outcome for
    each of its works, once it is written.
    """

    def __init__(self, start: Callable[[Sequence[AnyWork]], None]) -> None:
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[AnyWork, asyncio.Future[Outcome]]] = []
        self._begun: list[asyncio.Future[Outcome]] = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def submit(self, work: Callable[[], Work[T]]) -> T:
        """The result of ``work`` once it is written. Cancelled before its group begins, it is not run."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append((work, future))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            self._loop.call_soon(self._begin)
        outcome = await future
        if outcome.error is not None:
            raise outcome.error
        result: T = outcome.result
        return result

    def finish(self, outcomes: Sequence[Outcome]) -> None:
        """Wake those whose works were written."""
        for future, outcome in zip(self._begun, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)
        self._begun = []
        # After the callers that this wakes: what they submit next belongs to the next group.
        self._loop.call_soon(self._begin)

    async def drain(self) -> None:
        """Wait until everything submitted is written."""
        await self._idle.wait()

    def _begin(self) -> None:
        group = [(work, future) for work, future in self._waiting if not future.done()]
        self._waiting = []
        if group:
            self._begun = [future for _, future in group]
            self._start([work for work, _ in group])
        else:
            self._busy = False
            self._idle.set()
