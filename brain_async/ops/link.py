"""link, link_many, unlink: typed edges between first-class objects; the ledger first, then the graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.catalog.values import check_edge_meta, check_relation_type
from brain_async.errors import (
    BrainError,
    InvalidInputError,
    LinkArgumentsError,
    LinkNotFirstClassError,
    NamespaceMismatchError,
    ObjectNotFoundError,
)
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta, canonical_relation_type
from brain_async.model.results import LinkFailure, LinkManyResult
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked, checked_list
from brain_async.ops.delivery import deliver_edges, push_edges, remove_edges
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Isolation
from brain_async.ports.host import Progress
from brain_async.stages.deadline import within

__all__ = ["link", "link_many", "unlink"]

logger = logging.getLogger("brain_async")

LINK_BATCH = 500


async def link(
    deps: Deps, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str, meta: EdgeMeta
) -> Edge:
    """See ``Engine.link``."""
    async with deps.span("link") as span:
        deps.check_scope(scope)
        _ = deps.graph_writer
        key = _key(from_id, to_id, relation_type)
        meta = check_edge_meta(checked(meta, EdgeMeta, "meta"))
        loaded = {obj.key: obj for obj in await deps.store.get_many(scope, [key.from_id, key.to_id])}
        edge = _edge(deps, key, meta, loaded)
        if deps.ledger is not None:
            edge = (
                await within(deps.config.graph_timeout, "the edge ledger", deps.ledger.record_edges(scope, [edge]))
            )[0]
        try:
            await push_edges(deps, scope, [edge])
        except BrainError as error:
            if not deps.edges_may_wait:
                raise
            _later("link", error)
            span.degrade("graph")
        span.returned(1)
        return edge


class _EdgeDraft(msgspec.Struct):
    """One edge on its way.

    ``error`` is what stopped it, ``recorded`` whether the ledger holds it, ``waiting`` whether the graph is left to the outbox.
    """

    index: int
    edge: Edge
    error: BrainError | None = None
    recorded: bool = False
    waiting: bool = False


async def link_many(deps: Deps, scope: Scope, edges: Sequence[Edge], progress: Progress | None) -> LinkManyResult:
    """See ``Engine.link_many``."""
    async with deps.span("link_many") as span:
        deps.check_scope(scope)
        _ = deps.graph_writer
        drafts = [_draft(scope, index, edge) for index, edge in enumerate(checked_list(edges, "edges"))]

        async def record(batch: Sequence[_EdgeDraft]) -> None:
            if deps.ledger is not None:
                call = deps.ledger.record_edges(scope, [draft.edge for draft in batch])
                recorded = await within(deps.config.graph_timeout, "the edge ledger", call)
                for draft, edge in zip(batch, recorded, strict=True):
                    draft.edge, draft.recorded = edge, True

        async def add(batch: Sequence[_EdgeDraft]) -> None:
            await push_edges(deps, scope, [draft.edge for draft in batch])

        recording, adding = Isolation(), Isolation()
        for start in range(0, len(drafts), LINK_BATCH):
            batch = drafts[start : start + LINK_BATCH]
            await _load_ends(deps, scope, [draft for draft in batch if draft.error is None])
            await recording.run([draft for draft in batch if draft.error is None], record)
            recorded = [draft for draft in batch if draft.error is None]
            await adding.run(recorded, add)
            if deps.edges_may_wait:
                _leave_to_outbox(recorded)
            if progress is not None:
                progress(start + len(batch), len(drafts))
        result = LinkManyResult(
            edges=tuple(draft.edge for draft in drafts if draft.error is None),
            failures=tuple(_failure(draft, draft.error) for draft in drafts if draft.error is not None),
            waiting=tuple(draft.edge.key for draft in drafts if draft.waiting),
        )
        if result.waiting:
            span.degrade("graph")
        span.returned(len(result.edges))
        return result


async def unlink(deps: Deps, scope: Scope, from_id: UUID | None, to_id: UUID | None, relation_type: str) -> None:
    """See ``Engine.unlink``."""
    async with deps.span("unlink") as span:
        deps.check_scope(scope)
        _ = deps.graph_writer
        key = _key(from_id, to_id, relation_type)
        if deps.ledger is not None:
            removal = deps.ledger.remove_edges(scope, [key], at=deps.now())
            await within(deps.config.graph_timeout, "the edge ledger", removal)
        try:
            await _push_removal(deps, scope, key)
        except BrainError as error:
            if not deps.edges_may_wait:
                raise
            _later("unlink", error)
            span.degrade("graph")


async def _push_removal(deps: Deps, scope: Scope, key: EdgeKey) -> None:
    """Remove an edge from the graph, also one that the ledger never held."""
    outbox = deps.can.edge_outbox
    if outbox is None:
        await remove_edges(deps, scope, [key])
        return
    entries = await outbox.pending_for(scope, [key])
    if not entries:
        await outbox.reopen(scope, [key])
        entries = await outbox.pending_for(scope, [key])
    await deliver_edges(deps, scope, outbox, entries)


def _leave_to_outbox(drafts: Sequence[_EdgeDraft]) -> None:
    for draft in drafts:
        if draft.error is not None:
            _later("link_many", draft.error)
            draft.error, draft.waiting = None, True


def _later(operation: str, error: BrainError) -> None:
    logger.warning("%s: the graph is told later, by reconcile: %s", operation, error)


def _key(from_id: UUID | None, to_id: UUID | None, relation_type: str) -> EdgeKey:
    """Raises LinkArgumentsError naming the first argument that is missing, in the order from, to, relation type."""
    if from_id is None or checked(from_id, UUID, "from_id") == NIL_UUID:
        raise LinkArgumentsError("from_id")
    if to_id is None or checked(to_id, UUID, "to_id") == NIL_UUID:
        raise LinkArgumentsError("to_id")
    if not canonical_relation_type(checked(relation_type, str, "relation_type")):
        raise LinkArgumentsError("relation_type")
    check_relation_type(relation_type)
    return EdgeKey(from_id, to_id, relation_type)


def _edge(deps: Deps, key: EdgeKey, meta: EdgeMeta, loaded: Mapping[UUID, Object]) -> Edge:
    """The edge between two of the ``loaded`` objects, which must be first-class and of one namespace."""
    source = _first_class(loaded.get(key.from_id), "from", key.from_id)
    target = _first_class(loaded.get(key.to_id), "to", key.to_id)
    if source.namespace_id != target.namespace_id:
        raise NamespaceMismatchError("both ends of a link must be in one namespace", field="to_id")
    return Edge(
        from_id=key.from_id,
        to_id=key.to_id,
        relation_type=key.relation_type,
        namespace_id=source.namespace_id,
        meta=msgspec.structs.replace(meta, updated_at=meta.updated_at or deps.now()),
    )


def _draft(scope: Scope, index: int, edge: Edge) -> _EdgeDraft:
    """The edge with its arguments checked, or the error that says what is wrong with them."""
    try:
        if not isinstance(edge, Edge):
            raise InvalidInputError(f"link_many takes Edges, not {type(edge).__name__}", field="edges")
        key = _key(edge.from_id, edge.to_id, edge.relation_type)
        if edge.namespace_id is not None and not scope.sees(checked(edge.namespace_id, UUID, "namespace_id")):
            raise NamespaceMismatchError("an edge is not of the scope's namespace", field="namespace_id")
        meta = check_edge_meta(checked(edge.meta, EdgeMeta, "meta"))
        return _EdgeDraft(index, msgspec.structs.replace(edge, relation_type=key.relation_type, meta=meta))
    except BrainError as error:
        return _EdgeDraft(index, edge, error)


async def _load_ends(deps: Deps, scope: Scope, drafts: Sequence[_EdgeDraft]) -> None:
    """Check the ends of each edge against the store, in one read; what is wrong, or a failing store, is left on the draft."""
    ends = dict.fromkeys(end for draft in drafts for end in (draft.edge.from_id, draft.edge.to_id))
    try:
        loaded = {obj.key: obj for obj in await deps.store.get_many(scope, list(ends))} if ends else {}
    except BrainError as error:
        for draft in drafts:
            draft.error = error
        return
    for draft in drafts:
        try:
            edge = _edge(deps, draft.edge.key, draft.edge.meta, loaded)
            if draft.edge.namespace_id not in (None, edge.namespace_id):
                raise NamespaceMismatchError("an edge is not of the namespace of its ends", field="namespace_id")
            draft.edge = edge
        except BrainError as error:
            draft.error = error


def _failure(draft: _EdgeDraft, error: BrainError) -> LinkFailure:
    return LinkFailure(
        index=draft.index,
        code=error.code,
        message=str(error),
        field=error.field if isinstance(error, InvalidInputError) else "",
        recorded=draft.recorded,
    )


def _first_class(obj: Object | None, end: str, object_id: UUID) -> Object:
    if obj is None:
        raise ObjectNotFoundError(object_id, what=f"{end} object")
    if obj.is_part:
        raise LinkNotFirstClassError(
            f"the {end} end of a link must be a first-class object, and {object_id} is a part: link its parent",
            field=f"{end}_id",
        )
    return obj
