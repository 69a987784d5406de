"""A Helix server for tests: the ASGI app answers ``POST /v2/query`` from the embedded engine.

What differs from a real server: no authentication, no routing headers, no deadline, and codes that are taken from the text
of the engine's errors.

``python -m tests.helix_double`` serves it, empty, on a free port of 127.0.0.1 that it prints, until it is terminated.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal

import uvicorn
from helixdb import AsyncClient, HelixError, InMemory

__all__ = ["Envelope", "HelixDouble"]

Envelope = Literal["code and message", "text"]
"""The error body: of newer servers ``{"error": code, "msg": text}``, of those at the time of engine 0.3.3
``{"error": text}`` with ``"code"`` for index errors only."""

_Message = MutableMapping[str, Any]

# (part of the engine's text, status, code)
_ERRORS = (
    ("transaction conflict", 409, "transaction_conflict"),
    ("index_not_found", 500, "index_not_found"),
    ("Index definition conflicts", 500, "index_definition_conflict"),
    ("Unique constraint violated", 500, "unique_constraint_violation"),
    ("Invalid vector dimension", 400, "invalid_vector_dimension"),
    ("norm must be non-zero", 400, "zero_norm_cosine_vector"),
    ("value must be finite", 400, "invalid_vector_component"),
    ("invalid query JSON", 400, "invalid_query_json"),
    ("Invalid index source data", 500, "invalid_index_source_data"),
    ("unsupported cascades plan", 400, "internal_planner_error"),
    ("Active text mutation exceeds", 500, "active_text_mutation_limit_exceeded"),
)


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def to_json_bytes(self) -> bytes:
        return self._body


class HelixDouble:
    """The app. ``requests`` counts what it was asked; ``before`` runs before each answer, to delay or fail it."""

    def __init__(self, engine: AsyncClient, envelope: Envelope) -> None:
        self.engine = engine
        self.envelope = envelope
        self.requests = 0
        self.before: Callable[[], Awaitable[None]] | None = None

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        body = b""
        more = scope["type"] == "http"
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        known = scope.get("method") == "POST" and scope.get("path") == "/v2/query"
        status, answer = await self._answer(body) if known else (404, b"")
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, body: bytes) -> tuple[int, bytes]:
        self.requests += 1
        if self.before is not None:
            await self.before()
        try:
            request: Any = _Raw(body)
            return 200, await self.engine.request_builder().query(request).send_bytes()
        except HelixError as error:
            text = getattr(error.__cause__, "message", None) or error.details or str(error)
            status, code = next(((status, code) for part, status, code in _ERRORS if part in text), (500, "internal"))
            return status, json.dumps(self._envelope(code, text)).encode()

    def _envelope(self, code: str, text: str) -> dict[str, str]:
        if self.envelope == "code and message":
            return {"error": code, "msg": text}
        return {"error": text, "code": code} if code.startswith("index_") else {"error": text}


async def _serve() -> None:
    async with await AsyncClient.embedded(InMemory("server")) as engine:
        # Named as TCP, or asyncio would leave Nagle's algorithm on and every answer would wait 40 ms.
        with socket.socket(proto=socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}\n")
            sys.stdout.flush()
            config = uvicorn.Config(
                HelixDouble(engine, "code and message"), lifespan="off", ws="none", log_level="warning"
            )
            await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    asyncio.run(_serve())
