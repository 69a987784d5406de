"""An application over an engine in memory, in this process or behind a real uvicorn on loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import uvicorn
from fastapi import FastAPI

from brain_async import Engine, ExpandRecipe, FieldSpec, KindSpec
from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.fastapi import header_scope, router
from tests.integration.engine.world import DIMENSION, WordEmbedder

KINDS = [
    KindSpec(kind="thing", fields=(FieldSpec(name="n", type="number"), FieldSpec(name="tag", type="string"))),
    KindSpec(kind="section", is_part=True),
]


def engine_in_memory(**options: Any) -> Engine:
    """An engine that has every ability, in memory."""
    parts: dict[str, Any] = {
        "graph": MemoryGraph(),
        "ledger": MemoryEdgeLedger(),
        "embedder": WordEmbedder(),
        "kinds": KINDS,
        "recipes": [ExpandRecipe(name="around", relation_types=["about"], want_containment=True)],
    }
    return Engine(options.pop("store", None) or MemoryStore(dimension=DIMENSION), **{**parts, **options})


def application(engine: Engine, **options: Any) -> FastAPI:
    """The verbs under /v1, for the namespace of the X-Namespace header."""
    app = FastAPI(openapi_url="/openapi.json")
    app.include_router(router(engine, **{"scope": header_scope, "admin": True, **options}), prefix="/v1")
    return app


class Client:
    """A tenant's client."""

    def __init__(self, client: httpx.AsyncClient, namespace: UUID | None = None) -> None:
        self.http = client
        self.namespace = namespace or uuid4()

    async def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        headers = {"X-Namespace": str(self.namespace), **options.pop("headers", {})}
        if body is not None:
            options["content"] = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        return await self.http.request(method, f"/v1{path}", headers=headers, **options)

    async def ok(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The decoded answer of a request that succeeds."""
        response = await self(method, path, body, **options)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def other(self) -> Client:
        """The client of another tenant."""
        return Client(self.http)


@asynccontextmanager
async def in_process(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls ``app`` directly."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


@contextmanager
def _no_signals(_server: uvicorn.Server) -> Iterator[None]:
    yield


class _Server(uvicorn.Server):
    capture_signals = _no_signals  # type: ignore[assignment]


@asynccontextmanager
async def over_http(app: FastAPI, *, lifespan: str = "off") -> AsyncIterator[str]:
    """``app`` behind uvicorn; its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with _uvicorn(app, listener, lifespan):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def _uvicorn(app: FastAPI, listener: socket.socket, lifespan: str) -> AsyncIterator[None]:
    config = uvicorn.Config(app, lifespan=lifespan, log_config=None, timeout_graceful_shutdown=2)  # type: ignore[arg-type]
    server = _Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listener])
        while not server.started:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        yield
        server.should_exit = True


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return once ``condition`` holds."""
    with anyio.fail_after(20):
        while not await condition():  # noqa: ASYNC110
            await anyio.sleep(0.02)
