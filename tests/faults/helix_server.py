"""A Helix server on a port of its own that stops, hangs and comes back, as servers do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from helixdb import AsyncClient, InMemory

from tests.helix_double import HelixDouble

__all__ = ["HelixServer", "helix_server"]


class HelixServer:
    """The double, ``app``, behind a real socket. What it holds outlives its stops, as a database on disk would."""

    def __init__(self, engine: AsyncClient) -> None:
        self.app = HelixDouble(engine, "code and message")
        self._changing = asyncio.Lock()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._silent: asyncio.Server | None = None
        self._callers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    async def up(self) -> None:
        """Answer."""
        async with self._changing:
            await self._stop()
            await self._serve()

    async def hanging(self) -> None:
        """Accept every connection and answer none."""
        async with self._changing:
            await self._stop()
            self._silent = await asyncio.start_server(self._listen, "127.0.0.1", self._port)

    async def down(self) -> None:
        """Refuse connections."""
        async with self._changing:
            await self._stop()

    async def _serve(self) -> None:
        config = uvicorn.Config(
            self.app, port=self._port, lifespan="off", ws="none", log_config=None, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve())
        while not self._server.started:
            assert not self._serving.done(), "the server does not start"
            await asyncio.sleep(0.005)

    async def _stop(self) -> None:
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
            self._server = self._serving = None
        if self._silent is not None:
            self._silent.close()
            for caller in self._callers:
                caller.close()
            await self._silent.wait_closed()
            self._silent = None

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._callers.add(writer)
        try:
            await reader.read(-1)
        except ConnectionError:
            pass
        finally:
            self._callers.discard(writer)
            writer.close()


@asynccontextmanager
async def helix_server() -> AsyncIterator[HelixServer]:
    """A server that is up; one that hangs or is down at the end is no problem."""
    async with await AsyncClient.embedded(InMemory("server")) as engine:
        server = HelixServer(engine)
        await server.up()
        try:
            yield server
        finally:
            await server.down()
