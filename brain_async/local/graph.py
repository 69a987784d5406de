"""The graph of a home directory: HelixDB in this process, kept in ``helix/`` and filled from the store when it is new."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from brain_async.adapters.postgres import PostgresEdgeLedger, PostgresStore
from brain_async.engine import Engine
from brain_async.model.drift import ReconcileReport
from brain_async.model.scope import Scope
from helixgraph import HelixGraph, HelixGraphReader, open_helix, open_helix_embedded

__all__ = ["local_graph"]

logger = logging.getLogger("brain_async")

_FILLED = "filled"
"""Name of the file in the graph's directory that says it once held all there was; goes with the directory."""


@asynccontextmanager
async def local_graph(
    path: str | os.PathLike[str],
    store: PostgresStore,
    ledger: PostgresEdgeLedger,
    *,
    dimension: int,
    read_only: bool = False,
    url: str | None = None,
    api_key: str | None = None,
) -> AsyncIterator[HelixGraphReader]:
    """The graph of the home ``path``, in step with ``store`` and ``ledger`` unless it is ``read_only``.

    What the outbox has for it is delivered first. A graph that was never filled, is. See ``open_local`` for the arguments
    and what is raised.
    """
    home = Path(path, "helix").expanduser()  # noqa: ASYNC240  # looks up the user, no file
    if url is not None:
        async with open_helix(url, dimension=dimension, api_key=api_key) as graph:
            await _bring_in_step(graph, store, ledger, full=await _holds_nothing(graph))
            yield graph
        return
    filled = anyio.Path(home / _FILLED)
    if read_only and await filled.exists():
        async with open_helix_embedded(home, dimension=dimension, read_only=True) as reader:
            yield reader
        return
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(open_helix_embedded(home, dimension=dimension))
        complete = await filled.exists()
        report = await _bring_in_step(graph, store, ledger, full=not complete)
        if report.ok and not complete:
            await filled.touch()
        if not read_only:
            yield graph
            return
    async with open_helix_embedded(home, dimension=dimension, read_only=True) as reader:
        yield reader


async def _holds_nothing(graph: HelixGraph) -> bool:
    return not await graph.scan_nodes(Scope(), after=None, limit=1)


async def _bring_in_step(
    graph: HelixGraph, store: PostgresStore, ledger: PostgresEdgeLedger, *, full: bool
) -> ReconcileReport:
    # By an engine of its own: the graph holds all namespaces, also where the caller's config requires one of every call.
    report = await Engine(store, graph=graph, ledger=ledger).reconcile(full=full)
    if not report.ok:
        logger.warning("the graph could not be told of everything; the outbox keeps it: %s", report.failures[0].message)
    return report
