"""The deadline on one awaited call."""

from __future__ import annotations

import anyio
import pytest

from brain_async.errors import BackendError, BackendTimeoutError, EmbedderError, ObjectNotFoundError
from brain_async.stages.deadline import within


async def give(value: int) -> int:
    return value


async def fail(error: BaseException) -> None:
    raise error


async def test_the_result_is_passed_on() -> None:
    assert await within(5, "it", give(3)) == 3


async def test_taking_longer_is_a_timeout_that_names_what_was_waited_for() -> None:
    with anyio.fail_after(5), pytest.raises(BackendTimeoutError, match="the graph did not answer"):
        await within(0.01, "the graph", anyio.sleep_forever())


async def test_other_errors_become_the_librarys_with_their_cause() -> None:
    cause = KeyError("x")
    with pytest.raises(BackendError, match="the graph failed") as caught:
        await within(5, "the graph", fail(cause))
    assert type(caught.value) is BackendError
    assert caught.value.__cause__ is cause
    with pytest.raises(EmbedderError):
        await within(5, "the embedder", fail(cause), failure=EmbedderError)


async def test_the_librarys_own_errors_pass() -> None:
    with pytest.raises(ObjectNotFoundError):
        await within(5, "it", fail(ObjectNotFoundError()))


async def test_a_cancellation_passes() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await within(5, "it", anyio.sleep_forever())
    assert scope.cancelled_caught
