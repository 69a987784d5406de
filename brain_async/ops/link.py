"""link and unlink: typed edges between first-class objects; the ledger first, then the graph."""

from __future__ import annotations

from uuid import UUID

import msgspec

from brain_async.catalog.values import check_edge_meta, check_relation_type
from brain_async.errors import (
    GraphWriterRequiredError,
    LinkArgumentsError,
    LinkNotFirstClassError,
    NamespaceMismatchError,
    ObjectNotFoundError,
)
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta, canonical_relation_type
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked
from brain_async.ops.deps import Deps
from brain_async.ports.graph import GraphWriter
from brain_async.stages.deadline import within

__all__ = ["link", "unlink"]


async def link(
    deps: Deps, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str, meta: EdgeMeta
) -> Edge:
    """See ``Engine.link``."""
    async with deps.span("link") as span:
        deps.check_scope(scope)
        writer = _writer(deps)
        key = _key(from_id, to_id, relation_type)
        meta = check_edge_meta(checked(meta, EdgeMeta, "meta"))
        loaded = {obj.key: obj for obj in await deps.store.get_many(scope, [key.from_id, key.to_id])}
        source = _first_class(loaded.get(key.from_id), "from", key.from_id)
        target = _first_class(loaded.get(key.to_id), "to", key.to_id)
        if source.namespace_id != target.namespace_id:
            raise NamespaceMismatchError("both ends of a link must be in one namespace", field="to_id")
        edge = Edge(
            from_id=key.from_id,
            to_id=key.to_id,
            relation_type=key.relation_type,
            namespace_id=source.namespace_id,
            meta=msgspec.structs.replace(meta, updated_at=meta.updated_at or deps.now()),
        )
        if deps.ledger is not None:
            edge = (
                await within(deps.config.graph_timeout, "the edge ledger", deps.ledger.record_edges(scope, [edge]))
            )[0]
        await within(deps.config.graph_timeout, "the graph", writer.add_edges(scope, [edge]))
        span.returned(1)
        return edge


async def unlink(deps: Deps, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str) -> None:
    """See ``Engine.unlink``."""
    async with deps.span("unlink"):
        deps.check_scope(scope)
        writer = _writer(deps)
        key = _key(from_id, to_id, relation_type)
        if deps.ledger is not None:
            removal = deps.ledger.remove_edges(scope, [key], at=deps.now())
            await within(deps.config.graph_timeout, "the edge ledger", removal)
        await within(deps.config.graph_timeout, "the graph", writer.remove_edges(scope, [key]))


def _writer(deps: Deps) -> GraphWriter:
    if deps.can.graph_writer is None:
        raise GraphWriterRequiredError("a graph that can write is required for link and unlink")
    return deps.can.graph_writer


def _key(from_id: UUID | None, to_id: UUID | None, relation_type: str) -> EdgeKey:
    """Raises LinkArgumentsError naming the first argument that is missing, in the order from, to, relation type."""
    if from_id is None or from_id == NIL_UUID:
        raise LinkArgumentsError("from_id")
    if to_id is None or to_id == NIL_UUID:
        raise LinkArgumentsError("to_id")
    if not canonical_relation_type(checked(relation_type, str, "relation_type")):
        raise LinkArgumentsError("relation_type")
    checked(from_id, UUID, "from_id")
    checked(to_id, UUID, "to_id")
    check_relation_type(relation_type)
    return EdgeKey(from_id, to_id, relation_type)


def _first_class(obj: Object | None, end: str, object_id: UUID) -> Object:
    if obj is None:
        raise ObjectNotFoundError(object_id, what=f"{end} object")
    if obj.is_part:
        raise LinkNotFirstClassError(
            f"the {end} end of a link must be a first-class object, and {object_id} is a part: link its parent",
            field=f"{end}_id",
        )
    return obj
