"""The contract checks of a graph's edges over a ledger, on every key-value store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import CortexGraph, Ledger
from brain_async.ports.graph import GraphEdgeSearcher, GraphReader, GraphWriter
from brain_async.testing import GRAPH_EDGE_CHECKS


@pytest.fixture(scope="module", params=["memory", "lmdb", "postgres"])
async def ledger(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_dsn: str
) -> AsyncIterator[Ledger]:
    """One ledger for all checks: they use namespaces of their own. It must be whole after them."""
    match request.param:
        case "memory":
            ledger = Ledger(MemoryKeyValueStore())
            yield ledger
            await ledger.verify()
        case "lmdb":
            async with open_lmdb(tmp_path_factory.mktemp("graph")) as lmdb:
                ledger = Ledger(lmdb)
                yield ledger
                await ledger.verify()
        case "postgres":
            connection = await asyncpg.connect(postgres_dsn)
            await connection.execute("drop schema if exists contracts_graph cascade; create schema contracts_graph")
            async with open_postgres(postgres_dsn, dimension=4, search_path="contracts_graph, public") as postgres:
                ledger = Ledger(PostgresKeyValueStore(postgres))
                yield ledger
                await ledger.verify()
            await connection.execute("drop schema contracts_graph cascade")
            await connection.close()


@pytest.mark.parametrize("check", GRAPH_EDGE_CHECKS, ids=lambda check: check.__name__)
async def test_graph(check: Callable[[CortexGraph], Awaitable[None]], ledger: Ledger) -> None:
    graph = CortexGraph(ledger)
    assert isinstance(graph, GraphReader)
    assert isinstance(graph, GraphWriter)
    assert isinstance(graph, GraphEdgeSearcher)
    await check(graph)
