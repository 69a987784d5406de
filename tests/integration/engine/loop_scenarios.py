"""One scenario of an engine and event loops, in a process of its own: prints "ok" or the error's class."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg

from brain_async import Engine, Object
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.errors import BrainError, ClosedError

DIMENSION = 8
Store = MemoryStore | PostgresStore


@asynccontextmanager
async def opened(dsn: str, search_path: str) -> AsyncIterator[Store]:
    """A store of the running loop."""
    if dsn:
        async with open_postgres(dsn, dimension=DIMENSION, search_path=search_path) as store:
            yield store
    else:
        yield MemoryStore()


async def use(store: Store) -> None:
    """A write and a search."""
    session = Engine(store, graph=MemoryGraph()).session(uuid4())
    parent = await session.put(Object(kind="document", title="T"))
    await session.put(Object(kind="section", content="lemon", parent_id=parent.key))
    assert [obj.id for obj in (await session.search("lemon")).objects] == [parent.id]


def second_loop(dsn: str, search_path: str) -> None:
    """A loop in a worker thread, while the first one is still alive."""

    async def first() -> None:
        async with opened(dsn, search_path) as store:
            await use(store)
            await asyncio.to_thread(lambda: asyncio.run(use(store)))

    asyncio.run(first())


def closed_after_its_loop(dsn: str, search_path: str) -> None:
    """The store outlives its loop and is closed in another one."""

    async def first() -> Store:
        if not dsn:
            return MemoryStore()
        pool = await asyncpg.create_pool(dsn, min_size=1, max_size=2, server_settings={"search_path": search_path})
        store = PostgresStore(pool, dimension=DIMENSION)
        await store.migrate()
        await use(store)
        await pool.close()
        return store

    async def second(store: Store) -> None:
        if isinstance(store, MemoryStore):
            await use(store)
            return
        await store.aclose()
        try:
            await use(store)
        except ClosedError:
            return
        raise AssertionError("a closed store answered")

    asyncio.run(second(asyncio.run(first())))


def closed_twice(dsn: str, search_path: str) -> None:
    """By hand, and again on leaving."""

    async def run() -> None:
        async with opened(dsn, search_path) as store:
            await use(store)
            if isinstance(store, PostgresStore):
                await store.aclose()
                await store.aclose()

    asyncio.run(run())


def loop_per_call(dsn: str, search_path: str) -> None:
    """A loop and a store each time."""

    async def run() -> None:
        async with opened(dsn, search_path) as store:
            await use(store)

    for _ in range(3):
        asyncio.run(run())


SCENARIOS = {
    scenario.__name__: scenario for scenario in (second_loop, closed_after_its_loop, closed_twice, loop_per_call)
}


def main(scenario: str, dsn: str, schema: str) -> None:
    """Run one scenario."""
    try:
        SCENARIOS[scenario](dsn, f"{schema}, public")
    except BrainError as error:
        print(type(error).__name__)  # noqa: T201
    else:
        print("ok")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
