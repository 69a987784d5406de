"""PostgresKeyValueStore: several processes' worth of stores, few statements, lost connections, lifetimes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import anyio
import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore
from brain_async.adapters.postgres.pool import Connection
from brain_async.errors import BackendError, ClosedError, EventLoopMismatchError, PoolExhaustedError
from brain_async.ports.kv import Change, Get, KeyValueStore, Scan, Work
from tests.integration.postgres.conftest import Opener


@pytest.fixture
async def opened(open_store: Opener) -> AsyncIterator[PostgresStore]:
    async with open_store() as store:
        yield store


def _counting(key: bytes = b"count") -> Work[int]:
    found = yield Get((key,))
    number = int(found.get(key, b"0"))
    return Change({key: b"%d" % (number + 1), key + b"/%06d" % number: b""}), number


async def _count(store: KeyValueStore) -> tuple[bytes | None, int]:
    async with store.snapshot() as reader:
        return await reader.get(b"count"), len([key async for key, _ in reader.scan(b"count/")])


async def test_stores_of_several_pools_take_turns(open_store: Opener, no_blocking_calls: None) -> None:
    async with open_store() as first, open_store() as second, open_store() as third:
        stores = [PostgresKeyValueStore(store) for store in (first, second, third, first)]
        numbers = await asyncio.gather(*(stores[number % 4].commit(_counting) for number in range(200)))
        assert sorted(numbers) == list(range(200))
        assert await _count(stores[0]) == (b"200", 200)


async def test_works_that_wait_together_share_their_statements(
    opened: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresKeyValueStore(opened)
    await store.commit(_counting)
    statements: list[str] = []
    for name in ("execute", "fetch"):
        driver = getattr(Connection, name)

        def noting(
            self: Connection, sql: str, *arguments: object, driver: Callable[..., object] = driver, **more: object
        ):
            statements.append(sql)
            return driver(self, sql, *arguments, **more)

        monkeypatch.setattr(Connection, name, noting)

    def appending(number: int) -> Work[int]:
        mine = yield Get((b"%d" % number, b"common"))
        found = yield Scan(b"log/", limit=5)
        return Change({b"log/%04d" % number: b"", b"common": b"%d" % len(mine)}), len(found)

    lengths = await asyncio.gather(*(store.commit(lambda number=number: appending(number)) for number in range(64)))
    assert lengths == [0, 1, 2, 3, 4] + [5] * 59
    assert len(statements) == 6, "begin, lock, the keys of all, the scan of all, one write, commit"


async def test_works_run_off_the_event_loop(opened: PostgresStore) -> None:
    threads = set()

    def work() -> Work[None]:
        threads.add(threading.get_ident())
        yield Get((b"a",))
        threads.add(threading.get_ident())
        return Change(), None

    await PostgresKeyValueStore(opened).commit(work)
    assert threading.get_ident() not in threads


async def test_a_lost_connection_fails_the_commit_and_the_next_goes_through(
    opened: PostgresStore, postgres_dsn: str
) -> None:
    store = PostgresKeyValueStore(opened)
    assert await store.commit(_counting) == 0
    admin = await asyncpg.connect(postgres_dsn)
    running, killed = threading.Event(), threading.Event()

    def held() -> Work[None]:
        found = yield Get((b"count",))
        running.set()
        killed.wait(10)
        yield Get((b"other",))
        return Change({b"count": found[b"count"] + b"0"}), None

    try:
        task = asyncio.ensure_future(store.commit(held))
        await anyio.to_thread.run_sync(running.wait)
        await admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where state = 'idle in transaction' and query like '%brain_key_values%'"
        )
        killed.set()
        with pytest.raises(BackendError):
            await task
    finally:
        killed.set()
        await admin.close()
    assert await store.commit(_counting) == 1
    assert await _count(store) == (b"2", 2)


async def test_an_error_of_the_block_comes_out_as_it_is(opened: PostgresStore) -> None:
    store = PostgresKeyValueStore(opened)
    with pytest.raises(OSError, match="mine") as raised:
        async with store.snapshot():
            raise OSError("mine")
    assert type(raised.value) is OSError
    assert await store.commit(_counting) == 0


async def test_snapshots_hold_connections_and_give_them_back(open_store: Opener) -> None:
    async with open_store(pool_size=2, acquire_timeout=0.2) as opened:
        store = PostgresKeyValueStore(opened)
        await store.commit(_counting)
        async with store.snapshot() as reader, store.snapshot():
            with pytest.raises(PoolExhaustedError):
                await store.commit(_counting)
            assert await reader.get(b"count") == b"1"
        with pytest.raises(ClosedError):
            await reader.get(b"count")
        with pytest.raises(ClosedError):
            await anext(reader.scan(b""))
        for _ in range(5):
            with anyio.move_on_after(0.01):
                async with store.snapshot():
                    await anyio.sleep_forever()
        assert await store.commit(_counting) == 1
        assert await _count(store) == (b"2", 2)


async def test_a_closed_store_and_another_loop_are_refused(open_store: Opener) -> None:
    async with open_store() as opened:
        store = PostgresKeyValueStore(opened)
        await store.commit(_counting)
        raised: list[BaseException] = []

        async def use() -> None:
            for call in (store.commit(_counting), _count(store)):
                try:
                    await call
                except EventLoopMismatchError as error:
                    raised.append(error)

        await anyio.to_thread.run_sync(lambda: asyncio.run(use()))
        assert len(raised) == 2
    with pytest.raises(ClosedError):
        await store.commit(_counting)
    with pytest.raises(ClosedError):
        await _count(store)


async def test_large_scans_page(opened: PostgresStore) -> None:
    store = PostgresKeyValueStore(opened)
    written = {b"r/%05d" % number: bytes(number % 7 * 1_000) for number in range(3_500)}

    def writing() -> Work[None]:
        yield from ()
        return Change(written), None

    await store.commit(writing)
    async with store.snapshot() as reader:
        assert [item async for item in reader.scan(b"r/")] == list(written.items())
        assert [key async for key, _ in reader.scan(b"r/", reverse=True)] == list(written)[::-1]
