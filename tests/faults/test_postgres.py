"""PostgresStore when connections die, the server restarts, the pool is too small, or callers give up."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import anyio
import asyncpg
import msgspec
import psutil
import pytest

from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.errors import BackendError, BackendTimeoutError, ClosedError, PoolExhaustedError
from brain_async.local.server import LocalServer, local_postgres
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.relation import Edge
from brain_async.model.scope import Scope
from brain_async.testing.subjects import BASE_TIME, direction, family, fresh_scope, new_parent, new_part, put_all


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[LocalServer]:
    home = Path(tempfile.mkdtemp(prefix="brain-pg-", dir="/tmp"))
    try:
        async with local_postgres(home, settings={"fsync": "off"}) as running:
            yield running
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
async def admin(server: LocalServer) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(server.dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def schema(server: LocalServer) -> str:
    name = f"faults_{uuid4().hex}"
    connection = await asyncpg.connect(server.dsn)
    await connection.execute(f"create schema {name}")
    await connection.close()
    return f"{name}, public"


@pytest.fixture
async def store(server: LocalServer, schema: str) -> AsyncIterator[PostgresStore]:
    async with open_postgres(server.dsn, dimension=4, search_path=schema, pool_size=2, acquire_timeout=8) as opened:
        yield opened


async def _fill(store: PostgresStore, scope: Scope, amount: int = 20) -> tuple[Object, list[Object]]:
    parent, parts = family(
        scope,
        [{"title": f"Report {n}", "content": "shared words", "embedding": direction(4, n)} for n in range(amount)],
    )
    await put_all(store, scope, parent, *parts)
    return parent, parts


async def _search(store: PostgresStore, scope: Scope) -> tuple[int, int, int]:
    lexical = await store.search_lexical(scope, "shared", Filters(), k=50)
    trigram = await store.search_trigram(scope, "reports", Filters(), k=50)
    vector = await store.search_vector(scope, direction(4, 0), Filters(), k=50)
    return len(lexical), len(trigram), len(vector)


async def test_fifty_searches_on_a_pool_of_two(store: PostgresStore) -> None:
    """All finish; no call holds one connection while it waits for another."""
    scope = fresh_scope()
    parent, parts = await _fill(store, scope)

    async def one() -> None:
        assert await _search(store, scope) == (20, 20, 20)
        hydration = await store.hydrate(scope, [parent.key], [part.key for part in parts])
        assert len(hydration.parts) == 20

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(one)


async def test_pool_of_one(server: LocalServer, schema: str) -> None:
    scope = fresh_scope()
    async with open_postgres(server.dsn, dimension=4, search_path=schema, pool_size=1) as store:
        await _fill(store, scope)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(_search, store, scope)
        await store.rebuild_lexical()
        await store.bulk_load([[new_parent(scope)]], rebuild_indexes=True)
        assert await _search(store, scope) == (20, 20, 20)


async def test_exhausted_pool_answers_within_its_bound(server: LocalServer, schema: str) -> None:
    """With every connection held by someone else the error is typed and in time; the next call works."""
    pool = await asyncpg.create_pool(server.dsn, min_size=2, max_size=2, server_settings={"search_path": schema})
    async with pool:
        store = PostgresStore(pool, dimension=4, acquire_timeout=0.2)
        await store.migrate()
        async with pool.acquire(), pool.acquire():
            with anyio.fail_after(2), pytest.raises(PoolExhaustedError, match=r"0\.2 s"):
                await store.list_kinds()
        assert await store.list_kinds() == []
        await store.aclose()
        with pytest.raises(ClosedError):
            await store.list_kinds()
        assert await pool.fetchval("select 1") == 1, "the host's pool stays open"


async def test_killed_backends(store: PostgresStore, admin: asyncpg.Connection[asyncpg.Record]) -> None:
    """Connections ended by an administrator cost at most one documented error each."""
    scope = fresh_scope()
    await _fill(store, scope)
    for _ in range(3):
        await admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'brain_async'"
        )
        for _ in range(3):
            with suppress(BackendError):
                await _search(store, scope)
        assert await _search(store, scope) == (20, 20, 20)


async def test_backend_killed_in_mid_write(store: PostgresStore, admin: asyncpg.Connection[asyncpg.Record]) -> None:
    """A write whose backend dies happened entirely or not at all."""
    scope = fresh_scope()
    for _ in range(5):
        parent, parts = family(scope, [{"content": "word " * 150} for _ in range(400)])
        outcome: list[bool] = []

        async def write(objects: list[Object] = [parent, *parts], outcome: list[bool] = outcome) -> None:  # noqa: B006
            try:
                await put_all(store, scope, *objects)
            except BackendError:
                outcome.append(False)
            else:
                outcome.append(True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.sleep(Random(len(parts)).uniform(0.05, 0.3))
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'brain_async'"
            )
        ids = [obj.key for obj in (parent, *parts)]
        while True:
            with suppress(BackendError):
                found = await store.get_many(scope, ids)
                break
        assert len(found) in ((len(ids),) if outcome[0] else (0, len(ids)))


async def test_restarted_server(store: PostgresStore, server: LocalServer) -> None:
    """While it is down every call raises the documented error; afterwards everything is there."""
    scope = fresh_scope()
    await _fill(store, scope)
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    with suppress(psutil.NoSuchProcess):
        await anyio.to_thread.run_sync(psutil.Process(pid).wait, 30)
    for _ in range(3):
        with pytest.raises(BackendError):
            await _search(store, scope)
    await server.ensure_running()
    for _ in range(3):
        with suppress(BackendError):
            await _search(store, scope)
    assert await _search(store, scope) == (20, 20, 20)


async def test_cancelled_calls_leave_the_pool_whole(
    store: PostgresStore, admin: asyncpg.Connection[asyncpg.Record]
) -> None:
    """A caller that gives up ends its statement in the server, and its connection serves the next caller."""
    scope = fresh_scope()
    parent, parts = await _fill(store, scope, 300)
    await admin.execute("begin")
    schema = await _schema_of(store)
    await admin.execute(f"lock table {schema}.brain_objects in access exclusive mode")
    for call in (store.search_lexical, store.search_trigram):
        with anyio.move_on_after(0.1) as given_up:
            await call(scope, "report", Filters(), k=10)
        assert given_up.cancelled_caught
    with anyio.move_on_after(0.1):
        await store.put_objects(scope, [parent])
    with anyio.fail_after(5):
        while await admin.fetchval(
            "select count(*) from pg_stat_activity where application_name = 'brain_async' and state <> 'idle'"
        ):
            await admin.execute("select pg_stat_clear_snapshot()")
            await anyio.sleep(0.05)
    await admin.execute("rollback")
    for delay in (0.0005, 0.001, 0.002, 0.004, 0.008):
        with anyio.move_on_after(delay):
            await _search(store, scope)
        with anyio.move_on_after(delay):
            await put_all(store, scope, parent, *parts)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(_search, store, scope)


async def _schema_of(store: PostgresStore) -> str:
    async with store.connections.session() as connection:
        return str(await connection.fetchval("select current_schema()"))


async def test_slow_statement_times_out(
    server: LocalServer, schema: str, admin: asyncpg.Connection[asyncpg.Record]
) -> None:
    """A statement beyond statement_timeout is cancelled and raises BackendTimeoutError; the next call works."""
    async with open_postgres(server.dsn, dimension=4, search_path=schema, statement_timeout=0.5) as store:
        scope = fresh_scope()
        await _fill(store, scope)
        await admin.execute(f"begin; lock table {await _schema_of(store)}.brain_objects in access exclusive mode")
        with anyio.fail_after(5), pytest.raises(BackendTimeoutError):
            await store.get_many(scope, [uuid4()])
        await admin.execute("rollback")
        assert await store.get_many(scope, [uuid4()]) == []


async def test_opposite_orders_never_deadlock(store: PostgresStore, server: LocalServer) -> None:
    """Batches over the same parents and parts in opposite orders, with deletions and re-puts between, and edges from both
    ends: no deadlock in the server's log."""
    scope = fresh_scope()
    families = [family(scope, [{"title": f"Part {n}", "content": "x"} for n in range(10)]) for _ in range(12)]
    everything = [obj for parent, parts in families for obj in (parent, *parts)]
    await put_all(store, scope, *everything)
    ledger = CortexEdgeLedger(PostgresKeyValueStore(store))
    edges = [
        Edge(from_id=one.key, to_id=other.key, relation_type="about", namespace_id=scope.namespace_id)
        for one, _ in families
        for other, _ in families
        if one is not other
    ]

    async def write(order: list[Object], links: list[Edge]) -> None:
        for round_ in range(6):
            for size in (len(order), 7):
                sample = order[round_ * 3 : round_ * 3 + size]
                results = await store.put_objects(
                    scope, [msgspec.structs.replace(obj, title=f"New {round_}") for obj in sample]
                )
                assert len(results) == len(sample)
            await ledger.record_edges(scope, links)
            await ledger.remove_edges(scope, [edge.key for edge in links[::2]], at=BASE_TIME)

    async def delete() -> None:
        for parent, _ in families * 2:
            with suppress(LookupError):
                await store.soft_delete(scope, parent.key, at=BASE_TIME + timedelta(days=1))
            await store.put_objects(scope, [parent])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, everything, edges)
            tasks.start_soon(write, everything[::-1], edges[::-1])
            tasks.start_soon(delete)
    assert "deadlock detected" not in server.log_tail(100_000)
    for parent, _ in families:
        assert await store.get(scope, parent.key) is not None
    orphan = new_part(scope, uuid4())
    assert isinstance((await store.put_objects(scope, [orphan]))[0], Exception)
