"""The same tests over every store: in memory, and PostgreSQL with either lexical backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresStore, open_postgres
from tests.integration.engine.world import DIMENSION, World


@pytest.fixture(scope="session", params=["memory", "pg_textsearch", "portable"])
def backend(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(the store's name, where its server listens)."""
    dsn = "" if request.param == "memory" else request.getfixturevalue("postgres_dsn")
    return request.param, dsn


@pytest.fixture(scope="session")
async def postgres_store(backend: tuple[str, str]) -> AsyncIterator[PostgresStore | None]:
    """One store for all tests of a lexical backend, which use namespaces of their own; None in memory."""
    lexical, dsn = backend
    if lexical == "memory":
        yield None
        return
    schema = f"engine_{lexical}"
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"drop schema if exists {schema} cascade; create schema {schema}")
        async with open_postgres(
            dsn,
            dimension=DIMENSION,
            lexical=lexical,  # type: ignore[arg-type]
            search_path=f"{schema}, public",
        ) as store:
            yield store
        await connection.execute(f"drop schema {schema} cascade")
    finally:
        await connection.close()


@pytest.fixture
def engine_world(postgres_store: PostgresStore | None) -> World:
    """A store with a namespace that nothing else uses, and an empty graph."""
    return World(MemoryStore(dimension=DIMENSION) if postgres_store is None else postgres_store)
