"""Telling the graph: current rows and edges are written to it, and the outbox entries that asked for them are settled.

Every verb that writes and ``reconcile`` deliver in the same way. An entry is read before what it speaks of, and settled only
when nothing was written, or settled, meanwhile; where it was, another delivery may have overtaken this one and left the graph
with something older, so the entry is reopened and delivered again. Whatever fails leaves its entries for ``reconcile``.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from brain_async.errors import BrainError
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ops.deps import Deps
from brain_async.ports.outbox import EdgeOutbox, GraphOutbox, NodeOutbox, OutboxEntry
from brain_async.stages.deadline import within

__all__ = [
    "add_edges",
    "deliver_edges",
    "deliver_edges_around",
    "deliver_nodes",
    "edges_between_live",
    "ensure_nodes",
    "node_entries",
    "push_edges",
    "remove_edges",
    "remove_nodes",
]

logger = logging.getLogger("brain_async")

K = TypeVar("K")
V = TypeVar("V")

_ROUNDS = 3
"""How often one call delivers what goes on changing; then its entries are left to the next one."""

_PAGE = 500


# The graph's own writes, each under its deadline


async def ensure_nodes(deps: Deps, scope: Scope, objects: Sequence[Object]) -> None:
    """Write the nodes of first-class objects."""
    if objects:
        await within(deps.config.graph_timeout, "the graph", deps.graph_writer.ensure_objects(scope, objects))


async def remove_nodes(deps: Deps, scope: Scope, object_ids: Sequence[UUID]) -> None:
    """Remove nodes with their edges."""
    if object_ids:
        await within(deps.config.graph_timeout, "the graph", deps.graph_writer.remove_objects(scope, object_ids))


async def add_edges(deps: Deps, scope: Scope, edges: Sequence[Edge]) -> None:
    """Write edges."""
    if edges:
        await within(deps.config.graph_timeout, "the graph", deps.graph_writer.add_edges(scope, edges))


async def remove_edges(deps: Deps, scope: Scope, keys: Sequence[EdgeKey]) -> None:
    """Remove edges."""
    if keys:
        await within(deps.config.graph_timeout, "the graph", deps.graph_writer.remove_edges(scope, keys))


# Nodes


async def node_entries(deps: Deps, scope: Scope, object_ids: Sequence[UUID]) -> dict[UUID, OutboxEntry[UUID]] | None:
    """The entries of objects just written, by id; None where there is no outbox, or it cannot be read now."""
    outbox = deps.can.node_outbox
    if outbox is None:
        return None
    try:
        return {entry.key: entry for entry in await outbox.pending_for(scope, object_ids)}
    except BrainError as error:
        _left_open("objects", error)
        return None


async def deliver_nodes(
    deps: Deps,
    scope: Scope,
    outbox: NodeOutbox,
    entries: Sequence[OutboxEntry[UUID]],
    written: Mapping[UUID, Object] = {},
) -> None:
    """Make the nodes of ``entries`` what the store holds, and settle. A deleted object's edges are removed from the ledger.

    Raises what the graph, the ledger, or reading the store, raises.

    ``written`` are objects just written; where they are still the newest, they are not read again.
    """
    for _ in range(_ROUNDS):
        keys = {entry.key: entry for entry in entries}
        live = {key: written[key] for key, entry in keys.items() if _is_newest(written.get(key), entry)}
        unread = [key for key in keys if key not in live]
        if unread:
            live |= {obj.key: obj for obj in await outbox.current(scope, unread)}
        nodes = [obj for obj in live.values() if not obj.is_part]
        await ensure_nodes(deps, scope, nodes)
        gone = [key for key in keys if key not in live or live[key].is_part]
        await _unlink_deleted(deps, scope, gone)
        await _unlink_revived(deps, scope, [keys[obj.key] for obj in nodes])
        await remove_nodes(deps, scope, gone)
        around = [obj.key for obj in nodes if keys[obj.key].with_edges]
        edges = deps.can.edge_outbox
        if edges is not None:
            for object_id in around:
                await edges.reopen_around(scope, object_id)
        entries = await _settled(outbox, scope, entries, partial(_reopen_nodes, outbox, scope, frozenset(gone)))
        if edges is not None:
            for object_id in around:
                await deliver_edges_around(deps, scope, edges, object_id)
        if not entries:
            return
        written = {}


async def _unlink_deleted(deps: Deps, scope: Scope, object_ids: Sequence[UUID]) -> None:
    """Remove the recorded edges of those that are deleted, and no mere parts: whoever deleted one may have died before."""
    if deps.ledger is None or not object_ids:
        return
    live = {obj.key for obj in await deps.store.get_many(scope, object_ids)}
    for object_id in object_ids:
        if object_id not in live:
            removal = deps.ledger.remove_object_edges(scope, object_id, at=deps.now())
            await within(deps.config.graph_timeout, "the edge ledger", removal)


async def _unlink_revived(deps: Deps, scope: Scope, entries: Sequence[OutboxEntry[UUID]]) -> None:
    """Remove the links from before a deletion that was not settled when the object was put again."""
    for entry in entries:
        if deps.ledger is not None and entry.deleted_at is not None:
            removal = deps.ledger.remove_object_edges(scope, entry.key, at=deps.now(), until=entry.deleted_at)
            await within(deps.config.graph_timeout, "the edge ledger", removal)


async def _reopen_nodes(outbox: NodeOutbox, scope: Scope, removed: frozenset[UUID], keys: Sequence[UUID]) -> None:
    # A node that was removed too late, when its object had been put again, took its edges along.
    await outbox.reopen(scope, [key for key in keys if key in removed], with_edges=True)
    await outbox.reopen(scope, [key for key in keys if key not in removed])


def _is_newest(obj: Object | None, entry: OutboxEntry[UUID]) -> bool:
    return obj is not None and entry.stamp is not None and obj.updated_at == entry.stamp


# Edges


async def push_edges(deps: Deps, scope: Scope, edges: Sequence[Edge]) -> None:
    """Write edges just recorded. Raises what the graph, or reading the store, raises."""
    outbox = deps.can.edge_outbox
    if outbox is not None:
        try:
            entries = await outbox.pending_for(scope, list(dict.fromkeys(edge.key for edge in edges)))
        except BrainError as error:
            _left_open("edges", error)
        else:
            # One without an entry was delivered by somebody else already.
            await deliver_edges(deps, scope, outbox, entries, edges)
            return
    await add_edges(deps, scope, edges)


async def deliver_edges(
    deps: Deps,
    scope: Scope,
    outbox: EdgeOutbox,
    entries: Sequence[OutboxEntry[EdgeKey]],
    recorded: Iterable[Edge] = (),
) -> None:
    """Make the edges of ``entries`` what the ledger holds between live ends, and settle. Raises as ``deliver_nodes``.

    ``recorded`` are edges just recorded, of one key the last; where they are still the newest, they are not read again.
    """
    known = {(edge.namespace_id, edge.key): edge for edge in recorded}
    for _ in range(_ROUNDS):
        wanted = {(entry.namespace_id, entry.key): entry for entry in entries}
        live = {
            own: edge
            for own, edge in known.items()
            if own in wanted and wanted[own].stamp is not None and edge.meta.updated_at == wanted[own].stamp
        }
        unread = list(dict.fromkeys(key for namespace_id, key in wanted if (namespace_id, key) not in live))
        current = [*live.values(), *(await outbox.current(scope, unread) if unread else [])]
        # Also of those just recorded: an end may have been deleted since it was looked at.
        owned = {(edge.namespace_id, edge.key): edge for edge in await edges_between_live(deps, scope, current)}
        live = {own: edge for own, edge in owned.items() if own in wanted}
        await add_edges(deps, scope, list(live.values()))
        gone: dict[UUID | None, list[EdgeKey]] = defaultdict(list)
        for namespace_id, key in wanted:
            if (namespace_id, key) not in live:
                gone[namespace_id].append(key)
        for namespace_id, keys in gone.items():
            await remove_edges(deps, scope if namespace_id is None else Scope(namespace_id), keys)
        entries = await _settled(outbox, scope, entries, partial(outbox.reopen, scope))
        if not entries:
            return
        known = {}


async def deliver_edges_around(deps: Deps, scope: Scope, outbox: EdgeOutbox, object_id: UUID) -> None:
    """``deliver_edges`` once for every entry of an edge from or to the object.

    One that is pending again then was overtaken, or cannot be settled now. Others deliver it too: whoever waited for it to
    be settled would overtake them in turn, and so on without end.
    """
    told: set[tuple[UUID | None, EdgeKey]] = set()
    while True:
        pending = await outbox.pending_around(scope, object_id, limit=_PAGE)
        entries = [entry for entry in pending if (entry.namespace_id, entry.key) not in told]
        if not entries:
            return
        told |= {(entry.namespace_id, entry.key) for entry in entries}
        await deliver_edges(deps, scope, outbox, entries)


async def edges_between_live(deps: Deps, scope: Scope, edges: Sequence[Edge]) -> list[Edge]:
    """Those of ``edges`` whose ends are live first-class objects: what the graph has to hold."""
    ends = list(dict.fromkeys(end for edge in edges for end in (edge.from_id, edge.to_id)))
    live = {obj.key for obj in await deps.store.get_many(scope, ends) if not obj.is_part} if ends else set()
    return [edge for edge in edges if edge.from_id in live and edge.to_id in live]


# Settling


async def _settled(
    outbox: GraphOutbox[K, V],
    scope: Scope,
    entries: Sequence[OutboxEntry[K]],
    reopen: Callable[[Sequence[K]], Awaitable[None]],
) -> Sequence[OutboxEntry[K]]:
    """Settle ``entries``; those that were overtaken come back, reopened. A failing outbox keeps them all, and does no harm."""
    try:
        overtaken = await outbox.settle(scope, entries)
        if not overtaken:
            return []
        keys = list(dict.fromkeys(entry.key for entry in overtaken))
        await reopen(keys)
        return await outbox.pending_for(scope, keys)
    except BrainError as error:
        _left_open("what the graph was told", error)
        return []


def _left_open(what: str, error: BrainError) -> None:
    logger.warning("the outbox keeps %s: it failed, and reconcile will tell the graph again: %s", what, error)
