"""Setting a database up: from many processes at once, again, with another dimension, by an older library."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import anyio
import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresStore, migrate
from brain_async.errors import BackendError, DimensionMismatchError, InvalidInputError
from brain_async.model.filters import Filters
from brain_async.testing.subjects import direction, family, fresh_scope, put_all
from tests.integration.postgres.conftest import Opener

_MIGRATE = """
import asyncio, sys
from brain_async.adapters.postgres import open_postgres

async def main():
    async with open_postgres(sys.argv[1], dimension=4, search_path=sys.argv[2]) as store:
        print(store.lexical_backend)

asyncio.run(main())
"""


async def test_ten_openers_at_once(open_store: Opener) -> None:
    backends: list[Any] = []

    async def open_one() -> None:
        async with open_store() as store:
            backends.append(store.lexical_backend)
            await store.migrate()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(open_one)
    assert len(set(backends)) == 1
    assert backends[0] is not None
    async with open_store() as store:
        description = await store.describe()
    assert description.migration >= 2
    trusted = tuple(map(int, description.extensions.get("pg_textsearch", "0.0.0").split("."))) >= (1, 3, 1)
    assert description.lexical_backend == ("pg_textsearch" if trusted else "portable"), (
        "auto takes what keeps every row"
    )
    assert description.lexical_state == "ready"
    assert all(index.valid for index in description.indexes.values())
    assert "brain_objects_embedding" in description.indexes


async def test_four_processes_at_once(postgres_dsn: str, fresh_schema: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _MIGRATE, postgres_dsn, f"{fresh_schema}, public"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for process in processes:
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b""), err.decode()
        assert out.strip() in (b"pg_textsearch", b"portable")


async def test_another_dimension_is_refused_and_nothing_changes(store: PostgresStore, open_store: Opener) -> None:
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": "renewal risk", "embedding": direction(4, 10)}])
    await put_all(store, scope, parent, *parts)
    with pytest.raises(DimensionMismatchError) as refused:
        async with open_store(dimension=5):
            pass
    assert (refused.value.expected, refused.value.got) == (4, 5)
    with pytest.raises(DimensionMismatchError):
        await store.search_vector(scope, direction(5, 0), Filters(), k=3)
    assert len(await store.search_lexical(scope, "renewal", Filters(), k=3)) == 1
    assert (await store.describe()).parts == 1


async def test_another_backend_is_refused_unless_auto(store: PostgresStore, open_store: Opener) -> None:
    other = "portable" if store.lexical_backend == "pg_textsearch" else "pg_textsearch"
    with pytest.raises(InvalidInputError, match="rebuild_lexical"):
        async with open_store(lexical=other):
            pass
    async with open_store(lexical="auto") as again:
        assert again.lexical_backend == store.lexical_backend


async def test_database_of_a_newer_library_is_refused(
    store: PostgresStore, open_store: Opener, postgres_dsn: str, fresh_schema: str
) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute(f"insert into {fresh_schema}.brain_migrations (version) values (9999)")
    await connection.close()
    with pytest.raises(BackendError, match="9999"):
        async with open_store():
            pass


async def test_postings_of_an_older_library_are_packed(
    open_store: Opener, postgres_dsn: str, fresh_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 12 held a row for each posting, and had built its index."""
    known = migrate._migrations(4)
    scope = fresh_scope()
    parent, parts = family(scope, [{"content": "renewal risk"}, {"content": "renewal"}])
    async with open_store(migrate=False) as store:
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "_migrations", lambda _: [each for each in known if each[0] <= 12])
            await migrate.migrate(store.connections, 4, "portable")
        await put_all(store, scope, parent, *parts)
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": f"{fresh_schema}, public"})
    await connection.execute(
        "insert into brain_postings select brain_posting_key(namespace_id, 'renewal'), doc, 1, lex_len"
        " from brain_objects where lex_len > 0"
    )
    await connection.execute("update brain_lex_state set built_at = now()")
    async with open_store() as store:
        found = await store.search_lexical(scope, "renewal", Filters(), k=3)
        assert [each.id for each in found] == [parts[1].id, parts[0].id]
        assert await connection.fetchval("select sum(octet_length(postings)) / 8 from brain_posting_blocks") == 3
        assert await connection.fetchval("select count(*) from brain_postings") == 0
    await connection.close()


async def test_unmigrated_database(open_store: Opener) -> None:
    async with open_store(migrate=False) as store:
        for call in (
            store.list_kinds(),
            store.search_lexical(fresh_scope(), "word", Filters(), k=3),
            store.search_vector(fresh_scope(), direction(4, 0), Filters(), k=3),
            store.describe(),
        ):
            with pytest.raises(BackendError, match="migrate"):
                await call


async def test_server_out_of_reach(open_store: Opener) -> None:
    from brain_async.adapters.postgres import open_postgres

    with pytest.raises(BackendError):
        async with open_postgres("postgresql://nobody@/none?host=/nonexistent", dimension=4):
            pass


@pytest.mark.parametrize(("dimension", "indexed"), [(3_072, True), (4_500, False)])
async def test_many_dimensions(dimension: int, indexed: bool, open_store: Opener) -> None:
    """Set up twice in a row, right hits; beyond 4,000 dimensions by exact scan."""
    scope = fresh_scope()
    for _ in range(2):
        async with open_store(dimension=dimension) as store:
            assert ("brain_objects_embedding" in (await store.describe()).indexes) is indexed
    async with open_store(dimension=dimension) as store:
        parent, parts = family(scope, [{"embedding": direction(dimension, 10 * n)} for n in range(12)])
        await put_all(store, scope, parent, *parts)
        hits = await store.search_vector(scope, direction(dimension, 52), Filters(), k=3)
        assert [hit.id for hit in hits] == [parts[5].id, parts[6].id, parts[4].id]
        (scanned, *_) = await store.scan(scope, first_class=False, after=None, limit=1)
        assert scanned.embedding is not None
        assert len(scanned.embedding) == dimension
