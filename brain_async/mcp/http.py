"""Serving any number of clients over streamable HTTP."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel.server import Server
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from brain_async.errors import InvalidInputError
from brain_async.mcp.signals import on_stop_signal

__all__ = ["serve_http"]

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
GRACE_SECONDS = 2
"""That running calls have left when the server is told to stop."""


async def serve_http(
    server: Server[Any],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    started: Callable[[str], object] | None = None,
) -> int:
    """Serve at ``http://host:port/mcp`` until SIGINT or SIGTERM, and return its number; to be called in the main thread.

    Args:
        port: 0 takes a free one.
        token: what clients have to send as bearer token; None asks for none, which is for loopback only. There, requests that
            a web page of another host makes are refused by their Host and Origin.
        started: called with the address once clients can connect.

    Raises InvalidInputError for an address that cannot be listened on, and for another one than loopback without a token.
    """
    if host not in LOOPBACK and not token:
        raise InvalidInputError(f"a token is needed to listen on {host}: whoever reaches it could read", field="token")
    app: ASGIApp = server.streamable_http_app(streamable_http_path=PATH, host=host)
    if token:
        app = _with_token(app, token)
    listening = _listen(host, port)
    with listening:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=GRACE_SECONDS
        )
        return await _serve(_Uvicorn(config, started=started, address=_address(host, listening)), listening)


class _Uvicorn(uvicorn.Server):
    """Leaves signals to us, and says when it listens."""

    def __init__(self, config: uvicorn.Config, *, started: Callable[[str], object] | None, address: str) -> None:
        super().__init__(config)
        self._tell_started = started
        self._address = address
        self.stopped_by = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self, received: int) -> None:
        """Take no more requests, and end; at once when told so twice."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.stopped_by = received

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._tell_started is not None:
            self._tell_started(self._address)


async def _serve(server: _Uvicorn, listening: socket.socket) -> int:
    async with anyio.create_task_group() as group:
        group.start_soon(on_stop_signal, server.stop)
        await server.serve(sockets=[listening])
        group.cancel_scope.cancel()
    return server.stopped_by


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
        listening.setblocking(False)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InvalidInputError(f"cannot listen on {host}:{port}: {reason}", field="http") from error
    return listening


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode()
            if not secrets.compare_digest(given, expected):
                refusal = PlainTextResponse(
                    "a bearer token is needed\n", status_code=401, headers={"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded
