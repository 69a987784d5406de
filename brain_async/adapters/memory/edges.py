"""EdgeTable: edges by key, found from both of their ends."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal
from uuid import UUID

from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope

__all__ = ["EdgeTable", "edge_order"]

_Owner = UUID | None
_Side = Literal["out", "in"]


def edge_order(key: EdgeKey) -> tuple[UUID, UUID, str]:
    """The sort key of edges: from, to, label, all ascending."""
    return (key.from_id, key.to_id, key.relation_type)


class EdgeTable:
    """At most one edge per namespace and key. Edges may exist without nodes."""

    def __init__(self) -> None:
        self._edges: dict[tuple[_Owner, EdgeKey], Edge] = {}
        # node -> (label, side) -> (id of the other end, namespace) -> edge
        self._adjacent: dict[UUID, dict[tuple[str, _Side], dict[tuple[UUID, _Owner], Edge]]] = {}

    def get(self, namespace_id: _Owner, key: EdgeKey) -> Edge | None:
        """The edge of this key."""
        return self._edges.get((namespace_id, key))

    def keys(self) -> list[EdgeKey]:
        """The distinct keys, in ``edge_order``."""
        return sorted({key for _, key in self._edges}, key=edge_order)

    def put(self, edge: Edge) -> None:
        """Keep ``edge``, replacing one of the same namespace and key."""
        self._edges[edge.namespace_id, edge.key] = edge
        for node, side, other in _ends(edge):
            by_label = self._adjacent.setdefault(node, {})
            by_label.setdefault((edge.relation_type, side), {})[other, edge.namespace_id] = edge

    def pop(self, namespace_id: _Owner, key: EdgeKey) -> Edge | None:
        """Remove and return the edge of this key."""
        edge = self._edges.pop((namespace_id, key), None)
        if edge is not None:
            for node, side, other in _ends(edge):
                by_label = self._adjacent[node]
                edges = by_label[edge.relation_type, side]
                del edges[other, namespace_id]
                if not edges:
                    del by_label[edge.relation_type, side]
                if not by_label:
                    del self._adjacent[node]
        return edge

    def visible(self, scope: Scope, key: EdgeKey) -> list[Edge]:
        """The edges of this key that the scope sees: at most one under a namespace."""
        if scope.namespace_id is not None:
            edge = self.get(scope.namespace_id, key)
            return [] if edge is None else [edge]
        ends = self._adjacent.get(key.from_id, {}).get((key.relation_type, "out"), {})
        return [edge for (other, _), edge in ends.items() if other == key.to_id]

    def incident(self, scope: Scope, node: UUID) -> list[Edge]:
        """Every visible edge that starts or ends at ``node``, self-loops once."""
        edges = {
            (edge.namespace_id, edge.key): edge
            for by_other in self._adjacent.get(node, {}).values()
            for edge in by_other.values()
            if scope.sees(edge.namespace_id)
        }
        return list(edges.values())

    def neighbors(
        self, scope: Scope, node: UUID, relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> list[Neighbor]:
        """At most ``limit`` neighbours in the order that ``GraphReader.neighbors`` promises."""
        by_label = self._adjacent.get(node, {})
        labels: Iterable[str] = dict.fromkeys(map(canonical_relation_type, relation_types))
        found: list[Neighbor] = []
        for label in labels if relation_types else sorted({label for label, _ in by_label}):
            for side in _sides(direction):
                edges = by_label.get((label, side), {})
                ends = (end for end in edges if end[0] != node and scope.sees(end[1]))
                nearest = heapq.nsmallest(limit - len(found), ends, key=_by_id)
                found += [
                    Neighbor(object_id=end[0], relation_type=label, direction=side, meta=edges[end].meta)
                    for end in nearest
                ]
                if len(found) >= limit:
                    return found
        return found


def _ends(edge: Edge) -> tuple[tuple[UUID, _Side, UUID], ...]:
    """(node, side, other end), as each end sees the edge."""
    return ((edge.from_id, "out", edge.to_id), (edge.to_id, "in", edge.from_id))


def _by_id(end: tuple[UUID, _Owner]) -> tuple[int, int]:
    # The namespace only breaks the tie of an unrestricted scope over one edge in two namespaces.
    return (end[0].int, -1 if end[1] is None else end[1].int)


def _sides(direction: Direction) -> tuple[_Side, ...]:
    return ("out", "in") if direction == "both" else (direction,)
