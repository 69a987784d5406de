"""Nodes and edges that the graph checks put, and the search they find them by."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brain_async.model.candidate import rank_order
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Edge, EdgeMeta, Neighbor
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphReader, GraphWriter
from brain_async.testing.subjects import CheckedGraph, new_parent

__all__ = ["around", "edge_between", "ensure_nodes", "steps", "text_hits"]


def edge_between(scope: Scope, source: Object | UUID, target: Object | UUID, label: str = "about", **meta: Any) -> Edge:
    """An edge of the scope's namespace, with metadata by its fields."""
    ends = [end.key if isinstance(end, Object) else end for end in (source, target)]
    return Edge(
        from_id=ends[0], to_id=ends[1], relation_type=label, namespace_id=scope.namespace_id, meta=EdgeMeta(**meta)
    )


async def ensure_nodes(graph: GraphWriter, scope: Scope, count: int) -> list[Object]:
    """``count`` nodes titled ``node 0`` and so on, in ascending order of their ids."""
    nodes = sorted((new_parent(scope, title=f"node {n}") for n in range(count)), key=lambda node: node.key.int)
    await graph.ensure_objects(scope, nodes)
    return nodes


async def around(
    graph: GraphReader, scope: Scope, node: Object, *labels: str, towards: Direction = "both", limit: int = 1_000
) -> list[Neighbor]:
    """The edges of one node."""
    found = await graph.neighbors(scope, [node.key], labels, direction=towards, limit=limit)
    return list(found[node.key])


def steps(neighbors: list[Neighbor]) -> list[tuple[UUID, str, str]]:
    """(other end, label, direction) of each."""
    return [(neighbor.object_id, neighbor.relation_type, neighbor.direction) for neighbor in neighbors]


async def text_hits(graph: CheckedGraph, scope: Scope, query: str, filters: Filters | None = None) -> list[UUID]:
    """The ids that the text search finds, having asserted that they come in rank order."""
    hits = await graph.search_objects_text(scope, query, filters or Filters(), k=100)
    assert list(hits) == sorted(hits, key=rank_order), "hits come in rank order"
    return [hit.id for hit in hits]
