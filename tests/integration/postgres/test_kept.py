"""Connections kept between calls: handed on in turn, replaced when they die, never lost to a caller that gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import asyncpg
import pytest

from brain_async.adapters.postgres import kept
from brain_async.adapters.postgres.kept import KeptConnections

SIZE = 2


@pytest.fixture
async def pool(postgres_dsn: str) -> AsyncIterator[asyncpg.Pool[asyncpg.Record]]:
    async with asyncpg.create_pool(postgres_dsn, min_size=0, max_size=SIZE) as opened:
        yield opened


@pytest.fixture
async def connections(pool: asyncpg.Pool[asyncpg.Record]) -> AsyncIterator[KeptConnections]:
    opened = KeptConnections(pool)
    yield opened
    await opened.aclose()
    assert pool.get_idle_size() == pool.get_size(), "all are back"


async def take_all(connections: KeptConnections) -> list[Any]:
    return [await connections.take(5) for _ in range(SIZE)]


async def give_all(connections: KeptConnections, taken: list[Any]) -> None:
    for connection in taken:
        await connections.give(connection, clean=True)


async def test_a_free_connection_is_kept(pool: asyncpg.Pool[asyncpg.Record], connections: KeptConnections) -> None:
    first = await connections.take(5)
    pid = await first.fetchval("select pg_backend_pid()")
    await connections.give(first, clean=True)
    assert (connections.free, pool.get_idle_size()) == (1, 0)
    again = await connections.take(5)
    assert (again, await again.fetchval("select pg_backend_pid()")) == (first, pid)
    await connections.give(again, clean=True)


async def test_waiting_callers_are_served_in_turn(connections: KeptConnections) -> None:
    taken = await take_all(connections)
    served: list[int] = []

    async def wait(number: int) -> None:
        connection = await connections.take(5)
        served.append(number)
        await anyio.lowlevel.checkpoint()
        await connections.give(connection, clean=True)

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(wait, number)
            await anyio.sleep(0.01)
        assert served == []
        await give_all(connections, taken)
    assert served == list(range(6))
    assert connections.free == SIZE


async def test_whoever_waits_too_long_is_told_and_loses_nothing(connections: KeptConnections) -> None:
    taken = await take_all(connections)
    with pytest.raises(TimeoutError):
        await connections.take(0.05)
    await give_all(connections, taken)
    await give_all(connections, await take_all(connections))


async def test_a_caller_that_gives_up_as_it_is_served_passes_it_on(connections: KeptConnections) -> None:
    taken = await take_all(connections)
    waiter = asyncio.create_task(connections.take(5))
    await anyio.sleep(0.01)
    await connections.give(taken.pop(), clean=True)
    waiter.cancel()
    with suppress(asyncio.CancelledError):
        await waiter
    assert connections.free == 1
    await give_all(connections, taken)


@pytest.mark.parametrize("waited", [True, False])
async def test_what_is_not_clean_goes_back_and_another_takes_its_place(
    connections: KeptConnections, waited: bool
) -> None:
    taken = await take_all(connections)
    waiter = asyncio.create_task(connections.take(5)) if waited else None
    await anyio.sleep(0.01)
    await taken[0].execute("begin")
    await connections.give(taken.pop(0), clean=True)
    assert connections.free == 0
    fresh = await waiter if waiter is not None else await connections.take(5)
    assert await fresh.fetchval("select 1") == 1
    assert not fresh.is_in_transaction()
    await give_all(connections, [fresh, *taken])


async def test_a_connection_that_died_is_replaced(
    pool: asyncpg.Pool[asyncpg.Record], connections: KeptConnections, postgres_dsn: str
) -> None:
    dead = await connections.take(5)
    pid = await dead.fetchval("select pg_backend_pid()")
    await connections.give(dead, clean=True)
    admin = await asyncpg.connect(postgres_dsn)
    await admin.execute("select pg_terminate_backend($1)", pid)
    await admin.close()
    with anyio.fail_after(5):
        while pool.get_size() > 0:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    taken = await take_all(connections)
    assert pid not in [await connection.fetchval("select pg_backend_pid()") for connection in taken]
    await give_all(connections, taken)


async def test_what_nobody_wants_goes_back_to_the_pool(
    pool: asyncpg.Pool[asyncpg.Record], connections: KeptConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_IDLE_SECONDS", 0.05)
    await give_all(connections, await take_all(connections))
    with anyio.fail_after(5):
        while pool.get_idle_size() < SIZE:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert connections.free == 0
    await give_all(connections, await take_all(connections))


@pytest.mark.parametrize("seed", range(5))
async def test_callers_that_fail_and_give_up_at_random_lose_none(connections: KeptConnections, seed: int) -> None:
    rng = Random(seed)
    held = 0

    async def call() -> None:
        nonlocal held
        connection = await connections.take(rng.choice((0.002, 5)))
        clean = False
        held += 1
        assert held <= SIZE
        try:
            await connection.execute(f"select pg_sleep({rng.uniform(0, 0.004)})")
            if rng.random() < 0.2:
                raise ValueError
            clean = True
        finally:
            held -= 1
            await connections.give(connection, clean=clean)

    async def give_up() -> None:
        with anyio.move_on_after(rng.uniform(0, 0.02)), suppress(ValueError, TimeoutError):
            await call()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(give_up)
                await anyio.sleep(0.001)
    await give_all(connections, await take_all(connections))
    assert connections.free == SIZE
