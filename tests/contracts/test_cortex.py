"""The contract checks of the engine's ledger in Cortex, over every key-value store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.ports.kv import KeyValueStore
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.outbox import EdgeOutbox, KeepsEdgeOutbox
from brain_async.testing import EDGE_OUTBOX_CHECKS, LEDGER_CHECKS


@pytest.fixture(scope="module", params=["memory", "lmdb", "postgres"])
async def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_dsn: str
) -> AsyncIterator[KeyValueStore]:
    """One store for all checks: they use namespaces of their own."""
    match request.param:
        case "memory":
            yield MemoryKeyValueStore()
        case "lmdb":
            async with open_lmdb(tmp_path_factory.mktemp("ledger")) as opened:
                yield opened
        case "postgres":
            connection = await asyncpg.connect(postgres_dsn)
            await connection.execute("drop schema if exists contracts_cortex cascade; create schema contracts_cortex")
            async with open_postgres(postgres_dsn, dimension=4, search_path="contracts_cortex, public") as opened:
                yield PostgresKeyValueStore(opened)
            await connection.execute("drop schema contracts_cortex cascade")
            await connection.close()


@pytest.mark.parametrize("check", LEDGER_CHECKS + EDGE_OUTBOX_CHECKS, ids=lambda check: check.__name__)
async def test_ledger(check: Callable[[CortexEdgeLedger], Awaitable[None]], store: KeyValueStore) -> None:
    ledger = CortexEdgeLedger(store)
    assert isinstance(ledger, EdgeLedger)
    assert isinstance(ledger, KeepsEdgeOutbox)
    assert isinstance(ledger.graph_outbox, EdgeOutbox)
    await check(ledger)
    await ledger.ledger.verify()
