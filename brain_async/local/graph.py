"""The graph of a home: HelixDB in this process, kept in ``helix/``, or on a server; filled from the store when it is new."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from brain_async.adapters.postgres import PostgresStore
from brain_async.cortex import CortexEdgeLedger
from brain_async.engine import Engine
from brain_async.model.drift import ReconcileReport
from brain_async.model.scope import Scope
from helixgraph import HelixGraph, HelixGraphReader, open_helix, open_helix_embedded

__all__ = ["is_graph_ready", "local_graph", "local_graph_reader", "shared_graph"]

logger = logging.getLogger("brain_async")

_FILLED = "filled"
"""Name of the file in the graph's directory that says it once held all there was; goes with the directory."""


def _folder(path: str | os.PathLike[str]) -> Path:
    return Path(path, "helix").expanduser()


@asynccontextmanager
async def local_graph(
    path: str | os.PathLike[str], store: PostgresStore, ledger: CortexEdgeLedger, *, dimension: int
) -> AsyncIterator[HelixGraph]:
    """The graph of the home ``path``, in step with ``store`` and ``ledger``.

    What the outbox has for it is delivered first. A graph that was never filled, is. See ``open_local`` for what is raised.
    """
    filled = anyio.Path(_folder(path), _FILLED)
    async with open_helix_embedded(_folder(path), dimension=dimension) as graph:
        complete = await filled.exists()
        report = await _bring_in_step(graph, store, ledger, full=not complete)
        if report.ok and not complete:
            await filled.touch()
        yield graph


@asynccontextmanager
async def local_graph_reader(path: str | os.PathLike[str], *, dimension: int) -> AsyncIterator[HelixGraphReader]:
    """The graph of the home ``path`` as it is on disk."""
    async with open_helix_embedded(_folder(path), dimension=dimension, read_only=True) as reader:
        yield reader


@asynccontextmanager
async def shared_graph(
    url: str, store: PostgresStore, ledger: CortexEdgeLedger, *, dimension: int, api_key: str | None
) -> AsyncIterator[HelixGraph]:
    """The graph on a Helix server, in step as ``local_graph``; one that holds nothing is filled."""
    async with open_helix(url, dimension=dimension, api_key=api_key) as graph:
        await _bring_in_step(graph, store, ledger, full=await _holds_nothing(graph))
        yield graph


async def is_graph_ready(path: str | os.PathLike[str]) -> bool:
    """Whether the home's graph once held all there was."""
    return await anyio.Path(_folder(path), _FILLED).exists()


async def _holds_nothing(graph: HelixGraph) -> bool:
    return not await graph.scan_nodes(Scope(), after=None, limit=1)


async def _bring_in_step(
    graph: HelixGraph, store: PostgresStore, ledger: CortexEdgeLedger, *, full: bool
) -> ReconcileReport:
    # By an engine of its own: the graph holds all namespaces, also where the caller's config requires one of every call.
    report = await Engine(store, graph=graph, ledger=ledger).reconcile(full=full)
    if not report.ok:
        logger.warning("the graph could not be told of everything; the outbox keeps it: %s", report.failures[0].message)
    return report
