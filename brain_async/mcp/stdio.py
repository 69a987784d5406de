"""Serving one client over stdin and stdout."""

from __future__ import annotations

import logging
from typing import Any, cast

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from brain_async.mcp.signals import on_stop_signal
from brain_async.mcp.stdin import stdin_lines

__all__ = ["serve_stdio"]

logger = logging.getLogger("brain_async")


async def serve_stdio(server: Server[Any]) -> int:
    """Serve until stdin ends (returns 0), or SIGINT or SIGTERM comes (its number); to be called in the main thread.

    Meanwhile stdout belongs to the protocol, and what else is printed goes to stderr.
    """
    stopped_by = 0

    def stop(received: int) -> None:
        nonlocal stopped_by
        stopped_by = received
        group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(on_stop_signal, stop)
            # The SDK only iterates over what it is given as stdin.
            async with stdin_lines() as lines, stdio_server(stdin=cast("Any", lines)) as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        logger.info("the client has gone without closing stdin")
    return stopped_by
