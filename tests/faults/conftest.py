"""A store for each module that asks for one: the module names the ``backend``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import open_postgres
from tests.integration.engine.world import DIMENSION, Store


@pytest.fixture(scope="module")
def dsn(request: pytest.FixtureRequest, backend: str) -> str:
    """Where the backend's server listens; "" in memory."""
    return "" if backend == "memory" else request.getfixturevalue("postgres_dsn")


@pytest.fixture(scope="module")
async def store(request: pytest.FixtureRequest, backend: str, dsn: str) -> AsyncIterator[Store]:
    """One store for all tests of a module's backend: they use namespaces of their own."""
    if not dsn:
        yield MemoryStore(dimension=DIMENSION)
        return
    schema = f"{request.module.__name__.rpartition('.')[2]}_{backend}"
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"drop schema if exists {schema} cascade; create schema {schema}")
        async with open_postgres(
            dsn,
            dimension=DIMENSION,
            lexical=backend,  # type: ignore[arg-type]
            search_path=f"{schema}, public",
        ) as opened:
            yield opened
        await connection.execute(f"drop schema {schema} cascade")
    finally:
        await connection.close()
