"""open_local: a ready engine over an embedded Postgres, the local embedder and a graph filled from both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryGraph
from brain_async.adapters.postgres import LexicalChoice, PostgresEdgeLedger, PostgresStore, open_postgres
from brain_async.config import EngineConfig
from brain_async.engine import Engine
from brain_async.local.server import local_postgres
from brain_async.model.kind import KindSpec
from brain_async.model.requests import ExpandRecipe
from brain_async.ports.host import Observer, QueryEmbedder, Reranker

__all__ = ["LocalEngine", "open_local"]


class LocalEngine(Engine):
    """An engine opened by ``open_local``; ``store`` is the PostgresStore under it, for bulk loads and inspection."""

    def __init__(
        self,
        store: PostgresStore,
        *,
        graph: MemoryGraph,
        ledger: PostgresEdgeLedger,
        embedder: QueryEmbedder,
        reranker: Reranker | None,
        observer: Observer | None,
        recipes: Sequence[ExpandRecipe],
        config: EngineConfig,
    ) -> None:
        super().__init__(
            store,
            graph=graph,
            ledger=ledger,
            embedder=embedder,
            reranker=reranker,
            observer=observer,
            recipes=recipes,
            config=config,
        )
        self.store = store


@asynccontextmanager
async def open_local(
    path: str | os.PathLike[str],
    *,
    kinds: Sequence[KindSpec] = (),
    recipes: Sequence[ExpandRecipe] = (),
    embedder: QueryEmbedder | None = None,
    reranker: Reranker | None = None,
    observer: Observer | None = None,
    config: EngineConfig = EngineConfig(),
    lexical: LexicalChoice = "auto",
    pool_size: int = 8,
) -> AsyncIterator[LocalEngine]:
    """Open (or create, or join) the knowledge base under ``path`` and close it again.

    Given ``kinds`` are applied; without any, those the store keeps are loaded. ``embedder`` replaces the local one; its
    dimension must be that of the data already there. The graph is filled from the store and the recorded links.
    It is private to the process and complete once opened, so any process may settle what the shared outbox holds; what other
    processes write after that shows at the next opening, or after ``engine.reconcile(full=True)``.
    Raises MissingExtensionError when the ``local`` extra is not installed, LocalServerError, DimensionMismatchError.
    """
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(local_postgres(path))
        if embedder is None:
            embedder = CachedEmbedder(await stack.enter_async_context(open_local_embedder()))
        store = await stack.enter_async_context(
            open_postgres(server.dsn, dimension=embedder.dimension, lexical=lexical, pool_size=pool_size)
        )
        graph, ledger = MemoryGraph(), PostgresEdgeLedger(store)
        # By an engine of its own: the graph holds all namespaces, also where ``config`` requires one of every call.
        await Engine(store, graph=graph, ledger=ledger).project()
        engine = LocalEngine(
            store,
            graph=graph,
            ledger=ledger,
            embedder=embedder,
            reranker=reranker,
            observer=observer,
            recipes=recipes,
            config=config,
        )
        if kinds:
            await engine.apply_kinds(kinds)
        else:
            await engine.load_kinds_from_store()
        yield engine
