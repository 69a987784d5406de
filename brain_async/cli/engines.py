"""Opening the engine that a server serves: a home's, or one over servers that run elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brain_async.cli.home import open_home
from brain_async.engine import Engine

if TYPE_CHECKING:
    from brain_async.ports.graph import GraphReader

__all__ = ["open_engine"]


@asynccontextmanager
async def open_engine(
    home: Path, *, dsn: str | None = None, helix: str | None = None, read_only: bool = False
) -> AsyncIterator[Engine]:
    """The engine over the knowledge base in ``home``; with ``dsn``, over that Postgres and the local embedder.

    ``helix`` is the address of a Helix server that holds the graph of the ``dsn``'s objects; without one the graph is in
    memory, filled from them and the recorded links. Those are kept in a ledger in the same database.
    Raises NotFoundError when there is nothing in ``home``, DimensionMismatchError when the Postgres was filled with
    another embedder, MissingExtensionError, and BackendError for a server that cannot be reached.
    """
    async with AsyncExitStack() as stack:
        if dsn is None:
            yield await stack.enter_async_context(open_home(home, read_only_graph=read_only))
            return
        # Imported here: showing the help needs no database driver.
        from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
        from brain_async.adapters.memory import MemoryGraph
        from brain_async.adapters.postgres import open_postgres
        from brain_async.local.ledger import shared_ledger

        embedder = CachedEmbedder(await stack.enter_async_context(open_local_embedder()))
        store = await stack.enter_async_context(open_postgres(dsn, dimension=embedder.dimension))
        ledger = await shared_ledger(store)
        graph: GraphReader
        if helix is not None:
            from helixgraph import open_helix

            graph = await stack.enter_async_context(open_helix(helix, dimension=embedder.dimension))
        else:
            graph = MemoryGraph()
            await Engine(store, graph=graph, ledger=ledger).project()
        engine = Engine(store, graph=graph, ledger=ledger, embedder=embedder)
        await engine.load_kinds_from_store()
        yield engine
