"""Whose loop, whose pool, and what is left when a program ends."""

from __future__ import annotations

import asyncio
import sys

import anyio
import anyio.to_thread
import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresStore
from brain_async.errors import ClosedError, EventLoopMismatchError
from brain_async.model.filters import Filters
from brain_async.testing.subjects import fresh_scope, new_parent, put_all
from tests.integration.postgres.conftest import Opener

_SCENARIOS = {
    "used on a second loop": """
        async def first():
            global store
            pool = await asyncpg.create_pool(DSN, server_settings={"search_path": PATH})
            store = PostgresStore(pool, dimension=4)
            await store.migrate()
            await pool.close()
        async def second():
            try:
                await store.list_kinds()
            except EventLoopMismatchError:
                print("refused")
        asyncio.run(first())
        asyncio.run(second())
    """,
    "closed twice, used afterwards": """
        async def main():
            async with open_postgres(DSN, dimension=4, search_path=PATH) as store:
                await store.aclose()
                await store.aclose()
            await store.aclose()
            try:
                await store.list_kinds()
            except ClosedError:
                print("refused")
        asyncio.run(main())
    """,
    "ended while searches run": """
        async def main():
            async with open_postgres(DSN, dimension=4, search_path=PATH) as store:
                tasks = [asyncio.create_task(store.search_lexical(Scope(), "word", Filters(), k=5)) for _ in range(20)]
                await asyncio.sleep(0.005)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            print("refused")
        asyncio.run(main())
    """,
}

_PREAMBLE = """
import asyncio
import asyncpg
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.errors import ClosedError, EventLoopMismatchError
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
"""


@pytest.mark.parametrize("scenario", _SCENARIOS)
async def test_program_ends_quietly(scenario: str, postgres_dsn: str, fresh_schema: str) -> None:
    from textwrap import dedent

    script = f"{_PREAMBLE}\nDSN = {postgres_dsn!r}\nPATH = '{fresh_schema}, public'\n{dedent(_SCENARIOS[scenario])}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", script),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    with anyio.fail_after(30):
        out, err = await process.communicate()
    assert (process.returncode, out.strip(), err) == (0, b"refused", b""), err.decode()


async def test_other_thread_has_another_loop(store: PostgresStore) -> None:
    def elsewhere() -> None:
        with pytest.raises(EventLoopMismatchError):
            asyncio.run(store.list_kinds())  # type: ignore[arg-type]

    await anyio.to_thread.run_sync(elsewhere)
    assert await store.list_kinds() == []


async def test_host_pool_with_its_own_ways(postgres_dsn: str, fresh_schema: str, open_store: Opener) -> None:
    """A pool with codecs, asyncpg's reset and generic plans: same results; after aclose the pool is still the host's."""

    async def with_codecs(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        import json

        await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)

    async with asyncpg.create_pool(
        postgres_dsn,
        min_size=1,
        max_size=2,
        init=with_codecs,
        server_settings={"search_path": f"{fresh_schema}, public"},
    ) as pool:
        store = PostgresStore(pool, dimension=4)
        assert store.lexical_backend is None
        await store.migrate()
        scope = fresh_scope()
        parent = new_parent(scope, title="A", properties={"n": [1, {"a": None}]})
        await put_all(store, scope, parent)
        for _ in range(8):
            assert await store.get(scope, parent.key) == parent
            assert await store.search_lexical(scope, "word", Filters(), k=3) == []
        await store.aclose()
        with pytest.raises(ClosedError):
            await store.get(scope, parent.key)
        assert await pool.fetchval("select 1") == 1
