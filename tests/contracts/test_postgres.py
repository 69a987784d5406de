"""The contract checks over PostgreSQL, with both lexical backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresEdgeLedger, PostgresStore, open_postgres
from brain_async.testing import KIND_CHECKS, LEDGER_CHECKS, SEARCH_CHECKS, STORE_CHECKS

# Document frequency and mean length are those of the whole index there: scores move when other namespaces are written to.
_GLOBAL_STATISTICS = {"check_other_namespaces_are_never_seen"}


@pytest.fixture(scope="module", params=["pg_textsearch", "portable"])
async def store(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[PostgresStore]:
    """One store for all checks of a backend: they use namespaces of their own."""
    schema = f"contracts_{request.param}"
    connection = await asyncpg.connect(postgres_dsn)
    try:
        await connection.execute(f"drop schema if exists {schema} cascade; create schema {schema}")
        async with open_postgres(
            postgres_dsn, dimension=8, lexical=request.param, search_path=f"{schema}, public"
        ) as opened:
            assert opened.lexical_backend == request.param
            yield opened
        await connection.execute(f"drop schema {schema} cascade")
    finally:
        await connection.close()


@pytest.mark.parametrize("check", STORE_CHECKS + SEARCH_CHECKS + KIND_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[PostgresStore], Awaitable[None]], store: PostgresStore) -> None:
    if store.lexical_backend == "pg_textsearch" and check.__name__ in _GLOBAL_STATISTICS:
        pytest.xfail("pg_textsearch keeps one statistic for all namespaces")
    await check(store)


@pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.__name__)
async def test_ledger(check: Callable[[PostgresEdgeLedger], Awaitable[None]], store: PostgresStore) -> None:
    await check(PostgresEdgeLedger(store))
