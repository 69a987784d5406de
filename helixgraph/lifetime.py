"""Opening a graph: over a server's address, or an embedded engine in memory or in a directory."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Literal, overload

import anyio
import anyio.to_thread
import httpx
from helixdb import AsyncClient, Disk, HelixError, InMemory

from brain_async.errors import BackendError, GraphMissingError, InvalidInputError, MissingExtensionError
from helixgraph.client import Connection
from helixgraph.errors import error_code, helix_errors
from helixgraph.graph import HelixGraph
from helixgraph.lock import DirectoryLock, home_of
from helixgraph.reader import HelixGraphReader

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
        tenants, indexed_properties: see HelixGraphReader.
        bootstrap: make the indexes that are missing; False leaves that, or ``rebuild_indexes``, to the caller.
        transport: replaces the network, for tests.

    Raises BackendError when the server cannot be reached, and what ``HelixGraph.bootstrap`` raises.
    """
    with helix_errors():
        client = AsyncClient(url, api_key=api_key, timeout=timeout, limits=limits, transport=transport)
    async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
        yield graph


@overload
def open_helix_embedded(
    path: str | os.PathLike[str] | None = None,
    *,
    dimension: int,
    timeout: float | None = 30.0,
    tenants: bool = False,
    indexed_properties: Sequence[str] = (),
    bootstrap: bool = True,
    read_only: Literal[False] = False,
) -> AbstractAsyncContextManager[HelixGraph]: ...


@overload
def open_helix_embedded(
    path: str | os.PathLike[str],
    *,
    dimension: int,
    timeout: float | None = 30.0,
    tenants: bool = False,
    indexed_properties: Sequence[str] = (),
    read_only: bool,
) -> AbstractAsyncContextManager[HelixGraphReader]: ...


def open_helix_embedded(
    path: str | os.PathLike[str] | None = None,
    *,
    dimension: int,
    timeout: float | None = 30.0,
    tenants: bool = False,
    indexed_properties: Sequence[str] = (),
    bootstrap: bool = True,
    read_only: bool = False,
) -> AbstractAsyncContextManager[HelixGraph] | AbstractAsyncContextManager[HelixGraphReader]:
    """A bootstrapped graph in this process, closed with the block.

    A directory is open for writing in one place at a time: GraphLockedError names the process that has it. Any number of
    ``read_only`` openers may be there beside it, in as many processes; they take no lock, make no indexes and do not
    disturb the writer. What they see is at most ten seconds old, and when they open everything that was written before.

    Args:
        path: the data directory, created when it is missing; None keeps everything in memory, for this block only.
        dimension: length of every embedding.
        timeout: seconds a request, and opening the directory, may take; None for no limit.
        tenants, indexed_properties: see HelixGraphReader.
        bootstrap: make the indexes that are missing; False leaves that, or ``rebuild_indexes``, to the caller.
        read_only: give a HelixGraphReader of a graph that somebody writes or has written. Its ``ready`` is False when the
            search indexes are not there (yet), until ``check_indexes`` finds them.

    Raises MissingExtensionError without the package helix-db-embedded, what ``HelixGraph.bootstrap`` raises, and with
    ``read_only`` GraphMissingError when there is no graph in the directory, and what ``check_indexes`` raises.
    """
    if read_only:
        return _reader(path, dimension, tenants, indexed_properties, timeout)
    return _writer(path, dimension, tenants, indexed_properties, timeout, bootstrap)


@asynccontextmanager
async def _writer(
    path: str | os.PathLike[str] | None,
    dimension: int,
    tenants: bool,
    indexed_properties: Sequence[str],
    timeout: float | None,
    bootstrap: bool,
) -> AsyncIterator[HelixGraph]:
    await _load_engine()
    if path is None:
        client = await _opened(AsyncClient.embedded, InMemory(str(uuid.uuid4())), timeout)
        async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
            yield graph
        return
    lock = await anyio.to_thread.run_sync(DirectoryLock.take, path)
    try:
        client = await _opened(AsyncClient.embedded, Disk(root=str(lock.home), database=_DATABASE), timeout)
        async with _graph(client, dimension, tenants, indexed_properties, timeout, bootstrap) as graph:
            yield graph
    finally:
        lock.release()


@asynccontextmanager
async def _reader(
    path: str | os.PathLike[str] | None,
    dimension: int,
    tenants: bool,
    indexed_properties: Sequence[str],
    timeout: float | None,
) -> AsyncIterator[HelixGraphReader]:
    if path is None:
        raise InvalidInputError("a graph in memory belongs to its writer: give the path of a directory", field="path")
    await _load_engine()
    home = await anyio.to_thread.run_sync(home_of, path)
    if not await anyio.to_thread.run_sync(home.is_dir):  # the engine hangs on a file
        raise GraphMissingError(str(home))
    client = await _opened(AsyncClient.embedded_reader, Disk(root=str(home), database=_DATABASE), timeout)
    async with _closing(client, timeout):
        graph = HelixGraphReader(
            client, dimension=dimension, tenants=tenants, indexed_properties=indexed_properties, timeout=timeout
        )
        await graph.check_indexes()
        yield graph


async def _load_engine() -> None:
    # Importing the native library takes a while, and the SDK would do it in the event loop's thread.
    try:
        await anyio.to_thread.run_sync(import_module, "helixdb_uniffi")
    except ImportError as error:
        raise MissingExtensionError(
            "embedded Helix needs the package helix-db-embedded: pip install 'brain-async[local]'"
        ) from error


async def _opened(
    opener: Callable[[InMemory | Disk], Awaitable[AsyncClient]], source: InMemory | Disk, timeout: float | None
) -> AsyncClient:
    try:
        with helix_errors():
            async with asyncio.timeout(timeout):
                return await opener(source)
    except BackendError as error:
        where = source.root if isinstance(source, Disk) else "memory"
        if isinstance(error.__cause__, HelixError) and error_code(error.__cause__) == "database_missing":
            raise GraphMissingError(where) from error
        raise BackendError(f"the embedded graph in {where} cannot be opened: {error}") from error


@asynccontextmanager
async def _graph(
    client: AsyncClient,
    dimension: int,
    tenants: bool,
    indexed_properties: Sequence[str],
    timeout: float | None,
    bootstrap: bool,
) -> AsyncIterator[HelixGraph]:
    async with _closing(client, timeout):
        graph = HelixGraph(
            client, dimension=dimension, tenants=tenants, indexed_properties=indexed_properties, timeout=timeout
        )
        if bootstrap:
            await graph.bootstrap()
        yield graph


@asynccontextmanager
async def _closing(client: AsyncClient, timeout: float | None) -> AsyncIterator[None]:
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await Connection(client, timeout=timeout).aclose()
