"""A physical standby: it answers searches and reads of what the primary committed, and refuses writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import pytest

from brain_async import Engine, Object
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.errors import BackendError
from brain_async.local.account import server_account
from brain_async.local.extensions import find_install
from brain_async.local.server import local_postgres
from brain_async.model.filters import Filters
from brain_async.testing.subjects import direction, fresh_scope

DIMENSION = 4


def copy_server(dsn: str, home: Path) -> None:
    """A base backup of the server into the data directory of ``home``, set up to follow it."""
    account = server_account()
    home.mkdir()
    account.own(home)
    where = parse_qs(urlsplit(dsn).query)
    subprocess.run(
        [
            *(find_install().binary("pg_basebackup"), "--write-recovery-conf", "--pgdata", home / "postgres"),
            *("--host", where["host"][0], "--port", where["port"][0], "--username", "postgres", "--checkpoint=fast"),
        ],
        check=True,
        capture_output=True,
        cwd="/",
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
        **account.process_options(),
    )
    # The primary's own, which came with the copy.
    for lock in (home / "postgres").glob(".s.PGSQL.*"):
        lock.unlink()


@pytest.fixture
async def servers() -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """The stores over a primary and over its standby."""
    root = Path(tempfile.mkdtemp(prefix="brain-standby-", dir="/tmp"))
    try:
        async with (
            local_postgres(root / "primary") as server,
            open_postgres(server.dsn, dimension=DIMENSION, lexical="portable") as primary,
        ):
            await anyio.to_thread.run_sync(copy_server, server.dsn, root / "standby")
            async with (
                local_postgres(root / "standby") as copy,
                open_postgres(copy.dsn, dimension=DIMENSION, migrate=False) as standby,
            ):
                yield primary, standby
    finally:
        shutil.rmtree(root, ignore_errors=True)


async def test_a_standby_answers_and_refuses_writes(servers: tuple[PostgresStore, PostgresStore]) -> None:
    primary, standby = servers
    scope = fresh_scope()
    session, copy = Engine(primary).session(scope.namespace_id), Engine(standby).session(scope.namespace_id)
    parent = await session.put(Object(kind="document", title="DOC-7731 walrus"))
    part = await session.put(
        Object(
            kind="text",
            parent_id=parent.id,
            title="DOC-7731",
            content="walrus ivory trade",
            embedding=tuple(direction(DIMENSION, 10)),
        )
    )
    with anyio.fail_after(30):  # the replication's lag
        while not await standby.search_lexical(scope, "ivory", Filters(), k=3):  # noqa: ASYNC110
            await anyio.sleep(0.02)
    nearest = await standby.search_vector(scope, direction(DIMENSION, 10), Filters(), k=3)
    assert [hit.id for hit in nearest] == [part.id]
    assert [hit.id for hit in await standby.search_trigram(scope, "DOC-7713", Filters(), k=3)] == [part.id]
    page = await copy.search("walrsu ivory")
    assert ([obj.id for obj in page.objects], page.degraded) == ([parent.id], ())
    assert page.respelled == (("walrsu", "walrus"),)
    assert (await copy.read(part.id)).content == "walrus ivory trade"
    with pytest.raises(BackendError, match="read-only"):
        await copy.put(Object(kind="document", title="refused"))

    await session.soft_delete(parent.id)
    with anyio.fail_after(30):
        while await standby.search_lexical(scope, "ivory", Filters(), k=3):  # noqa: ASYNC110
            await anyio.sleep(0.02)
