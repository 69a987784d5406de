"""Nodes of thousands of edges: what is cut by the engine is what would have been cut here."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from brain_async.adapters.memory import MemoryGraph
from brain_async.model.relation import Direction
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import edge_between
from brain_async.testing.subjects import fresh_scope
from helixgraph import HelixGraph, open_helix_embedded

_SCOPE, _OTHER = fresh_scope(), fresh_scope()
_HUBS = [uuid4() for _ in range(3)]


@pytest.fixture(scope="module")
async def graphs() -> AsyncIterator[tuple[HelixGraph, MemoryGraph]]:
    choose, memory = random.Random(3), MemoryGraph()
    others = [uuid4() for _ in range(2_500)]
    async with open_helix_embedded(dimension=8) as helix:
        for scope, label in ((_SCOPE, "about"), (_SCOPE, "cites"), (_OTHER, "about")):
            ends = [(_HUBS[0], other) for other in choose.sample(others, 1_800)]
            ends += [(other, _HUBS[0]) for other in choose.sample(others, 700)]
            ends += [(_HUBS[0], _HUBS[0]), (_HUBS[1], _HUBS[0]), (_HUBS[2], others[0])]
            edges = [edge_between(scope, source, target, label) for source, target in ends]
            for graph in (helix, memory):
                await graph.add_edges(scope, edges)
        yield helix, memory


@pytest.mark.parametrize("scope", [_SCOPE, Scope()], ids=["namespace", "unrestricted"])
@pytest.mark.parametrize("labels", [(), ("about",), ("cites", "about"), ("missing", "cites")], ids=str)
@pytest.mark.parametrize("towards", ["both", "out", "in"])
async def test_a_hub_in_a_frontier(
    graphs: tuple[HelixGraph, MemoryGraph], scope: Scope, labels: tuple[str, ...], towards: Direction
) -> None:
    for limit in (50, 3_000):
        found = [
            await graph.neighbors(scope, [*_HUBS, UUID(int=1)], labels, direction=towards, limit=limit)
            for graph in graphs
        ]
        steps = [
            {
                node: [(neighbor.object_id, neighbor.relation_type, neighbor.direction) for neighbor in neighbors]
                for node, neighbors in each.items()
            }
            for each in found
        ]
        assert steps[0] == steps[1]
