"""reconcile, drift, project: the graph made equal to the store's first-class objects and the ledger's edges."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from brain_async.errors import BrainError
from brain_async.model.drift import Drift, ReconcileFailure, ReconcileReport
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ops.compare import PAGE, edge_differences, node_differences
from brain_async.ops.delivery import (
    add_edges,
    deliver_edges,
    deliver_nodes,
    edges_between_live,
    ensure_nodes,
    remove_edges,
    remove_nodes,
)
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Isolation
from brain_async.ports.outbox import EdgeOutbox, GraphOutbox, NodeOutbox, OutboxEntry

__all__ = ["drift", "project", "reconcile"]

K = TypeVar("K")
V = TypeVar("V")

_Progress = Callable[[int, int], object]
"""Called with (nodes, edges) handled so far."""

_LISTED_FAILURES = 100


class _Delivery(msgspec.Struct, Generic[K]):
    """One outbox entry on its way; ``error`` is what stopped it."""

    entry: OutboxEntry[K]
    error: BrainError | None = None


class _Tally:
    """What one run has done so far."""

    def __init__(self, progress: _Progress | None) -> None:
        self._progress = progress
        self.nodes = 0
        self.edges = 0
        self.failures: list[ReconcileFailure] = []

    def handled(self, *, nodes: int = 0, edges: int = 0) -> None:
        self.nodes += nodes
        self.edges += edges
        if self._progress is not None:
            self._progress(self.nodes, self.edges)

    def failed(self, key: object, error: BrainError) -> None:
        if len(self.failures) < _LISTED_FAILURES:
            self.failures.append(
                ReconcileFailure(
                    code=error.code,
                    message=str(error),
                    object_id=key if isinstance(key, UUID) else None,
                    edge=key if isinstance(key, EdgeKey) else None,
                )
            )


async def reconcile(deps: Deps, scope: Scope, *, full: bool, progress: _Progress | None) -> ReconcileReport:
    """See ``Engine.reconcile``."""
    async with deps.span("reconcile") as span:
        deps.check_scope(scope)
        _ = deps.graph_writer
        began, tally = time.perf_counter(), _Tally(progress)
        before = await (_repair(deps, scope, tally) if full else _pending(deps, scope))
        await _drain(deps, scope, tally)
        after = await (_compared(deps, scope) if full else _pending(deps, scope))
        if after.pending or tally.failures:
            span.degrade("graph")
        span.returned(tally.nodes + tally.edges)
        return ReconcileReport(
            full=full,
            before=before,
            after=after,
            nodes=tally.nodes,
            edges=tally.edges,
            failures=tuple(tally.failures),
            seconds=time.perf_counter() - began,
        )


async def drift(deps: Deps, scope: Scope) -> Drift:
    """See ``Engine.drift``."""
    async with deps.span("drift") as span:
        deps.check_scope(scope)
        found = await _compared(deps, scope)
        span.returned(found.pending + found.differences)
        return found


async def project(deps: Deps, scope: Scope, progress: _Progress | None) -> tuple[int, int]:
    """See ``Engine.project``."""
    async with deps.span("project") as span:
        deps.check_scope(scope)
        _ = deps.graph_writer
        tally = _Tally(progress)
        await _fill(deps, scope, tally)
        filled = tally.nodes, tally.edges
        # What is left speaks of objects and edges that are gone, or that were written meanwhile.
        await _drain(deps, scope, _Tally(None))
        span.returned(sum(filled))
        return filled


# The outbox


async def _pending(deps: Deps, scope: Scope) -> Drift:
    nodes, edges = deps.can.node_outbox, deps.can.edge_outbox
    return Drift(
        pending_objects=0 if nodes is None else await nodes.count(scope),
        pending_edges=0 if edges is None else await edges.count(scope),
    )


async def _drain(deps: Deps, scope: Scope, tally: _Tally) -> None:
    """Deliver what is pending now, nodes before edges. What fails is told to ``tally``, and its entry stays."""
    nodes, edges = deps.can.node_outbox, deps.can.edge_outbox

    async def node_batch(outbox: NodeOutbox, batch: Sequence[_Delivery[UUID]]) -> None:
        await deliver_nodes(deps, scope, outbox, [each.entry for each in batch])
        tally.handled(nodes=len(batch))

    async def edge_batch(outbox: EdgeOutbox, batch: Sequence[_Delivery[EdgeKey]]) -> None:
        await deliver_edges(deps, scope, outbox, [each.entry for each in batch])
        tally.handled(edges=len(batch))

    if nodes is not None:
        await _drain_one(scope, nodes, partial(node_batch, nodes), tally)
    if edges is not None:
        await _drain_one(scope, edges, partial(edge_batch, edges), tally)


async def _drain_one(
    scope: Scope,
    outbox: GraphOutbox[K, V],
    deliver: Callable[[Sequence[_Delivery[K]]], Awaitable[None]],
    tally: _Tally,
) -> None:
    """One pass. It takes at most as many entries as there are at its start, so that it ends beside any number of writers."""
    left, after, isolation = await outbox.count(scope), 0, Isolation()
    while left > 0 and (entries := await outbox.pending(scope, after=after, limit=min(PAGE, left))):
        if not await _deliver_all(entries, deliver, isolation, tally):
            return  # the graph is down: the rest would fail as well
        left, after = left - len(entries), entries[-1].version


async def _deliver_all(
    entries: Sequence[OutboxEntry[K]],
    deliver: Callable[[Sequence[_Delivery[K]]], Awaitable[None]],
    isolation: Isolation,
    tally: _Tally,
) -> bool:
    """Deliver ``entries``, so that none that fails takes its neighbours along; False when every one failed."""
    batch = [_Delivery(entry) for entry in entries]
    await isolation.run(batch, deliver)
    for each in batch:
        if each.error is not None:
            tally.failed(each.entry.key, each.error)
    return not batch or any(each.error is None for each in batch)


# Everything


NodeRepair = Callable[[Sequence[Object], Sequence[UUID]], Awaitable[None]]
EdgeRepair = Callable[[Sequence[Edge], Sequence[Edge]], Awaitable[None]]


async def _compared(
    deps: Deps, scope: Scope, *, nodes: NodeRepair | None = None, edges: EdgeRepair | None = None
) -> Drift:
    """The drift of now, with the graph compared where it can be scanned.

    ``nodes`` and ``edges`` are given what the graph should hold and does not, and what it holds and should not, page by page.
    """
    pending, scanner = await _pending(deps, scope), deps.can.scanner
    if scanner is None:
        return pending
    counts: Counter[str] = Counter()
    async for found in node_differences(deps, scope, scanner):
        counts += Counter(
            missing_nodes=len(found.missing), stale_nodes=len(found.stale), orphan_nodes=len(found.orphans)
        )
        if nodes is not None:
            await nodes(found.missing + found.stale, [node.object_id for node in found.orphans])
    if deps.ledger is not None:
        async for differing in edge_differences(deps, scope, scanner, deps.ledger):
            counts += Counter(
                missing_edges=len(differing.missing),
                stale_edges=len(differing.stale),
                orphan_edges=len(differing.orphans),
            )
            if edges is not None:
                await edges(differing.missing + differing.stale, differing.orphans)
    return msgspec.structs.replace(pending, compared=True, **counts)


async def _repair(deps: Deps, scope: Scope, tally: _Tally) -> Drift:
    """Tell the graph of every difference; returns what they were. Without a scanner, tell it of everything there is."""
    isolation = Isolation()

    async def nodes(objects: Sequence[Object], orphans: Sequence[UUID]) -> None:
        await _repair_nodes(deps, scope, objects, orphans, isolation, tally)

    async def edges(wanted: Sequence[Edge], orphans: Sequence[Edge]) -> None:
        await _repair_edges(deps, scope, wanted, orphans, isolation, tally)

    found = await _compared(deps, scope, nodes=nodes, edges=edges)
    if not found.compared:
        async for page in _object_pages(deps, scope):
            await nodes(page, [])
        async for edge_page in _edge_pages(deps, scope):
            await edges(edge_page, [])
    return found


async def _repair_nodes(
    deps: Deps,
    scope: Scope,
    objects: Sequence[Object],
    orphans: Sequence[UUID],
    isolation: Isolation,
    tally: _Tally,
) -> None:
    """By way of the outbox, so that a repair never overtakes a write that comes in between; directly where there is none."""
    outbox = deps.can.node_outbox
    if outbox is None:
        await ensure_nodes(deps, scope, objects)
        await remove_nodes(deps, scope, orphans)
        tally.handled(nodes=len(objects) + len(orphans))
        return
    keys = [*(obj.key for obj in objects), *orphans]
    await outbox.reopen(scope, keys)

    async def deliver(batch: Sequence[_Delivery[UUID]]) -> None:
        await deliver_nodes(deps, scope, outbox, [each.entry for each in batch])
        tally.handled(nodes=len(batch))

    await _deliver_all(await outbox.pending_for(scope, keys), deliver, isolation, tally)


async def _repair_edges(
    deps: Deps,
    scope: Scope,
    edges: Sequence[Edge],
    orphans: Sequence[Edge],
    isolation: Isolation,
    tally: _Tally,
) -> None:
    """As ``_repair_nodes``."""
    outbox = deps.can.edge_outbox
    if outbox is None:
        await add_edges(deps, scope, edges)
        for orphan in orphans:
            await remove_edges(deps, _scope_of(orphan, scope), [orphan.key])
        tally.handled(edges=len(edges) + len(orphans))
        return
    keys: dict[Scope, list[EdgeKey]] = defaultdict(list)
    for edge in (*edges, *orphans):
        keys[_scope_of(edge, scope)].append(edge.key)

    async def deliver(batch: Sequence[_Delivery[EdgeKey]]) -> None:
        await deliver_edges(deps, scope, outbox, [each.entry for each in batch])
        tally.handled(edges=len(batch))

    for owner, owned in keys.items():
        await outbox.reopen(owner, owned)
        await _deliver_all(await outbox.pending_for(owner, owned), deliver, isolation, tally)


def _scope_of(edge: Edge, scope: Scope) -> Scope:
    return scope if edge.namespace_id is None else Scope(edge.namespace_id)


async def _fill(deps: Deps, scope: Scope, tally: _Tally) -> None:
    """Write everything there is, and settle what the outbox says of it. Raises what the graph raises."""
    nodes, edges = deps.can.node_outbox, deps.can.edge_outbox
    async for objects in _object_pages(deps, scope):
        await ensure_nodes(deps, scope, objects)
        if nodes is not None:
            stamps = {obj.key: obj.updated_at for obj in objects}
            entries = await nodes.pending_for(scope, list(stamps))
            await nodes.settle(scope, [entry for entry in entries if entry.stamp == stamps[entry.key]])
        tally.handled(nodes=len(objects))
    async for page in _edge_pages(deps, scope):
        await add_edges(deps, scope, page)
        if edges is not None:
            times = {(edge.namespace_id, edge.key): edge.meta.updated_at for edge in page}
            told = await edges.pending_for(scope, list(dict.fromkeys(edge.key for edge in page)))
            await edges.settle(scope, [e for e in told if e.stamp and e.stamp == times.get((e.namespace_id, e.key))])
        tally.handled(edges=len(page))


async def _object_pages(deps: Deps, scope: Scope) -> AsyncIterator[Sequence[Object]]:
    last: UUID | None = None
    while page := await deps.store.scan(scope, first_class=True, after=last, limit=PAGE):
        yield page
        last = page[-1].key


async def _edge_pages(deps: Deps, scope: Scope) -> AsyncIterator[Sequence[Edge]]:
    """The recorded edges between live objects."""
    last: EdgeKey | None = None
    while deps.ledger is not None and (page := await deps.ledger.scan_edges(scope, after=last, limit=PAGE)):
        if live := await edges_between_live(deps, scope, page):
            yield live
        last = page[-1].key
