"""Turns: how many calls run at once, and how long the others wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from brain_async.errors import InvalidInputError, PoolExhaustedError

__all__ = ["Turns"]

T = TypeVar("T")

_PATIENCE_SECONDS = 10.0


class Turns:
    """Lets ``limit`` calls run at once, first come first served; None lets all of them.

    Many more calls than the store has connections do not end sooner for having begun: each waits at every step, their
    deadlines run meanwhile, and the event loop has all of them to look after.
    """

    def __init__(self, limit: int | None, *, patience: float = _PATIENCE_SECONDS) -> None:
        """Raises InvalidInputError for a limit below 1. ``patience`` is how many seconds a call waits for its turn."""
        if limit is not None and limit < 1:
            raise InvalidInputError(f"max_reads must be at least 1, not {limit}", field="max_reads")
        self._limiter = None if limit is None else anyio.Semaphore(limit)
        self._patience = patience

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """What ``call`` returns, once it is its turn. Raises PoolExhaustedError when that takes too long."""
        if self._limiter is None:
            return await call()
        try:
            with anyio.fail_after(self._patience):
                await self._limiter.acquire()
        except TimeoutError as error:
            raise PoolExhaustedError(f"no turn within {self._patience:g} s: too many calls at once") from error
        try:
            return await call()
        finally:
            self._limiter.release()
