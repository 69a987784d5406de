"""A client that goes away takes its work along: the statement is cancelled in the server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import anyio
import asyncpg
import httpx
import pytest

from brain_async import Engine
from brain_async.adapters.memory import MemoryGraph
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.fastapi import lifespan, lifespan_engine
from tests.integration.service.served import application, over_http, until

WORKING = """
select count(*) from pg_stat_activity
where application_name = 'brain_async' and state = 'active' and wait_event_type = 'Lock'
"""


@asynccontextmanager
async def served_postgres(dsn: str, schema: str) -> AsyncIterator[str]:
    """The URL of a service over Postgres."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Engine]:
        async with open_postgres(dsn, dimension=4, search_path=f"{schema}, public", pool_size=4) as store:
            yield Engine(store, graph=MemoryGraph(), ledger=CortexEdgeLedger(PostgresKeyValueStore(store)))

    app = application(lifespan_engine)
    app.router.lifespan_context = lifespan(opened)
    async with over_http(app, lifespan="on") as url:
        yield url


@asynccontextmanager
async def connected(dsn: str, schema: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A connection of the test's own."""
    connection = await asyncpg.connect(dsn, server_settings={"search_path": f"{schema}, public"})
    try:
        yield connection
    finally:
        await connection.close()


JSON = "application/json"
TABLES = "brain_objects, brain_terms, brain_postings, brain_lex_state"


@pytest.mark.parametrize(
    ("method", "path", "body", "accept"),
    [
        ("POST", "/v1/search", {"query": "lemon"}, JSON),
        ("GET", f"/v1/objects/{uuid4()}", None, JSON),
        ("POST", "/v1/objects", {"kind": "thing", "title": "x"}, JSON),
        ("POST", "/v1/objects/batch", {"objects": [{"kind": "thing"}]}, JSON),
        ("POST", "/v1/objects/batch", {"objects": [{"kind": "thing"}]}, "text/event-stream"),
    ],
    ids=["search", "read", "put", "put_many", "put_many_with_events"],
)
async def test_closing_the_socket_cancels_the_sql(
    postgres_dsn: str, fresh_schema: str, method: str, path: str, body: Any, accept: str
) -> None:
    async with (
        served_postgres(postgres_dsn, fresh_schema) as url,
        connected(postgres_dsn, fresh_schema) as connection,
        connected(postgres_dsn, fresh_schema) as watcher,  # one in a transaction always sees what it saw first
    ):

        async def working() -> int:
            found: int = await watcher.fetchval(WORKING)
            return found

        async def has_begun() -> bool:
            return await working() > 0

        async def has_ended() -> bool:
            return await working() == 0

        content = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nX-Namespace: {uuid4()}\r\nAccept: {accept}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        # The lock keeps the statement at work for as long as the test likes.
        async with connection.transaction():
            await connection.execute(f"lock table {TABLES} in access exclusive mode")
            stream = await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2]))
            await stream.send(head.encode() + content)
            await until(has_begun)
            await stream.aclose()
            await until(has_ended)  # while the lock is still held
        # And the pool is whole again.
        async with httpx.AsyncClient() as http:
            headers = {"X-Namespace": str(uuid4())}
            answers = [await http.get(f"{url}/v1/objects/{uuid4()}", headers=headers) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [404] * 6
        if method == "POST" and path != "/v1/search":
            assert await connection.fetchval("select count(*) from brain_objects") == 0
