"""Fixtures shared by the whole suite: one real PostgreSQL for the session, and a schema of its own for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import asyncpg
import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, settings

from brain_async.local.server import LocalServer, local_postgres

# Losing the test data in a power cut is no loss; every other setting is what users get.
_TEST_SETTINGS = {"fsync": "off"}

# A busy machine makes neither a slow example nor slow generation a failure.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

_SERVER = pytest.StashKey[LocalServer]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a test failed and the session's server is dead, say what its log says, and start it for the tests to come."""
    report = yield
    server = item.config.stash.get(_SERVER, None)
    if report.failed and server is not None and server.pid is None:
        report.sections.append(("PostgreSQL had died; its log ends", server.log_tail()))
        with ThreadPoolExecutor() as threads:  # this one has an event loop
            threads.submit(anyio.run, server.ensure_running).result()
    return report


@pytest.fixture(scope="session")
async def postgres_server(pytestconfig: pytest.Config) -> AsyncIterator[LocalServer | None]:
    """The session's local server; None when BRAIN_TEST_DSN names another one to test against."""
    if os.environ.get("BRAIN_TEST_DSN"):
        yield None
        return
    # Not pytest's own temporary directory: its paths are long for a socket and closed to other users.
    home = Path(tempfile.mkdtemp(prefix="brain-test-", dir="/tmp"))
    try:
        async with local_postgres(home, settings=_TEST_SETTINGS) as server:
            pytestconfig.stash[_SERVER] = server
            yield server
            del pytestconfig.stash[_SERVER]
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def postgres_dsn(postgres_server: LocalServer | None) -> str:
    """Where the tests' PostgreSQL listens, with the extensions that it has created in schema public."""
    dsn = postgres_server.dsn if postgres_server is not None else os.environ["BRAIN_TEST_DSN"]
    connection = await asyncpg.connect(dsn)
    try:
        # An outside server may lack pg_textsearch; the local one never does.
        optional = await connection.fetchval(
            "select count(*) from pg_available_extensions where name = 'pg_textsearch'"
        )
        for extension in ("vector", "pg_trgm", *(["pg_textsearch"] if postgres_server is not None or optional else [])):
            await connection.execute(f"create extension if not exists {extension} schema public")
    finally:
        await connection.close()
    return dsn


@pytest.fixture
async def fresh_schema(postgres_dsn: str) -> AsyncIterator[str]:
    """Name of an empty schema, dropped afterwards; connect with ``search_path`` "<schema>, public"."""
    schema = f"test_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(postgres_dsn, server_settings={"lock_timeout": "10s"})
    try:
        await connection.execute(f"create schema {schema}")
        yield schema
        await connection.execute(f"drop schema {schema} cascade")
    finally:
        await connection.close()


@pytest.fixture
def no_blocking_calls() -> Iterator[None]:
    """Fail the test when the library makes a blocking call in the event loop's thread."""
    with blockbuster_ctx("brain_async") as guard:
        for function in guard.functions.values():
            # asyncpg looks for ~/.pgpass at every connect, and the migrations are read once a process: microseconds.
            function.can_block_in("asyncpg/connect_utils.py", "_parse_connect_arguments")
            function.can_block_in("brain_async/adapters/postgres/migrate.py", "_migrations")
        yield
