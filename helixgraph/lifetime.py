"""Opening a graph: over a server's address, or an embedded engine in memory or in a directory."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

import anyio
import anyio.to_thread
import httpx
from helixdb import AsyncClient, Disk, InMemory

from brain_async.errors import BackendError, MissingExtensionError
from helixgraph.client import Connection
from helixgraph.errors import helix_errors
from helixgraph.graph import HelixGraph
from helixgraph.lock import DirectoryLock

__all__ = ["open_helix", "open_helix_embedded"]

_DATABASE = "graph"


@asynccontextmanager
async def open_helix(
    url: str = "http://localhost:6969",
    *,
    dimension: int,
    api_key: str | None = None,
    timeout: float | None = 30.0,
    limits: httpx.Limits | None = None,
    tenants: bool = False,
    indexed_properties: Sequence[str] = (),
    bootstrap: bool = True,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[HelixGraph]:
    """A bootstrapped graph on the Helix server at ``url``, closed with the block.

    Args:
        url: scheme, host and port; a path is ignored.
        dimension: length of every embedding.
        api_key: sent as a bearer token.
        timeout: seconds a request may take; None for no limit.
        limits: of the connection pool.
        tenants, indexed_properties: see HelixGraph.
        bootstrap: make the indexes that are missing; False leaves that, or ``rebuild_indexes``, to the caller.
        transport: replaces the network, for tests.

    Raises BackendError when the server cannot be reached, and what ``HelixGraph.bootstrap`` raises.
    """
    with helix_errors():
        client = AsyncClient(url, api_key=api_key, timeout=timeout, limits=limits, transport=transport)
    async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
        yield graph


@asynccontextmanager
async def open_helix_embedded(
    path: str | os.PathLike[str] | None = None,
    *,
    dimension: int,
    timeout: float | None = 30.0,
    tenants: bool = False,
    indexed_properties: Sequence[str] = (),
    bootstrap: bool = True,
) -> AsyncIterator[HelixGraph]:
    """A bootstrapped graph in this process, closed with the block.

    Args:
        path: the data directory, created when it is missing; None keeps everything in memory, for this block only.
        dimension: length of every embedding.
        timeout: seconds a request, and opening the directory, may take; None for no limit.
        tenants, indexed_properties: see HelixGraph.
        bootstrap: make the indexes that are missing; False leaves that, or ``rebuild_indexes``, to the caller.

    A directory is open in one place at a time: GraphLockedError names the process that has it. Raises MissingExtensionError
    without the package helix-db-embedded, and what ``HelixGraph.bootstrap`` raises.
    """
    await _load_engine()
    if path is None:
        client = await _opened(InMemory(str(uuid.uuid4())), timeout)
        async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
            yield graph
        return
    lock = await anyio.to_thread.run_sync(DirectoryLock.take, path)
    try:
        client = await _opened(Disk(root=str(lock.home), database=_DATABASE), timeout)
        async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
            yield graph
    finally:
        lock.release()


async def _load_engine() -> None:
    # Importing the native library takes a while, and the SDK would do it in the event loop's thread.
    try:
        await anyio.to_thread.run_sync(import_module, "helixdb_uniffi")
    except ImportError as error:
        raise MissingExtensionError(
            "embedded Helix needs the package helix-db-embedded: pip install 'brain-async[local]'"
        ) from error


async def _opened(source: InMemory | Disk, timeout: float | None) -> AsyncClient:
    try:
        with helix_errors():
            async with asyncio.timeout(timeout):
                return await AsyncClient.embedded(source)
    except BackendError as error:
        where = f" in {source.root}" if isinstance(source, Disk) else ""
        raise BackendError(f"the embedded graph{where} cannot be opened: {error}") from error


@asynccontextmanager
async def _graph(
    client: AsyncClient,
    dimension: int,
    tenants: bool,
    indexed_properties: Sequence[str],
    timeout: float | None,
    bootstrap: bool,
) -> AsyncIterator[HelixGraph]:
    try:
        graph = HelixGraph(
            client, dimension=dimension, tenants=tenants, indexed_properties=indexed_properties, timeout=timeout
        )
        if bootstrap:
            await graph.bootstrap()
        yield graph
    finally:
        with anyio.CancelScope(shield=True):
            await Connection(client, timeout=timeout).aclose()
