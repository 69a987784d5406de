"""Checks of GraphScanner: what the graph holds, in order, page by page."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Protocol
from uuid import UUID

import msgspec

from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphScanner, NodeVersion
from brain_async.testing.graph_subjects import edge_between, ensure_nodes
from brain_async.testing.subjects import BASE_TIME, CheckedGraph, fresh_scope

__all__ = ["CHECKS", "ScannedGraph"]


class ScannedGraph(CheckedGraph, GraphScanner, Protocol):
    """A graph with everything, that can be scanned."""


async def _nodes(graph: ScannedGraph, scope: Scope, page: int = 100) -> list[NodeVersion]:
    found: list[NodeVersion] = []
    last: UUID | None = None
    while nodes := await graph.scan_nodes(scope, after=last, limit=page):
        assert len(nodes) <= page
        found += nodes
        last = nodes[-1].object_id
    return found


async def _edges(graph: ScannedGraph, scope: Scope, page: int = 100) -> list[Edge]:
    found: list[Edge] = []
    last: EdgeKey | None = None
    while edges := await graph.scan_edges(scope, after=last, limit=page):
        found += edges
        last = edges[-1].key
    return found


async def check_scan_nodes(graph: ScannedGraph) -> None:
    """Ascending ids with updated_at to the microsecond, whatever the page; changes and removals show."""
    scope = fresh_scope()
    nodes = await ensure_nodes(graph, scope, 7)
    for page in (1, 3, 100):
        assert await _nodes(graph, scope, page) == [NodeVersion(node.key, node.updated_at) for node in nodes]
    newer = msgspec.structs.replace(nodes[2], updated_at=BASE_TIME + timedelta(microseconds=1))
    await graph.ensure_objects(scope, [newer])
    assert (await _nodes(graph, scope))[2] == NodeVersion(newer.key, newer.updated_at)
    await graph.remove_objects(scope, [nodes[0].key])
    assert [node.object_id for node in await _nodes(graph, scope)] == [node.key for node in nodes[1:]]
    assert list(await graph.scan_nodes(scope, after=nodes[-1].key, limit=5)) == []
    assert await _nodes(graph, fresh_scope()) == []


async def check_scan_edges(graph: ScannedGraph) -> None:
    """Ascending (from, to, label) with all metadata, whatever the page; changes and removals show."""
    scope = fresh_scope()
    nodes = await ensure_nodes(graph, scope, 4)
    moment = BASE_TIME + timedelta(microseconds=7)
    edges = [
        edge_between(scope, a, b, label, note=f"{label} note", confidence=0.25, created_at=BASE_TIME, updated_at=moment)
        for a in nodes
        for b in nodes
        for label in ("b", "a", "ab")
    ]
    wanted = sorted(edges, key=lambda edge: (edge.from_id.int, edge.to_id.int, edge.relation_type))
    Random(3).shuffle(edges)
    await graph.add_edges(scope, edges)
    for page in (1, 7, 100):
        assert await _edges(graph, scope, page) == wanted
    await graph.remove_edges(scope, [wanted[0].key])
    changed = msgspec.structs.replace(wanted[1], meta=msgspec.structs.replace(wanted[1].meta, note="other"))
    await graph.add_edges(scope, [changed])
    assert await _edges(graph, scope) == [changed, *wanted[2:]]
    await graph.remove_objects(scope, [nodes[1].key])
    left = [edge for edge in [changed, *wanted[2:]] if nodes[1].id not in (edge.from_id, edge.to_id)]
    assert await _edges(graph, scope) == left
    assert await _edges(graph, fresh_scope()) == []


async def check_scan_everything(graph: ScannedGraph) -> None:
    """An unrestricted scope sees every namespace: the edges of one key on one page, and as nodes only what was ensured."""
    scope, other = fresh_scope(), fresh_scope()
    low, high = await ensure_nodes(graph, scope, 2)
    bare = UUID(int=high.key.int + 1)
    shared = [edge_between(each, bare, low, note="n", created_at=BASE_TIME) for each in (scope, other)]
    single = edge_between(other, bare, high, note="n", created_at=BASE_TIME)
    for each, edges in ((scope, shared[:1]), (other, [shared[1], single])):
        await graph.add_edges(each, edges)
    before = UUID(int=high.key.int - 1)
    found = await graph.scan_nodes(Scope(), after=before, limit=1)
    assert list(found) == [NodeVersion(high.key, high.updated_at)]
    after_high = await graph.scan_nodes(Scope(), after=high.key, limit=1)
    assert bare not in [node.object_id for node in after_high]
    start = EdgeKey(high.key, UUID(int=(1 << 128) - 1), "about")
    page = list(await graph.scan_edges(Scope(), after=start, limit=1))
    assert {edge.namespace_id for edge in page} == {scope.namespace_id, other.namespace_id}
    assert [edge.key for edge in page] == [shared[0].key] * 2
    assert [edge.key for edge in await graph.scan_edges(Scope(), after=page[-1].key, limit=1)] == [single.key]
    assert [edge.key for edge in await _edges(graph, scope, 1)] == [shared[0].key]


CHECKS = (check_scan_nodes, check_scan_edges, check_scan_everything)
