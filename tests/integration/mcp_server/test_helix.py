"""`brain mcp --helix`: the graph is that of a Helix server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import uvicorn
from helixdb import AsyncClient, InMemory

from brain_async.cli.engines import open_engine
from tests.helix_double import HelixDouble
from tests.integration.mcp_server.servers import client_of, filled_database, options_of, structured
from tests.unit.tools.office import ADA, BEN, KINDS, LOOM, NAMESPACE, fill


@asynccontextmanager
async def helix_server() -> AsyncIterator[tuple[str, HelixDouble]]:
    """A Helix server on loopback, and its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    async with await AsyncClient.embedded(InMemory("mcp")) as engine:
        double = HelixDouble(engine, "code and message")
        server = uvicorn.Server(uvicorn.Config(double, lifespan="off", log_level="warning"))
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: server.serve(sockets=[listening]))
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}", double
            finally:
                server.should_exit = True


async def test_entities_and_links_come_from_the_helix_server(postgres_dsn: str) -> None:
    async with (
        filled_database(postgres_dsn, "mcp_helix", KINDS, fill) as dsn,
        helix_server() as (address, double),
    ):
        async with open_engine(Path(), dsn=dsn, helix=address) as engine:
            report = await engine.reconcile(full=True)
            assert (report.ok, report.after.is_zero) == (True, True)
        asked = double.requests
        options = options_of(dsn, NAMESPACE, "--helix", address)
        async with client_of("stdio", options, "auto") as client:
            found = await structured(client, "find_objects", {"query": "engines", "kinds": ["person"]})
            assert found["objects"][0]["id"] == str(ADA)
            link = {"from_id": str(BEN), "to_id": str(LOOM), "relation_type": "sells", "note": "in spring"}
            assert (await structured(client, "link", link))["linked"] is True
            near = await structured(client, "expand", {"object_id": str(LOOM), "relation_types": ["sells", "works_on"]})
            assert {hit["id"] for hit in near["objects"]} == {str(ADA), str(BEN)}
        assert double.requests > asked
