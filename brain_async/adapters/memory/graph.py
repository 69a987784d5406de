"""MemoryGraph: entity nodes and edges in this process."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from anyio.lowlevel import checkpoint

from brain_async.adapters.memory.columns import Columns, Scores, Slots
from brain_async.adapters.memory.edges import EdgeTable, edge_order
from brain_async.adapters.memory.rows import stored_row
from brain_async.adapters.memory.vectors import VectorIndex, check_dimensions
from brain_async.analysis import plain_terms
from brain_async.errors import DimensionMismatchError
from brain_async.inverted_index import InvertedIndex
from brain_async.model.candidate import Candidate, EdgeHit
from brain_async.model.filters import Filters
from brain_async.model.health import BackendHealth
from brain_async.model.object import Object
from brain_async.model.recording import owned_by, recorded_edge
from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from brain_async.ports.graph import NodeVersion
from brain_async.ports.store import Vector
from brain_async.text import entity_index_text

__all__ = ["MemoryGraph"]

_ANALYSE_CHUNK = 64


class _SlotAllocator:
    """Small numbers for keys; the number of a key that is gone is given to the next one."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._next = 0

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        self._next += 1
        return self._next - 1

    def give_back(self, slot: int) -> None:
        self._free.append(slot)


class MemoryGraph:
    """Nodes and edges in memory, a projection that is filled again from store and ledger at each start.

    Implements every port of ``ports.graph``, and HealthProbe. Entity texts and notes are matched by whole words, case folded,
    neither stemmed nor stopped. A write leaves alone, without an error, what its scope does not see: objects and edges of
    another namespace, and ids that another namespace owns. Parts are not taken as nodes. The first embedding fixes the
    dimension; another length raises DimensionMismatchError.
    """

    def __init__(self) -> None:
        self._dimension: int | None = None
        self._nodes: dict[int, Object] = {}
        self._slots: dict[UUID, int] = {}
        self._node_slots = _SlotAllocator()
        self._columns = Columns()
        self._texts = InvertedIndex()
        self._vectors = VectorIndex()
        self._edges = EdgeTable()
        self._notes = InvertedIndex()
        self._noted: dict[int, Edge] = {}
        self._note_slots: dict[tuple[UUID | None, EdgeKey], int] = {}
        self._edge_slots = _SlotAllocator()
        self._node_order: list[UUID] | None = None
        self._edge_order: list[EdgeKey] | None = None

    @property
    def dimension(self) -> int | None:
        """Length of every embedding, or None before the first one."""
        return self._dimension

    @property
    def object_search_ready(self) -> bool:
        """Always: there is nothing to build."""
        return True

    # HealthProbe

    async def health(self) -> BackendHealth:
        await checkpoint()
        return BackendHealth(up=True, details={"nodes": len(self._nodes), "dimension": self._dimension})

    # GraphReader

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        await checkpoint()
        return {
            node: self._edges.neighbors(scope, node, relation_types, direction=direction, limit=limit)
            for node in dict.fromkeys(frontier)
        }

    # GraphWriter

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        await checkpoint()
        check_dimensions(self._dimension, objects)
        terms = []
        for number, obj in enumerate(objects):
            if number % _ANALYSE_CHUNK == _ANALYSE_CHUNK - 1:
                await checkpoint()
            terms.append(plain_terms(entity_index_text(obj)))
        # From here on nothing is awaited: no task sees half of the batch, and a cancellation leaves none of it.
        check_dimensions(self._dimension, objects)
        for obj, entity_terms in zip(objects, terms, strict=True):
            if not obj.is_part and scope.sees(obj.namespace_id) and self._may_write(scope, obj.key):
                self._drop_node(obj.key)
                self._add_node(obj, entity_terms)

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        await checkpoint()
        for object_id in object_ids:
            if self._may_write(scope, object_id):
                self._drop_node(object_id)
                for edge in self._edges.incident(scope, object_id):
                    self._drop_edge(edge)

    async def add_edges(self, scope: Scope, edges: Sequence[Edge]) -> None:
        await checkpoint()
        now = datetime.now(UTC)
        for edge in edges:
            owned = owned_by(scope, edge)
            if owned is not None:
                known = self._edges.get(owned.namespace_id, owned.key)
                if known is not None:
                    self._drop_edge(known)
                self._add_edge(
                    recorded_edge(owned, known_created_at=None if known is None else known.meta.created_at, now=now)
                )

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        await checkpoint()
        for key in keys:
            for edge in self._edges.visible(scope, key):
                self._drop_edge(edge)

    # GraphObjectSearcher

    async def search_objects_text(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        await checkpoint()
        groups = self._texts.groups if scope.namespace_id is None else [scope.namespace_id]
        return self._candidates(scope, filters, k, self._texts.search(groups, plain_terms(query)))

    async def search_objects_vector(
        self, scope: Scope, vector: Vector, filters: Filters, *, k: int
    ) -> Sequence[Candidate]:
        await checkpoint()
        if self._dimension is not None and len(vector) != self._dimension:
            raise DimensionMismatchError(expected=self._dimension, got=len(vector), what="query vector")
        groups = self._vectors.groups if scope.namespace_id is None else [scope.namespace_id]
        found = self._vectors.search(groups, vector, self._columns.mask(scope, filters), k)
        return self._candidates(scope, filters, k, found)

    # GraphEdgeSearcher

    async def search_edges(self, scope: Scope, relation_type: str, query: str, *, k: int) -> Sequence[EdgeHit]:
        await checkpoint()
        label = canonical_relation_type(relation_type)
        groups: Sequence[Hashable] = [(scope.namespace_id, label)]
        if scope.namespace_id is None:
            groups = [group for group in self._notes.groups if isinstance(group, tuple) and group[1] == label]
        slots, scores = self._notes.search(groups, plain_terms(query))
        hits = [
            EdgeHit(edge=self._noted[slot], score=score)
            for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)
        ]
        hits.sort(key=lambda hit: (-hit.score, edge_order(hit.edge.key)))
        return hits[: max(0, k)]

    # GraphScanner

    async def scan_nodes(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[NodeVersion]:
        await checkpoint()
        if self._node_order is None:
            self._node_order = sorted(self._slots)
        found: list[NodeVersion] = []
        for place in range(0 if after is None else bisect_right(self._node_order, after), len(self._node_order)):
            if len(found) >= limit:
                break
            node = self._nodes[self._slots[self._node_order[place]]]
            if scope.sees(node.namespace_id):
                found.append(NodeVersion(node.key, node.updated_at))
        return found

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        await checkpoint()
        if self._edge_order is None:
            self._edge_order = self._edges.keys()
        start = 0 if after is None else bisect_right(self._edge_order, edge_order(after), key=edge_order)
        found: list[Edge] = []
        for place in range(start, len(self._edge_order)):
            if len(found) >= limit:
                break
            found += self._edges.visible(scope, self._edge_order[place])
        return found

    def _candidates(self, scope: Scope, filters: Filters, k: int, found: tuple[Slots, Scores]) -> list[Candidate]:
        slots, scores = found
        passing = self._columns.mask(scope, filters)[slots]
        return [
            Candidate(
                id=(node := self._nodes[slot]).key,
                title=node.title,
                position=node.position,
                updated_at=node.updated_at,
                score=score,
            )
            for slot, score in self._columns.best(slots[passing], scores[passing], k)
        ]

    def _may_write(self, scope: Scope, object_id: UUID) -> bool:
        slot = self._slots.get(object_id)
        return slot is None or scope.sees(self._nodes[slot].namespace_id)

    def _add_node(self, obj: Object, terms: list[str]) -> None:
        slot = self._slots[obj.key] = self._node_slots.take()
        self._node_order = None
        node = self._nodes[slot] = stored_row(obj, created_at=obj.created_at)
        self._columns.add(slot, node)
        self._texts.add(node.namespace_id, slot, terms)
        if obj.embedding is not None:
            self._dimension = len(obj.embedding)
            self._vectors.add(node.namespace_id, slot, np.asarray(obj.embedding, np.float32))

    def _drop_node(self, object_id: UUID) -> None:
        slot = self._slots.pop(object_id, None)
        if slot is not None:
            self._node_order = None
            node = self._nodes.pop(slot)
            self._columns.discard(slot, node)
            self._texts.remove(node.namespace_id, slot)
            self._vectors.remove(node.namespace_id, slot)
            self._node_slots.give_back(slot)

    def _add_edge(self, edge: Edge) -> None:
        self._edge_order = None
        self._edges.put(edge)
        if terms := plain_terms(edge.meta.note):
            slot = self._note_slots[edge.namespace_id, edge.key] = self._edge_slots.take()
            self._noted[slot] = edge
            self._notes.add((edge.namespace_id, edge.relation_type), slot, terms)

    def _drop_edge(self, edge: Edge) -> None:
        self._edge_order = None
        self._edges.pop(edge.namespace_id, edge.key)
        slot = self._note_slots.pop((edge.namespace_id, edge.key), None)
        if slot is not None:
            del self._noted[slot]
            self._notes.remove((edge.namespace_id, edge.relation_type), slot)
            self._edge_slots.give_back(slot)
