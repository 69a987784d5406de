"""A transaction-mode pooler small enough to read: every transaction gets a backend of its own choosing, and what such a
pooler cannot carry is refused instead of failing now and then."""

from __future__ import annotations

import asyncio
import itertools
import re
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

__all__ = ["Pooler", "run_pooler"]

_SESSION_STATE = re.compile(
    r"^\s*(set\s+(?!local\b)|reset\b|listen\b|declare\b|prepare\b|discard\b)|pg_(try_)?advisory_lock|pg_advisory_unlock",
    re.IGNORECASE,
)

_STARTUP = (b"", b"user", b"database", b"client_encoding")
"""Startup parameters that poolers accept: client_encoding is one of the few they keep for each client."""

_COMPLETIONS = b"123TnCsI"
"""What ends the answer to one message of the extended protocol."""


class Pooler:
    """Listens on a unix socket; ``violations`` are statements that need a session, ``transactions`` counts per backend."""

    def __init__(self, server_socket: str, backends: int) -> None:
        self._server_socket = server_socket
        self._turn = itertools.cycle(range(backends))
        self._idle: list[asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = []
        self._backends = backends
        self._greeting = b""
        self.violations: list[str] = []
        self.transactions = [0] * backends

    async def open(self) -> None:
        for _ in range(self._backends):
            reader, writer = await asyncio.open_unix_connection(self._server_socket)
            parameters = b"user\0postgres\0database\0postgres\0\0"
            writer.write(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
            greeting = b""
            while True:
                kind, body = await _read(reader)
                if kind in b"RSK":
                    greeting += _message(kind, body)
                if kind == b"Z":
                    break
            self._greeting = greeting
            queue: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
            queue.put_nowait((reader, writer))
            self._idle.append(queue)

    def close(self) -> None:
        for queue in self._idle:
            while not queue.empty():
                queue.get_nowait()[1].close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client: hold a backend from its first message to the end of its transaction."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:  # the start of the session, an offer of encryption before it
                (length,) = struct.unpack("!i", await reader.readexactly(4))
                body = await reader.readexactly(length - 4)
                (code,) = struct.unpack("!i", body[:4])
                if code == 196608:
                    break
                if code == 80877102:  # to cancel a statement: always too late here, and answered by closing
                    writer.close()
                    return
                writer.write(b"N")
            names = body[4:].split(b"\0")[::2]
            self.violations += [f"startup {name.decode()}" for name in names if name not in _STARTUP]
            writer.write(self._greeting + _message(b"Z", b"I"))
            while True:
                first = await _read(reader)
                if first[0] == b"X":
                    break
                number = self._choose()
                backend = await self._idle[number].get()
                try:
                    self.transactions[number] += 1
                    await self._transaction(first, (reader, writer), backend)
                finally:
                    self._idle[number].put_nowait(backend)
        writer.close()

    def _choose(self) -> int:
        """The next backend that is free, or the next that is not."""
        chosen = next(self._turn)
        for _ in range(self._backends - 1):
            if not self._idle[chosen].empty():
                break
            chosen = next(self._turn)
        return chosen

    async def _transaction(
        self,
        message: tuple[bytes, bytes],
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        backend: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        asked = 0
        while True:
            kind, _ = message
            self._inspect(*message)
            backend[1].write(_message(*message))
            asked += kind in b"PBDEC"
            if kind == b"H":  # flush: the client waits for what it asked so far
                while asked:
                    answer = await _read(backend[0])
                    client[1].write(_message(*answer))
                    asked = 0 if answer[0] == b"E" else asked - (answer[0] in _COMPLETIONS)
            elif kind in b"QScf":  # a statement, the end of a pipeline, and of what is copied in
                asked = 0
                while True:
                    answer = await _read(backend[0])
                    client[1].write(_message(*answer))
                    if answer[0] in b"ZG":  # G: the client sends what is copied in
                        break
                if answer == (b"Z", b"I"):
                    return
            message = await _read(client[0])

    def _inspect(self, kind: bytes, body: bytes) -> None:
        if kind == b"Q" and _SESSION_STATE.search(body.decode()):
            self.violations.append(body.decode())
        if kind == b"P":
            name, sql = body.split(b"\0")[:2]
            if name or _SESSION_STATE.search(sql.decode()):
                self.violations.append(f"{name.decode()}: {sql.decode()}")


async def _read(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


@asynccontextmanager
async def run_pooler(server_socket: str, listen_socket: str, *, backends: int = 2) -> AsyncIterator[Pooler]:
    """A pooler in front of ``server_socket``."""
    pooler = Pooler(server_socket, backends)
    await pooler.open()
    server = await asyncio.start_unix_server(pooler.serve, listen_socket)
    try:
        yield pooler
    finally:
        server.close()
        pooler.close()
