"""The record of links of a home directory: kept in ``ledger/``, or in Postgres where several machines write."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore, read_edge_events
from brain_async.cortex import CortexEdgeLedger, CortexEdgeReader, import_edges, is_imported
from brain_async.errors import LedgerLockedError
from brain_async.ports.kv import KeyValueStore

__all__ = ["is_ledger_ready", "local_ledger", "local_ledger_reader", "shared_ledger"]


def _folder(path: str | os.PathLike[str]) -> Path:
    return Path(path, "ledger").expanduser()


@asynccontextmanager
async def local_ledger(path: str | os.PathLike[str], store: PostgresStore) -> AsyncIterator[CortexEdgeLedger]:
    """The ledger of the home ``path``, to be written. Raises LedgerLockedError while another process writes it."""
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_lmdb(_folder(path)))
        except LedgerLockedError as error:
            raise LedgerLockedError(
                f"the knowledge base in {os.fspath(path)} is written by process {error.owner or 'unknown'}: close it there,"
                " open it with read_only_graph=True, or run a Helix server and have every process give its helix_url",
                owner=error.owner,
            ) from error
        yield await _with_earlier_links(opened, store)


@asynccontextmanager
async def local_ledger_reader(path: str | os.PathLike[str]) -> AsyncIterator[CortexEdgeReader]:
    """The ledger of the home ``path``, to be read beside the process that writes it."""
    async with open_lmdb(_folder(path), read_only=True) as opened:
        yield CortexEdgeReader(opened)


async def shared_ledger(store: PostgresStore) -> CortexEdgeLedger:
    """The ledger in the store's own database, for any number of processes."""
    return await _with_earlier_links(PostgresKeyValueStore(store), store)


async def is_ledger_ready(path: str | os.PathLike[str]) -> bool:
    """Whether the home's ledger is there, with the links that were recorded before it."""
    if not await anyio.Path(_folder(path), "data.mdb").exists():
        return False
    async with open_lmdb(_folder(path), read_only=True) as opened:
        return await is_imported(opened)


async def _with_earlier_links(opened: KeyValueStore, store: PostgresStore) -> CortexEdgeLedger:
    ledger = CortexEdgeLedger(opened)
    await import_edges(opened, partial(read_edge_events, store), by=ledger.by)
    return ledger
