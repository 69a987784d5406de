"""Checks of GraphWalker: two hops at once say what two hops one after the other say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Protocol, get_args
from uuid import UUID, uuid4

from brain_async.model.relation import Direction
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphReader, GraphWalker, GraphWriter
from brain_async.testing.graph_subjects import edge_between
from brain_async.testing.subjects import fresh_scope

__all__ = ["CHECKS", "CheckedWalker"]


class CheckedWalker(GraphReader, GraphWalker, GraphWriter, Protocol):
    """A graph that is written, and read by one hop and by two."""


async def _assert_same(
    graph: CheckedWalker,
    scope: Scope,
    frontier: Sequence[UUID],
    labels: Sequence[str] = (),
    *,
    direction: Direction = "both",
    limit: int = 50,
) -> None:
    found = await graph.neighborhoods(scope, frontier, labels, direction=direction, limit=limit)
    assert set(frontier) <= set(found), "every frontier node is there"
    wanted = await graph.neighbors(scope, list(found), labels, direction=direction, limit=limit)
    assert {node: list(value) for node, value in found.items()} == {node: list(wanted[node]) for node in found}


async def check_two_hops_at_once(graph: CheckedWalker) -> None:
    """Whatever the graph, the scope, the labels, the direction and the limit, and whatever the frontier repeats."""
    choose, scopes, labels = Random(7), [fresh_scope(), fresh_scope()], ("about", "cites", "x/世界")
    nodes = [uuid4() for _ in range(24)]
    for scope in scopes:
        edges = {}
        for _ in range(60):
            label = choose.choice(labels)
            edge = edge_between(
                scope, choose.choice(nodes), choose.choice(nodes), label, note=choose.choice(["", "zebra"])
            )
            edges[edge.key] = edge
        loops = [edge_between(scope, node, node) for node in nodes[:6]]
        await graph.add_edges(scope, [*edges.values(), *(loop for loop in loops if loop.key not in edges)])
    for scope in (*scopes, Scope(), fresh_scope()):
        for direction in get_args(Direction):
            for asked in ((), ("cites",), (" X/世界", "about"), ("missing",)):
                frontier = [*choose.choices(nodes, k=choose.choice((1, 3))), uuid4()]
                await _assert_same(graph, scope, frontier, asked, direction=direction, limit=choose.choice((1, 2, 50)))
    await _assert_same(graph, scopes[0], [], limit=5)
    await _assert_same(graph, scopes[0], nodes[:3], limit=0)


async def check_a_hub_beside_the_frontier(graph: CheckedWalker) -> None:
    """The first neighbours of a hub, and those of the nodes around it, are the same from wherever it is reached."""
    scope, hub = fresh_scope(), uuid4()
    others = [uuid4() for _ in range(5_000)]
    edges = [edge_between(scope, hub, other) for other in others]
    edges += [edge_between(scope, one, other) for one, other in pairwise(others[:41])]
    edges += [edge_between(scope, others[0], hub), edge_between(scope, hub, hub)]
    for start in range(0, len(edges), 2_000):
        await graph.add_edges(scope, edges[start : start + 2_000])
    for frontier in ([hub], others[:1], others[:50], others[:300], [hub, *others[:2]]):
        await _assert_same(graph, scope, frontier)


CHECKS = (check_two_hops_at_once, check_a_hub_beside_the_frontier)
