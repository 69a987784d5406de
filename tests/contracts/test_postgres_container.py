"""The contract checks over the image that compose.yaml builds; skipped where there is no Docker engine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import asyncpg
import pytest

from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.testing import KIND_CHECKS, SEARCH_CHECKS, STORE_CHECKS

CONTEXT = Path(__file__).parents[2] / "docker" / "postgres"
START_SECONDS = 60


@pytest.fixture(scope="module")
def container_dsn() -> Iterator[str]:
    """Where the built image listens."""
    engine = shutil.which("docker")
    if engine is None or subprocess.run([engine, "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine runs here")
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.image import DockerImage

    with DockerImage(CONTEXT, tag="brain-async-postgres:test") as image:
        container = DockerContainer(str(image)).with_exposed_ports(5432)
        container.with_env("POSTGRES_USER", "brain").with_env("POSTGRES_DB", "brain").with_env(
            "POSTGRES_PASSWORD", "test"
        )
        with container as running:
            host, port = running.get_container_host_ip(), running.get_exposed_port(5432)
            yield f"postgresql://brain:test@{host}:{port}/brain"


@pytest.fixture(scope="module", params=["pg_textsearch", "portable"])
async def store(request: pytest.FixtureRequest, container_dsn: str) -> AsyncIterator[PostgresStore]:
    """A store in a schema of its own, once the server has come up."""
    with anyio.fail_after(START_SECONDS):
        while True:
            try:
                connection = await asyncpg.connect(container_dsn)
                break
            except (OSError, asyncpg.PostgresError):
                await anyio.sleep(0.5)
    await connection.execute(f"create schema contracts_{request.param}")
    await connection.close()
    async with open_postgres(
        container_dsn, dimension=8, lexical=request.param, search_path=f"contracts_{request.param}, public"
    ) as opened:
        assert opened.lexical_backend == request.param
        yield opened


# pg_textsearch shares its statistics between namespaces, which these two would take amiss (tests/contracts/test_postgres.py).
BY_STATISTICS = {"check_other_namespaces_are_never_seen", "check_lexical_ranks_by_bm25"}


@pytest.mark.parametrize("check", STORE_CHECKS + SEARCH_CHECKS + KIND_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[PostgresStore], Awaitable[None]], store: PostgresStore) -> None:
    if store.lexical_backend == "pg_textsearch" and check.__name__ in BY_STATISTICS:
        pytest.skip("pg_textsearch shares its statistics between namespaces")
    await check(store)
