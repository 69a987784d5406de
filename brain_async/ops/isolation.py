"""Batches of a write, in which one bad object never takes its neighbours along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from brain_async.errors import BackendTimeoutError, BrainError
from brain_async.model.object import Object

__all__ = ["Draft", "Isolation"]

PATIENCE = 16
"""Single failures after which a failing batch is taken for a failing backend, and no further object is tried alone."""


class Failable(Protocol):
    """One item of a batch; ``error`` is what stopped it."""

    error: BrainError | None


D = TypeVar("D", bound=Failable)


class Draft(msgspec.Struct):
    """One object on its way through a write; ``error`` is what stopped it, ``stored`` whether the row was written."""

    index: int
    object: Object
    error: BrainError | None = None
    stored: bool = False


class Isolation(Generic[D]):
    """Runs a batch action, and leaves its error on the drafts that it failed for.

    A batch that fails as a whole is halved until the culprit stands alone; after ``PATIENCE`` single failures the backend
    itself is taken to be down, and the rest gets the error untried. A timeout is never retried: its outcome is unknown.
    """

    def __init__(
        self,
        act: Callable[[Sequence[D]], Awaitable[None]],
        translate: Callable[[BrainError], BrainError] = lambda error: error,
    ) -> None:
        """``act`` raises BrainError when the whole batch failed, or sets the errors of single drafts itself."""
        self._act = act
        self._translate = translate
        self._patience = PATIENCE
        self._timed_out: BackendTimeoutError | None = None

    async def run(self, batch: Sequence[D]) -> None:
        """Act on ``batch``."""
        if not batch:
            return
        try:
            if self._timed_out is not None:
                raise self._timed_out
            await self._act(batch)
        except BrainError as error:
            if isinstance(error, BackendTimeoutError):
                self._timed_out = error
            if len(batch) == 1:
                self._patience -= 1
            if len(batch) == 1 or self._patience <= 0 or self._timed_out is not None:
                failure = self._translate(error)
                for draft in batch:
                    draft.error = failure
                return
            middle = len(batch) // 2
            await self.run(batch[:middle])
            await self.run(batch[middle:])
