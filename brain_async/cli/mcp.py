"""`brain mcp`: the knowledge base as an MCP server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID

from brain_async.cli.engines import open_engine
from brain_async.errors import InvalidInputError, MissingExtensionError
from brain_async.tools.save import WriteKinds

__all__ = ["parse_address", "parse_write_kinds", "run_mcp"]

LOOPBACK = "127.0.0.1"


async def run_mcp(
    home: Path,
    *,
    dsn: str | None = None,
    helix: str | None = None,
    namespace: UUID | None = None,
    read_only: bool = False,
    saves: Sequence[str] = (),
    timeout: float = 30.0,
    http: str | None = None,
    token: str | None = None,
) -> int:
    """Serve over stdio until it ends or, with ``http``, over HTTP, until SIGINT or SIGTERM; the number of the signal, or 0.

    Raises MissingExtensionError without the extra ``mcp``, InvalidInputError for what makes no sense, as ``open_engine``,
    ``create_server`` and ``serve_http``.
    """
    if find_spec("mcp") is None:
        raise MissingExtensionError("brain mcp needs the package mcp: pip install 'brain-async[mcp]'")
    address = None if http is None else parse_address(http)
    write_kinds = parse_write_kinds(saves)
    from brain_async.mcp import create_server, serve_http, serve_stdio

    async with open_engine(home, dsn=dsn, helix=helix) as engine:
        server = create_server(
            engine, namespace=namespace, write_kinds=write_kinds, timeout=timeout, read_only=read_only
        )
        if address is None:
            return await serve_stdio(server)
        host, port = address
        return await serve_http(server, host=host, port=port, token=token, started=_tell_started)


def parse_address(text: str) -> tuple[str, int]:
    """(host, port) of ``HOST:PORT``, ``[IPV6]:PORT``, ``:PORT`` or ``PORT``. Raises InvalidInputError."""
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise InvalidInputError(f"--http takes HOST:PORT, such as {LOOPBACK}:8931, not {text!r}", field="http")
    return host, int(port)


def parse_write_kinds(items: Sequence[str]) -> WriteKinds:
    """The mapping of ``TOOL=KIND`` items, such as fact=note. Raises InvalidInputError."""
    kinds = {}
    for item in items:
        tool, separator, kind = item.partition("=")
        tool = tool.strip().removeprefix("save_")
        if tool not in WriteKinds.__struct_fields__ or not separator or not kind.strip():
            tools = ", ".join(WriteKinds.__struct_fields__)
            raise InvalidInputError(f"--save takes TOOL=KIND, TOOL being one of {tools}, not {item!r}", field="save")
        kinds[tool] = kind.strip()
    return WriteKinds(**kinds)


def _tell_started(address: str) -> None:
    sys.stderr.write(f"serving at {address}\n")
    sys.stderr.flush()
