"""Turns: so many at once, the others in order, and nobody for ever."""

from __future__ import annotations

import anyio
import pytest

from brain_async.errors import InvalidInputError, PoolExhaustedError
from brain_async.fastapi.turns import Turns


async def test_no_more_than_the_limit_run_at_once_and_all_do() -> None:
    turns, running, most, order = Turns(3), 0, 0, list[int]()

    async def work(number: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        order.append(number)
        await anyio.sleep(0.001)
        running -= 1

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(turns.run, lambda number=number: work(number))
    assert most == 3
    assert order == list(range(20))


async def test_without_a_limit_all_run_at_once() -> None:
    turns, running = Turns(None), 0
    together = anyio.Event()

    async def work() -> None:
        nonlocal running
        running += 1
        if running == 50:
            together.set()
        await together.wait()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(turns.run, work)


async def test_one_that_waits_too_long_is_told_and_one_that_fails_or_goes_makes_room() -> None:
    turns = Turns(1, patience=0.05)

    async def fail() -> None:
        raise KeyError("x")

    async def answer() -> int:
        return 7

    async with anyio.create_task_group() as group:
        group.start_soon(turns.run, anyio.sleep_forever)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(PoolExhaustedError, match="too many calls at once"):
            await turns.run(answer)
        group.cancel_scope.cancel()
    with pytest.raises(KeyError):
        await turns.run(fail)
    with anyio.move_on_after(0.001):
        await turns.run(anyio.sleep_forever)
    assert await turns.run(answer) == 7


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_lets_nobody_in_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInputError, match="max_reads"):
        Turns(limit)
