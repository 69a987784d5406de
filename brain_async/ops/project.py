"""project: fill a graph from what it is a projection of, the store's first-class objects and the ledger's edges."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from brain_async.errors import GraphWriterRequiredError
from brain_async.model.relation import EdgeKey
from brain_async.model.scope import Scope
from brain_async.ops.deps import Deps
from brain_async.stages.deadline import within

__all__ = ["project"]

BATCH = 500


async def project(deps: Deps, scope: Scope, progress: Callable[[int, int], object] | None) -> tuple[int, int]:
    """See ``Engine.project``."""
    async with deps.span("project") as span:
        deps.check_scope(scope)
        writer = deps.can.graph_writer
        if writer is None:
            raise GraphWriterRequiredError("a graph that can write is required to be filled")
        timeout = deps.config.graph_timeout
        nodes = edges = 0
        last_id: UUID | None = None
        while objects := await deps.store.scan(scope, first_class=True, after=last_id, limit=BATCH):
            await within(timeout, "the graph", writer.ensure_objects(scope, objects))
            nodes, last_id = nodes + len(objects), objects[-1].key
            if progress is not None:
                progress(nodes, edges)
        last_key: EdgeKey | None = None
        while deps.ledger is not None and (found := await deps.ledger.scan_edges(scope, after=last_key, limit=BATCH)):
            await within(timeout, "the graph", writer.add_edges(scope, found))
            edges, last_key = edges + len(found), found[-1].key
            if progress is not None:
                progress(nodes, edges)
        span.returned(nodes + edges)
        return nodes, edges
