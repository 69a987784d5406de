"""The lexical index through restarts, crashes and concurrent writers: every live part is found, exactly once.

On a server of its own, since it is stopped and killed. The same store stays open throughout, as a long-lived process
would have it; it must notice by itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import anyio
import asyncpg
import psutil
import pytest

from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.errors import BackendError, SearchIndexNotReadyError
from brain_async.local.server import LocalServer, local_postgres
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import fresh_scope, new_parent, new_part, put_all

_NUMBERS = count()

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[LocalServer]:
    home = Path(tempfile.mkdtemp(prefix="brain-lex-", dir="/tmp"))
    try:
        async with local_postgres(home, settings={"fsync": "off"}) as running:  # the kernel outlives what is killed
            yield running
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["pg_textsearch", "portable"])
async def store(request: pytest.FixtureRequest, server: LocalServer) -> AsyncIterator[PostgresStore]:
    schema = f"lexical_{uuid4().hex}"
    await _execute(server, f"create schema {schema}")
    async with open_postgres(server.dsn, dimension=4, lexical=request.param, search_path=f"{schema}, public") as opened:
        yield opened
    await _execute(server, f"drop schema {schema} cascade")


async def _execute(server: LocalServer, sql: str) -> None:
    connection = await asyncpg.connect(server.dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _end(server: LocalServer, how: signal.Signals) -> None:
    """Stop the server (SIGINT) or kill it (SIGKILL), and start it again."""
    pid = server.pid
    assert pid is not None
    os.kill(pid, how)
    with suppress(psutil.NoSuchProcess):
        await anyio.to_thread.run_sync(psutil.Process(pid).wait, 30)
    await server.ensure_running()


async def _until_reachable(store: PostgresStore) -> None:
    """Connections that were open when the server went are dropped one by one, each with the documented error."""
    for _ in range(20):
        try:
            await store.list_kinds()
        except BackendError:
            await anyio.sleep(0.05)
        else:
            return
    raise AssertionError("the store never reconnected")


def _make_parts(scope: Scope, parent: Object, amount: int) -> list[Object]:
    random = Random(amount)
    return [
        new_part(
            scope,
            parent,
            title=f"unique{next(_NUMBERS)}",
            content=" ".join(["shared", *(f"word{random.randrange(400)}" for _ in range(random.randrange(5, 60)))]),
        )
        for _ in range(amount)
    ]


async def _put_parts(store: PostgresStore, scope: Scope, amount: int, *, batch: int = 250) -> list[Object]:
    parent = new_parent(scope)
    await put_all(store, scope, parent)
    parts = _make_parts(scope, parent, amount)
    for start in range(0, amount, batch):
        await put_all(store, scope, *parts[start : start + batch])
    return parts


async def _live_parts(store: PostgresStore, scope: Scope) -> dict[UUID, str]:
    """Id and title of every live part."""
    found: dict[UUID, str] = {}
    after = None
    while page := await store.scan(scope, first_class=False, after=after, limit=1_000):
        found |= {obj.key: obj.title for obj in page}
        after = page[-1].key
    return found


async def _assert_each_found_once(store: PostgresStore, scope: Scope) -> None:
    live = await _live_parts(store, scope)
    hits = await store.search_lexical(scope, "shared", Filters(), k=len(live) + 100)
    ids = [hit.id for hit in hits]
    assert len(ids) == len(set(ids)), f"{len(ids) - len(set(ids))} parts came twice"
    assert set(ids) == set(live), f"{len(set(live) - set(ids))} of {len(live)} parts were not found"
    for key, title in Random(1).sample(sorted(live.items()), min(60, len(live))):
        assert [hit.id for hit in await store.search_lexical(scope, title, Filters(), k=5)] == [key]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
async def test_rows_put_into_an_empty_table(how: signal.Signals, store: PostgresStore, server: LocalServer) -> None:
    """The index was built over nothing; what it was given since must survive."""
    scope = fresh_scope()
    await _put_parts(store, scope, 400)
    await _assert_each_found_once(store, scope)
    await _end(server, how)
    await _until_reachable(store)
    await _assert_each_found_once(store, scope)
    await _put_parts(store, scope, 100)
    await _assert_each_found_once(store, scope)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
async def test_bulk_load_then_end(how: signal.Signals, store: PostgresStore, server: LocalServer) -> None:
    """What was loaded before the build, and put after it, is found after the server ended."""
    scope = fresh_scope()
    parent = new_parent(scope)
    parts = _make_parts(scope, parent, 900)
    result = await store.bulk_load([[parent], parts[:450], parts[450:]])
    assert (result.stored, result.refused) == (901, ())
    await _assert_each_found_once(store, scope)
    await _end(server, how)
    await _until_reachable(store)
    await _assert_each_found_once(store, scope)
    await _put_parts(store, scope, 300)
    await _end(server, how)
    await _until_reachable(store)
    await _assert_each_found_once(store, scope)


async def test_killed_in_mid_write(store: PostgresStore, server: LocalServer) -> None:
    """Nothing acknowledged is lost, and all that is there is found."""
    scope = fresh_scope()
    await _put_parts(store, scope, 300)
    acknowledged: list[UUID] = []

    async def write() -> None:
        with suppress(BackendError):
            while True:
                acknowledged.extend(part.key for part in await _put_parts(store, scope, 40, batch=20))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(write)
            await anyio.sleep(1.0)
            await _end(server, signal.SIGKILL)
    assert acknowledged
    await _until_reachable(store)
    assert set(acknowledged) <= set(await _live_parts(store, scope))
    await _assert_each_found_once(store, scope)


async def test_concurrent_writers_readers_and_vacuum(store: PostgresStore, server: LocalServer) -> None:
    """Puts, updates, deletions and VACUUM at once, with searches between: no hit twice, and in the end every part once."""
    scope = fresh_scope()
    parts = await _put_parts(store, scope, 400)
    writing = True

    async def write(seed: int) -> None:
        random = Random(seed)
        for _ in range(12):
            await _put_parts(store, scope, 20)
            changed = random.sample(parts[:300], 10)
            await put_all(store, scope, *changed)
        for part in parts[300 + seed * 20 : 310 + seed * 20]:
            await store.soft_delete(scope, part.key, at=part.updated_at or part.created_at)  # type: ignore[arg-type]

    async def read() -> None:
        while writing:
            hits = await store.search_lexical(scope, "shared word1 word2", Filters(kinds=("section",)), k=100)
            assert len({hit.id for hit in hits}) == len(hits)
            assert len(hits) == 100, "there are always more than 100"
            await anyio.sleep(0.01)

    async def vacuum() -> None:
        while writing:
            await anyio.sleep(0.1)
            await _execute(server, f"vacuum {schema}.brain_objects")

    async with store.connections.session() as connection:
        schema = await connection.fetchval("select current_schema()")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as readers:
            readers.start_soon(read)
            readers.start_soon(vacuum)
            async with anyio.create_task_group() as writers:
                for seed in range(3):
                    writers.start_soon(write, seed)
            writing = False
    await _assert_each_found_once(store, scope)


async def test_searches_wait_for_the_rebuild(store: PostgresStore, server: LocalServer) -> None:
    """After a crash the first searches, at once and from two stores, all answer in full; the index is built once."""
    scope = fresh_scope()
    await _put_parts(store, scope, 300)
    await _end(server, signal.SIGKILL)
    await _until_reachable(store)
    found: list[int] = []

    async def search() -> None:
        found.append(len(await store.search_lexical(scope, "shared", Filters(), k=1_000)))

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(search)
    assert found == [300] * 6
    assert (await store.describe()).lexical_state == "ready"


async def test_cancelled_rebuild_is_taken_up(store: PostgresStore, server: LocalServer) -> None:
    """A search that gives up waiting does not stop the rebuild, and the next one answers."""
    scope = fresh_scope()
    await _put_parts(store, scope, 300)
    await _end(server, signal.SIGKILL)
    await _until_reachable(store)
    with anyio.move_on_after(0.001):
        await store.search_lexical(scope, "shared", Filters(), k=10)
    await _assert_each_found_once(store, scope)


async def test_switching_the_backend(store: PostgresStore, server: LocalServer) -> None:
    """There and back: what was written under either backend is found under the other."""
    scope = fresh_scope()
    await _put_parts(store, scope, 200)
    before = store.lexical_backend
    other: Any = "portable" if before == "pg_textsearch" else "pg_textsearch"
    await store.rebuild_lexical(other)
    assert store.lexical_backend == other
    await _assert_each_found_once(store, scope)
    await _put_parts(store, scope, 100)
    await _assert_each_found_once(store, scope)
    await store.rebuild_lexical(before)
    assert store.lexical_backend == before
    await _put_parts(store, scope, 50)
    await _assert_each_found_once(store, scope)


async def test_failing_load_leaves_a_working_store(store: PostgresStore, server: LocalServer) -> None:
    """A source of batches that raises: what came before it is stored, indexed and found."""
    scope = fresh_scope()

    def batches() -> Any:
        parent = new_parent(scope)
        yield [parent]
        yield _make_parts(scope, parent, 50)
        raise LookupError("the source broke")

    with pytest.raises(LookupError):
        await store.bulk_load(batches())
    assert len(await _live_parts(store, scope)) == 50
    await _assert_each_found_once(store, scope)


async def test_cancelled_load_leaves_a_working_store(store: PostgresStore, server: LocalServer) -> None:
    scope = fresh_scope()
    parent = new_parent(scope)
    loading = anyio.Event()

    async def batches() -> AsyncIterator[list[Object]]:
        yield [parent, *_make_parts(scope, parent, 50)]
        loading.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(store.bulk_load, batches())
        await loading.wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(20):
        await store.migrate()
    assert "brain_objects_embedding" in (await store.describe()).indexes
    await _put_parts(store, scope, 50)
    await _assert_each_found_once(store, scope)


async def test_store_opens_beside_a_load_and_after_one_whose_process_died(
    store: PostgresStore, server: LocalServer
) -> None:
    scope = fresh_scope()
    await _put_parts(store, scope, 50)
    async with store.connections.session() as connection:
        search_path = await connection.fetchval("select current_setting('search_path')")
    async with open_postgres(server.dsn, dimension=4, search_path=search_path) as loader:
        async with loader.connections.transaction() as connection:
            await loader._lexical.suspend(connection)
        with anyio.fail_after(20):
            await store.migrate()
        with pytest.raises(SearchIndexNotReadyError):
            await store.search_lexical(scope, "shared", Filters(), k=5)
        await _put_parts(store, scope, 50)
    # Its connections are gone, as when the process is.
    with anyio.fail_after(20):
        await store.migrate()
        await _assert_each_found_once(store, scope)
