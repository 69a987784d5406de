"""A deadline on one awaited call, for what is not a channel."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio

from brain_async.errors import BackendError, BackendTimeoutError, BrainError

__all__ = ["within"]

T = TypeVar("T")


async def within(seconds: float, what: str, call: Awaitable[T], *, failure: type[BackendError] = BackendError) -> T:
    """Await ``call`` for at most ``seconds``.

    Raises BackendTimeoutError, naming ``what``, when it takes longer; an error that is not the library's own becomes a
    ``failure`` with it as the cause.
    """
    try:
        with anyio.fail_after(seconds):
            return await call
    except TimeoutError as error:
        raise BackendTimeoutError(f"{what} did not answer within {seconds} s") from error
    except BrainError:
        raise
    except Exception as error:
        raise failure(f"{what} failed: {type(error).__name__}: {error}") from error
