"""Databases of their own, and `brain mcp` over them in processes of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import asyncpg
from anyio.abc import Process
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from brain_async import Engine, KindSpec
from brain_async.cli.engines import open_engine

COMMAND = [sys.executable, "-m", "brain_async", "mcp"]


@asynccontextmanager
async def filled_database(
    admin_dsn: str, name: str, kinds: Sequence[KindSpec], fill: Callable[[Engine], Awaitable[None]]
) -> AsyncIterator[str]:
    """The DSN of a new database that holds these kinds, and what ``fill`` puts."""
    admin = await asyncpg.connect(admin_dsn)
    try:
        await admin.execute(f"create database {name}")
        dsn = admin_dsn.replace("/postgres?", f"/{name}?")
        async with open_engine(Path(), dsn=dsn) as engine:
            await engine.apply_kinds(kinds)
            await fill(engine)
        yield dsn
    finally:
        await admin.execute(f"drop database if exists {name} with (force)")
        await admin.close()


def options_of(dsn: str, namespace: UUID, *more: str) -> list[str]:
    """What a server over a database is started with."""
    return ["--dsn", dsn, "--namespace", str(namespace), *more]


@asynccontextmanager
async def client_of(transport: str, options: Sequence[str], mode: str) -> AsyncIterator[Client]:
    """A client of a new server, over ``stdio`` or ``http``."""
    if transport == "stdio":
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *options], env=dict(os.environ))
        async with Client(server, mode=mode) as client:
            yield client
    else:
        async with http_server(options) as address, Client(address, mode=mode) as client:
            yield client


@asynccontextmanager
async def http_server(options: Sequence[str]) -> AsyncIterator[str]:
    """The address of a running server, which is told to stop at the end, and must do so in good order."""
    command = [*COMMAND, *options, "--http", "127.0.0.1:0"]
    async with await anyio.open_process(command, stdin=None, stdout=None) as process:
        try:
            with anyio.fail_after(60):
                address = await _address(process)
            yield address
        finally:
            process.terminate()
            with anyio.CancelScope(shield=True), anyio.move_on_after(20):
                await process.wait()
    assert process.returncode == 0


async def _address(process: Process) -> str:
    assert process.stderr is not None
    told = b""
    async for chunk in process.stderr:
        told += chunk
        if told.endswith(b"/mcp\n"):
            return told.decode().split()[-1]
    raise AssertionError(f"the server ended: {told.decode()}")


async def structured(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured content of a call's answer, which its text must spell as well."""
    result = await client.call_tool(name, arguments)
    content: dict[str, Any] = result.structured_content
    assert isinstance(result.content[0], TextContent)
    assert json.loads(result.content[0].text) == content
    assert result.is_error is ("error" in content)
    return content
