"""A real HTTP server on the loopback interface that answers as a test scripts it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn

Reply = tuple[int, Mapping[str, str], bytes]
Answer = Callable[[Mapping[str, Any]], Reply]


def raw(content: bytes | str, status: int = 200, **headers: str) -> Answer:
    """The answer that is this, whatever was asked."""
    encoded = content.encode() if isinstance(content, str) else content
    return lambda body: (status, {name.replace("_", "-"): value for name, value in headers.items()}, encoded)


class ScriptedServer:
    """An ASGI app that answers with ``script``'s replies in turn, then with ``usual``, and keeps what it was asked."""

    def __init__(self, usual: Answer, url: str = "") -> None:
        self.usual = usual
        self.url = url
        self.script: list[Answer] = []
        self.bodies: list[Mapping[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.delay = 0.0

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        content, more = b"", True
        while more:
            message = await receive()
            content += message.get("body", b"")
            more = message.get("more_body", False)
        body = json.loads(content)
        self.bodies.append(body)
        self.paths.append(scope["path"])
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await anyio.sleep(self.delay)
        status, headers, reply = (self.script.pop(0) if self.script else self.usual)(body)
        raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw_headers})
        await send({"type": "http.response.body", "body": reply})


class Listener:
    """What listens, for all tests of a module: it hands every request to the server of the running one."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._app = ScriptedServer(raw(b"", 500))

    def serve(self, usual: Answer) -> ScriptedServer:
        """A new server in place of the last one."""
        self._app = ScriptedServer(usual, self.url)
        return self._app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    """A listener on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        listener = Listener(f"http://127.0.0.1:{bound.getsockname()[1]}")
        runner = uvicorn.Server(
            uvicorn.Config(listener, lifespan="off", ws="none", log_level="critical", timeout_graceful_shutdown=1)
        )
        task = asyncio.create_task(runner.serve(sockets=[bound]))
        yield listener
        runner.should_exit = True
        await task
