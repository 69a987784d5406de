"""The contract checks over PostgreSQL, with both lexical backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.testing import (
    HEALTH_CHECKS,
    KIND_CHECKS,
    NODE_OUTBOX_CHECKS,
    PASSAGE_CHECKS,
    SEARCH_CHECKS,
    STORE_CHECKS,
    VOCABULARY_CHECKS,
)

# pg_textsearch keeps document frequencies and the mean length over all namespaces: what else a store holds moves its scores.
_BY_STATISTICS = {"check_other_namespaces_are_never_seen", "check_lexical_ranks_by_bm25"}


def _statistical(check: Callable[..., Awaitable[None]]) -> bool:
    return check.__name__ in _BY_STATISTICS


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


@pytest.mark.parametrize(
    "check",
    STORE_CHECKS
    + PASSAGE_CHECKS
    + SEARCH_CHECKS
    + VOCABULARY_CHECKS
    + KIND_CHECKS
    + NODE_OUTBOX_CHECKS
    + HEALTH_CHECKS,
    ids=lambda check: check.__name__,
)
async def test_store(
    check: Callable[[PostgresStore], Awaitable[None]], store: PostgresStore, postgres_dsn: str, fresh_schema: str
) -> None:
    if not (store.lexical_backend == "pg_textsearch" and _statistical(check)):
        await check(store)
        return
    async with open_postgres(
        postgres_dsn, dimension=8, lexical="pg_textsearch", search_path=f"{fresh_schema}, public"
    ) as alone:
        if check.__name__ == "check_other_namespaces_are_never_seen":
            with pytest.raises(AssertionError, match="lexical changed by another namespace"):
                await check(alone)
        else:
            await check(alone)
