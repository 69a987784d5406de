"""open_local: a ready engine over an embedded Postgres, embedded HelixDB and the local embedder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.postgres import LexicalChoice, PostgresStore, open_postgres
from brain_async.config import EngineConfig
from brain_async.cortex import CortexEdgeLedger
from brain_async.engine import Engine
from brain_async.errors import InvalidInputError
from brain_async.local.graph import is_graph_ready, local_graph, local_graph_reader, shared_graph
from brain_async.local.ledger import is_ledger_ready, local_ledger, local_ledger_reader, shared_ledger
from brain_async.local.server import local_postgres
from brain_async.model.kind import KindSpec
from brain_async.model.requests import ExpandRecipe
from brain_async.ports.host import LanguageDetector, Observer, QueryEmbedder, Reranker
from helixgraph import HelixGraphReader

__all__ = ["LocalEngine", "open_local"]


class LocalEngine(Engine):
    """An engine opened by ``open_local``.

    Attributes:
        store: the PostgresStore under it, for bulk loads and inspection.
        graph: the HelixGraph; only its reader when the engine was opened with ``read_only_graph``.
        links: the record of links that the engine writes; a CortexEdgeReader with ``read_only_graph``.
        ledger: the same edges, to be walked (``find``), proved, verified and exported. What is added here instead of by
            ``link`` the graph is told of by ``reconcile(full=True)`` only.
    """

    def __init__(
        self,
        store: PostgresStore,
        *,
        graph: HelixGraphReader,
        ledger: CortexEdgeLedger,
        embedder: QueryEmbedder,
        reranker: Reranker | None,
        language_detector: LanguageDetector | None,
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
            language_detector=language_detector,
            observer=observer,
            recipes=recipes,
            config=config,
        )
        self.store = store
        self.graph = graph
        self.links = ledger
        self.ledger = ledger.ledger


@asynccontextmanager
async def open_local(
    path: str | os.PathLike[str],
    *,
    kinds: Sequence[KindSpec] = (),
    recipes: Sequence[ExpandRecipe] = (),
    embedder: QueryEmbedder | None = None,
    reranker: Reranker | None = None,
    language_detector: LanguageDetector | None = None,
    observer: Observer | None = None,
    config: EngineConfig = EngineConfig(),
    lexical: LexicalChoice = "auto",
    pool_size: int = 8,
    read_only_graph: bool = False,
    helix_url: str | None = None,
    helix_api_key: str | None = None,
) -> AsyncIterator[LocalEngine]:
    """Open (or create, or join) the knowledge base under ``path`` and close it again.

    Processes may share a path: the first starts its Postgres, the last stops it. The graph and the edge ledger are one process'
    own, since HelixDB and LMDB let one writer into a directory; the others open with ``read_only_graph``, or all of them use
    one Helix server.

    Args:
        path: home directory, created when it is missing.
        kinds: applied when given; without any, those the store keeps are loaded.
        embedder: replaces the local one; its dimension must be that of the data already there.
        lexical, pool_size: see ``open_postgres``.
        read_only_graph: look at the graph as it is on disk, some seconds behind the process that writes it, and at the ledger
            as it is now. Links are refused with GraphWriterRequiredError; objects are put and deleted, and the graph is told
            of that, and the ledger of the edges a deletion takes along, when the owner next opens it or reconciles.
        helix_url: keep the graph on this Helix server, and the ledger in Postgres, for any number of processes that write.
        helix_api_key: for that server.

    A graph that is new is filled from the objects and the recorded links; otherwise what the outbox holds for it is
    delivered. Links that an earlier version recorded in Postgres are taken over once, removed ones and times included.
    Raises LedgerLockedError when another process writes here, GraphLockedError when one has only the graph open,
    MissingExtensionError when the ``local`` extra is not installed, LocalServerError, DimensionMismatchError,
    InvalidInputError.
    """
    if read_only_graph and helix_url is not None:
        raise InvalidInputError("a Helix server takes any number of writers: give helix_url alone", field="helix_url")
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(local_postgres(path))
        if embedder is None:
            embedder = CachedEmbedder(await stack.enter_async_context(open_local_embedder()))
        store = await stack.enter_async_context(
            open_postgres(server.dsn, dimension=embedder.dimension, lexical=lexical, pool_size=pool_size)
        )
        dimension = embedder.dimension
        ledger: CortexEdgeLedger
        graph: HelixGraphReader
        if helix_url is not None:
            ledger = await shared_ledger(store)
            graph = await stack.enter_async_context(
                shared_graph(helix_url, store, ledger, dimension=dimension, api_key=helix_api_key)
            )
        elif read_only_graph:
            if not (await is_ledger_ready(path) and await is_graph_ready(path)):
                async with local_ledger(path, store) as written, local_graph(path, store, written, dimension=dimension):
                    pass
            ledger = await stack.enter_async_context(local_ledger_reader(path))
            graph = await stack.enter_async_context(local_graph_reader(path, dimension=dimension))
        else:
            ledger = await stack.enter_async_context(local_ledger(path, store))
            graph = await stack.enter_async_context(local_graph(path, store, ledger, dimension=dimension))
        engine = LocalEngine(
            store,
            graph=graph,
            ledger=ledger,
            embedder=embedder,
            reranker=reranker,
            language_detector=language_detector,
            observer=observer,
            recipes=recipes,
            config=config,
        )
        if kinds:
            await engine.apply_kinds(kinds)
        else:
            await engine.load_kinds_from_store()
        yield engine
