"""The same tests over every store: in memory, and PostgreSQL with either lexical backend; some over HelixDB too."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.adapters.postgres import PostgresStore, open_postgres
from helixgraph import HelixGraph, open_helix_embedded
from tests.integration.engine.world import DIMENSION, World

_STORES = ("memory", "pg_textsearch", "portable")
_HELIX = "helix"  # beside the store in memory


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "on_helix: the test is about the graph, and runs over HelixGraph too")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        helix = [_HELIX] if metafunc.definition.get_closest_marker("on_helix") else []
        metafunc.parametrize("backend", [*_STORES, *helix], indirect=True, scope="session")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(the backend's name, where its server listens)."""
    name: str = request.param
    return name, "" if name in ("memory", _HELIX) else request.getfixturevalue("postgres_dsn")


@pytest.fixture(scope="session")
async def postgres_store(backend: tuple[str, str]) -> AsyncIterator[PostgresStore | None]:
    """One store for all tests of a lexical backend, which use namespaces of their own; None in memory."""
    lexical, dsn = backend
    if not dsn:
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


@pytest.fixture(scope="session")
async def helix_graph(backend: tuple[str, str]) -> AsyncIterator[HelixGraph | None]:
    """One graph for all tests over HelixDB, which use namespaces of their own; None elsewhere."""
    if backend[0] != _HELIX:
        yield None
        return
    async with open_helix_embedded(dimension=DIMENSION) as graph:
        yield graph


@pytest.fixture
def engine_world(postgres_store: PostgresStore | None, helix_graph: HelixGraph | None) -> World:
    """A store and a graph with a namespace that nothing else uses."""
    store = MemoryStore(dimension=DIMENSION) if postgres_store is None else postgres_store
    return World(store, MemoryGraph() if helix_graph is None else helix_graph)
