"""The neighbourhood of an object: every link around it, in both directions, over one to four hops."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec

from brain_async.cortex import CortexEdgeLedger
from brain_async.cortex.engine_edge import all_labels, edge_of_record
from brain_async.engine import Engine
from brain_async.errors import GraphRequiredError, ObjectNotFoundError
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import Edge, EdgeKey, canonical_relation_type, is_containment_relation
from brain_async.model.requests import ExpandRequest
from brain_async.model.results import RichObject
from brain_async.model.scope import Scope

__all__ = ["MAX_HOPS", "Neighbourhood", "around"]

MAX_HOPS = 4
_MAX_NODES = 30
_MAX_LINKS = 60
"""Of one object; and of the whole picture twice as many."""


class Neighbourhood(msgspec.Struct, frozen=True, kw_only=True):
    """What is around an object.

    Attributes:
        objects: the object itself first, then by hop.
        depths: of each of them, in hops.
        edges: the links between them, each once.
        cut: whether there is more than is shown.
        needs_labels: whether only links of labels that were named could be looked for.
    """

    objects: tuple[RichObject, ...]
    depths: dict[UUID, int]
    edges: tuple[Edge, ...]
    cut: bool
    needs_labels: bool


async def around(
    engine: Engine, scope: Scope, seed: RichObject, labels: Sequence[str], hops: int, direction: str = "both"
) -> Neighbourhood:
    """What is up to ``hops`` links away from ``seed``; of ``labels`` only, when any are given."""
    links = _Links(engine, scope, [canonical_relation_type(label) for label in labels], direction)
    found, depths, edges = {seed.id: seed}, {seed.id: 0}, dict[EdgeKey, Edge]()
    frontier, cut = [seed.id], False
    for depth in range(1, hops + 1):
        reached: list[UUID] = []
        for object_id in frontier:
            near = await links.of(object_id)
            cut |= len(near) > _MAX_LINKS
            for edge in near[:_MAX_LINKS]:
                peer = edge.to_id if edge.from_id == object_id else edge.from_id
                if peer not in found:
                    if len(found) == _MAX_NODES:
                        cut = True
                        continue
                    obj = await links.object(peer)
                    if obj is None:
                        continue
                    found[peer], depths[peer] = obj, depth
                    reached.append(peer)
                if len(edges) < 2 * _MAX_LINKS:
                    edges.setdefault(edge.key, edge)
                else:
                    cut |= edge.key not in edges
        frontier = reached
    for object_id in frontier:  # the outermost ones may be linked to each other
        for edge in (await links.of(object_id))[:_MAX_LINKS]:
            if edge.from_id in found and edge.to_id in found and len(edges) < 2 * _MAX_LINKS:
                edges.setdefault(edge.key, edge)
    return Neighbourhood(
        objects=tuple(found.values()),
        depths=depths,
        edges=tuple(edges.values()),
        cut=cut,
        needs_labels=links.needs_labels,
    )


class _Links:
    """The links of one object at a time, from the best source there is."""

    def __init__(self, engine: Engine, scope: Scope, labels: Sequence[str], direction: str) -> None:
        self._engine = engine
        self._scope = scope
        self._labels = list(dict.fromkeys(labels))
        self._direction = direction
        self._known: dict[UUID, RichObject] = {}
        self.needs_labels = not isinstance(engine.ledger, CortexEdgeLedger)

    async def of(self, object_id: UUID) -> list[Edge]:
        """At most one more than is shown, each once, outgoing first."""
        ledger = self._engine.ledger
        if isinstance(ledger, CortexEdgeLedger):
            edges = await self._recorded(ledger, object_id)
        else:
            edges = await self._walked(object_id)
            if ledger is not None and self._direction != "in":
                after = EdgeKey(object_id, NIL_UUID, "")
                scanned = await ledger.scan_edges(self._scope, after=after, limit=_MAX_LINKS + 1)
                edges = [edge for edge in scanned if edge.from_id == object_id and self._wants(edge)] + edges
        return list({edge.key: edge for edge in edges}.values())

    async def object(self, object_id: UUID) -> RichObject | None:
        """An object, if it is visible."""
        if object_id not in self._known:
            try:
                self._known[object_id] = await self._engine.read(self._scope, object_id)
            except ObjectNotFoundError:
                return None
        return self._known[object_id]

    def _wants(self, edge: Edge) -> bool:
        return not self._labels or edge.relation_type in self._labels

    async def _recorded(self, ledger: CortexEdgeLedger, object_id: UUID) -> list[Edge]:
        edges: list[Edge] = []
        async with ledger.ledger.snapshot() as view:
            labels = all_labels(await view.labels())
            for side in (view.iter_edges_out, view.iter_edges_in):
                if self._direction == ("in" if side == view.iter_edges_out else "out"):
                    continue
                shown = 0
                async for record in side(object_id):
                    edge = edge_of_record(record, labels)
                    if self._scope.sees(edge.namespace_id) and self._wants(edge):
                        edges.append(edge)
                        shown += 1
                        if shown > _MAX_LINKS:
                            break
        return edges

    async def _walked(self, object_id: UUID) -> list[Edge]:
        """A call for each label: one for all of them would name one link of each neighbour only."""
        edges: list[Edge] = []
        for label in self._labels:
            if is_containment_relation(label):
                continue
            request = ExpandRequest(
                object_id=object_id, relation_types=[label], direction=self._direction, limit=_MAX_LINKS
            )
            try:
                page = await self._engine.expand(self._scope, request)
            except GraphRequiredError:
                return []
            for obj in page.objects:
                if obj.relation is None:
                    continue
                self._known[obj.id] = obj
                ends = (object_id, obj.id) if obj.relation.direction == "out" else (obj.id, object_id)
                edges.append(
                    Edge(from_id=ends[0], to_id=ends[1], relation_type=obj.relation.type, meta=obj.relation.meta)
                )
        return edges
