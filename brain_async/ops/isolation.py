"""Batches of a write, in which one bad object never takes its neighbours along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from brain_async.errors import BackendTimeoutError, BrainError
from brain_async.model.object import Object

__all__ = ["Draft", "Isolation"]

PATIENCE = 16
"""Single failures after which a failing batch is taken for a failing backend, and no further object is tried alone."""

MAX_TIMEOUTS = 3


class Failable(Protocol):
    """One item of a batch; ``error`` is what stopped it."""

    error: BrainError | None


D = TypeVar("D", bound=Failable)


class Draft(msgspec.Struct):
    """One object on its way through a write.

    ``error`` is what stopped it, ``stored`` whether the store holds it, ``waiting`` whether its node is left to the outbox.
    """

    index: int
    object: Object
    error: BrainError | None = None
    stored: bool = False
    waiting: bool = False


class Isolation:
    """Runs the batches of one call against one backend, and leaves its error on the drafts that it failed for.

    A batch that fails as a whole is halved until the culprit stands alone; after ``PATIENCE`` single failures in it the
    backend itself is taken to be down, and the rest of the batch gets the error untried. A batch that times out is not tried
    again, as its outcome is unknown; after ``MAX_TIMEOUTS`` of them in a row no further batch is tried.
    """

    def __init__(self, translate: Callable[[BrainError], BrainError] = lambda error: error) -> None:
        """``translate`` makes the error that a draft carries out of the one that its batch raised."""
        self._translate = translate
        self._patience = PATIENCE
        self._timeouts = 0

    async def run(self, batch: Sequence[D], act: Callable[[Sequence[D]], Awaitable[None]]) -> None:
        """Act on ``batch``. ``act`` raises BrainError when the whole batch failed, or sets errors of single drafts itself."""
        self._patience = PATIENCE
        if batch:
            await self._run(batch, act)

    async def _run(self, batch: Sequence[D], act: Callable[[Sequence[D]], Awaitable[None]]) -> None:
        if self._timeouts >= MAX_TIMEOUTS:
            self._fail(batch, BackendTimeoutError(f"not tried: {MAX_TIMEOUTS} batches before it took too long"))
            return
        try:
            await act(batch)
        except BackendTimeoutError as error:
            self._timeouts += 1
            self._fail(batch, error)
        except BrainError as error:
            self._timeouts = 0
            if len(batch) == 1:
                self._patience -= 1
            if len(batch) == 1 or self._patience <= 0:
                self._fail(batch, error)
                return
            middle = len(batch) // 2
            await self._run(batch[:middle], act)
            await self._run(batch[middle:], act)
        else:
            self._timeouts = 0

    def _fail(self, batch: Sequence[D], error: BrainError) -> None:
        failure = self._translate(error)
        for draft in batch:
            draft.error = failure
