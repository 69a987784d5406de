"""LmdbKeyValueStore, and how one is opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from brain_async.adapters.lmdb.files import Files
from brain_async.adapters.lmdb.snapshots import Snapshot, Snapshots
from brain_async.adapters.lmdb.writer import Writer
from brain_async.errors import ClosedError, EventLoopMismatchError, WritesUnsupportedError
from brain_async.ports.kv import Work

__all__ = ["LmdbKeyValueStore", "open_lmdb"]

T = TypeVar("T")

_MAP_BYTES = 1 << 40


class LmdbKeyValueStore:
    """Implements ``ports.kv.KeyValueStore`` over files that ``open_lmdb`` has opened, on the event loop it is made in.

    Reads are made in the loop's thread: a get is a look-up in mapped memory. A snapshot that is held open keeps the pages
    it shows from reuse, so the file grows while others write.
    """

    def __init__(self, files: Files, *, read_only: bool) -> None:
        self._files = files
        self._loop = asyncio.get_running_loop()
        self._snapshots = Snapshots(files)
        self._writer = None if read_only else Writer(files, self._snapshots)
        self._closing: asyncio.Task[None] | None = None

    def _check_usable(self) -> None:
        if self._closing is not None:
            raise ClosedError("the store is closed: open another one")
        if asyncio.get_running_loop() is not self._loop:
            raise EventLoopMismatchError("the store was opened on another event loop: open one per loop")

    def snapshot(self) -> Snapshot:
        """As in the port."""
        self._check_usable()
        return Snapshot(self._snapshots)

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        """As in the port; ``work`` runs in the writer's thread. Raises DiskFullError, after which reads and smaller or
        later writes go on, and WritesUnsupportedError where the store was opened to read only.
        """
        self._check_usable()
        if self._writer is None:
            raise WritesUnsupportedError("the store was opened with read_only=True")
        return await self._writer.groups.submit(work)

    async def aclose(self) -> None:
        """Refuse further calls (ClosedError), wait for what is being written, and close the files. Idempotent.

        Goes on to its end when the caller is cancelled, who hears of it then: the directory is free again.
        """
        if self._closing is None:
            self._closing = self._loop.create_task(self._close(), name="brain-lmdb-close")
        with anyio.CancelScope(shield=True):
            try:
                await asyncio.shield(self._closing)
            except asyncio.CancelledError:  # by the task itself, which no scope keeps off
                await asyncio.wait([self._closing])
                raise

    async def _close(self) -> None:
        if self._writer is not None:
            await self._writer.groups.drain()
            await anyio.to_thread.run_sync(self._writer.stop)
        self._files.close()


async def _opened(opening: Callable[[], Files]) -> Files:
    """The files, opened in a thread; closed again when the caller has been cancelled meanwhile."""
    future = asyncio.get_running_loop().run_in_executor(None, opening)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.wait([future])
        if future.exception() is None:
            future.result().close()
        raise


@asynccontextmanager
async def open_lmdb(
    path: str | os.PathLike[str], *, read_only: bool = False, map_size: int = _MAP_BYTES, sync: bool = True
) -> AsyncIterator[LmdbKeyValueStore]:
    """Open the store in a directory, which is made if it is missing, and close it on leaving.

    Args:
        path: the directory: ``data.mdb`` holds everything, ``lock.mdb`` and ``writer.lock`` coordinate processes.
        read_only: read beside a writer in another process, or without one.
        map_size: bytes of address space to reserve, neither memory nor disk; less where the process may not have as much.
            The file grows as it is written. A map that is too small is enlarged in a moment without open snapshots.
        sync: False loses the last changes when the machine loses power, and may damage the file then; processes may be
            killed all the same.

    Raises:
        LedgerLockedError: another process writes; names its id.
        LedgerCorruptError: the files are damaged, or not of this library. Opened for writing, a file of up to 256 MB is
            walked page by page; what is larger, or open elsewhere, is looked at where damage would end the process.
        DiskFullError: there is no room for the empty file.
        LedgerError: the files cannot be used, are open in this process already, or with ``read_only`` are not there.
    """
    files = await _opened(partial(Files, path, read_only=read_only, map_size=map_size, sync=sync))
    store = LmdbKeyValueStore(files, read_only=read_only)
    try:
        yield store
    finally:
        await store.aclose()
