"""The contract checks of key-value stores, over every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.ports.kv import KeyValueStore
from brain_async.testing import KV_CHECKS


@pytest.fixture(scope="module", params=["memory", "lmdb", "postgres"])
async def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_dsn: str
) -> AsyncIterator[KeyValueStore]:
    """One store for all checks: they use keys of their own."""
    match request.param:
        case "memory":
            yield MemoryKeyValueStore()
        case "lmdb":
            async with open_lmdb(tmp_path_factory.mktemp("kv")) as opened:
                yield opened
        case "postgres":
            connection = await asyncpg.connect(postgres_dsn)
            await connection.execute("drop schema if exists contracts_kv cascade; create schema contracts_kv")
            async with open_postgres(postgres_dsn, dimension=4, search_path="contracts_kv, public") as opened:
                yield PostgresKeyValueStore(opened)
            await connection.execute("drop schema contracts_kv cascade")
            await connection.close()


@pytest.mark.parametrize("check", KV_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[KeyValueStore], Awaitable[None]], store: KeyValueStore) -> None:
    assert isinstance(store, KeyValueStore)
    await check(store)
