"""The contract checks over the servers of compose.yaml, Postgres and HelixDB; skipped where there is no Docker engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import asyncpg
import pytest

from brain_async import BackendError
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.testing import (
    GRAPH_CHECKS,
    GRAPH_SCAN_CHECKS,
    GRAPH_WALK_CHECKS,
    KIND_CHECKS,
    SEARCH_CHECKS,
    STORE_CHECKS,
)
from helixgraph import HelixGraph, open_helix

if TYPE_CHECKING:
    from testcontainers.compose import DockerCompose

ROOT = Path(__file__).parents[2]
START_SECONDS = 90


@pytest.fixture(scope="module")
def servers() -> Iterator[DockerCompose]:
    """The servers, under a project and ports of their own, so that those of a developer are left alone."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine runs here")
    from testcontainers.compose import DockerCompose

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COMPOSE_PROJECT_NAME", f"brain-async-test-{os.getpid()}")
        environment.setenv("POSTGRES_PASSWORD", "test")
        environment.setenv("POSTGRES_PORT", "0")
        environment.setenv("HELIX_PORT", "0")
        # Not waiting: the one that prepares the volume ends, which `--wait` takes for a failure.
        with DockerCompose(ROOT, build=True, wait=False, services=["postgres", "helix"]) as running:
            yield running


@pytest.fixture(scope="module", params=["pg_textsearch", "portable"])
async def store(request: pytest.FixtureRequest, servers: DockerCompose) -> AsyncIterator[PostgresStore]:
    """A store in a schema of its own, once the server has come up."""
    host, port = servers.get_service_host_and_port("postgres", 5432)
    dsn = f"postgresql://brain:test@{host}:{port}/brain"
    with anyio.fail_after(START_SECONDS):
        while True:
            try:
                connection = await asyncpg.connect(dsn)
                break
            except (OSError, asyncpg.PostgresError):
                await anyio.sleep(0.5)
    await connection.execute(f"create schema contracts_{request.param}")
    await connection.close()
    async with open_postgres(
        dsn, dimension=8, lexical=request.param, search_path=f"contracts_{request.param}, public"
    ) as opened:
        assert opened.lexical_backend == request.param
        yield opened


@pytest.fixture(scope="module")
async def graph(servers: DockerCompose) -> AsyncIterator[HelixGraph]:
    """A graph on the server, once that has come up."""
    host, port = servers.get_service_host_and_port("helix", 8080)
    async with AsyncExitStack() as stack:
        with anyio.fail_after(START_SECONDS):
            while True:
                try:
                    opened = await stack.enter_async_context(open_helix(f"http://{host}:{port}", dimension=8))
                    break
                except BackendError:
                    await anyio.sleep(0.5)
        yield opened


# pg_textsearch shares its statistics between namespaces, which these two would take amiss (tests/contracts/test_postgres.py).
BY_STATISTICS = {"check_other_namespaces_are_never_seen", "check_lexical_ranks_by_bm25"}


@pytest.mark.parametrize("check", STORE_CHECKS + SEARCH_CHECKS + KIND_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[PostgresStore], Awaitable[None]], store: PostgresStore) -> None:
    if store.lexical_backend == "pg_textsearch" and check.__name__ in BY_STATISTICS:
        pytest.skip("pg_textsearch shares its statistics between namespaces")
    await check(store)


@pytest.mark.parametrize(
    "check", GRAPH_CHECKS + GRAPH_SCAN_CHECKS + GRAPH_WALK_CHECKS, ids=lambda check: check.__name__
)
async def test_graph(check: Callable[[HelixGraph], Awaitable[None]], graph: HelixGraph) -> None:
    await check(graph)
