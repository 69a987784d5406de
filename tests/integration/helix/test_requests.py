"""How many requests the reads and writes of a graph cost."""

from __future__ import annotations

from uuid import uuid4

import httpx
from helixdb import AsyncClient, InMemory

from brain_async.model.filters import Filters
from brain_async.testing.graph_subjects import edge_between
from brain_async.testing.subjects import direction, fresh_scope, new_parent
from helixgraph import open_helix
from tests.helix_double import HelixDouble

_ONE_WRITE = 3  # it collides with the engine's own upkeep of the indexes now and then, and is repeated


async def test_requests_of_each_call() -> None:
    scope = fresh_scope()
    async with await AsyncClient.embedded(InMemory("double")) as engine:
        double = HelixDouble(engine, "code and message")
        async with open_helix("http://double", dimension=8, transport=httpx.ASGITransport(double)) as graph:
            nodes = [new_parent(scope, title=f"node n{n}", embedding=direction(8, n)) for n in range(64)]
            edges = [edge_between(scope, nodes[0], node, note="zebra") for node in nodes[1:]]

            async def cost(call: object) -> int:
                before = double.requests
                await call  # type: ignore[misc]
                return double.requests - before

            assert await cost(graph.ensure_objects(scope, nodes)) <= _ONE_WRITE
            await graph.add_edges(scope, edges)  # the first ones of a label make its indexes
            assert await cost(graph.add_edges(scope, edges)) <= _ONE_WRITE
            frontier = [node.key for node in nodes] + [uuid4() for _ in range(200)]
            assert await cost(graph.neighbors(scope, frontier, (), direction="both", limit=50)) == 1
            assert await cost(graph.neighbors(scope, [], (), direction="both", limit=50)) == 0
            await graph.add_edges(scope, [edge_between(scope, nodes[-1], node) for node in nodes[1:40]])
            first = nodes[-1].key
            around = await graph.neighborhoods(scope, [first], (), direction="out", limit=50)
            assert set(around) == {first} | {node.key for node in nodes[1:40]}, "both hops came"
            assert await cost(graph.neighborhoods(scope, [first], (), direction="both", limit=50)) == 1
            assert await cost(graph.neighborhoods(scope, frontier, (), direction="both", limit=50)) == 1
            assert await cost(graph.neighborhoods(scope, [], (), direction="both", limit=50)) == 0
            assert await cost(graph.search_objects_text(scope, "n3", Filters(), k=10)) == 1
            assert await cost(graph.search_objects_text(scope, "!!", Filters(), k=10)) == 0
            assert await cost(graph.search_objects_vector(scope, direction(8, 3.4), Filters(), k=5)) == 1
            assert await cost(graph.search_edges(scope, "about", "zebra", k=100)) == 1
            assert await cost(graph.remove_edges(scope, [edge.key for edge in edges])) <= _ONE_WRITE
            assert await cost(graph.remove_objects(scope, [node.key for node in nodes])) <= _ONE_WRITE
