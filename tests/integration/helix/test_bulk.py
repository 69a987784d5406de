"""The vector index around a large load: when it is left for later, and that it is there again."""

from __future__ import annotations

import anyio

from brain_async.model.filters import Filters
from brain_async.testing.subjects import direction, fresh_scope, new_parent
from helixgraph import open_helix_embedded


async def test_only_a_load_that_is_large_for_its_graph_leaves_the_index_for_later() -> None:
    scope = fresh_scope()
    async with open_helix_embedded(dimension=8) as graph:
        async with graph.bulk(999):
            assert graph.ready
        async with graph.bulk(1_000):
            assert not graph.ready
            nodes = [new_parent(scope, embedding=direction(8, n)) for n in range(1_005)]
            await graph.ensure_objects(scope, nodes)
        assert graph.ready
        async with graph.bulk(1_004):
            assert graph.ready
        async with graph.bulk(1_005):
            assert not graph.ready
        hits = await graph.search_objects_vector(scope, direction(8, 3), Filters(), k=1)
        assert len(hits) == 1


async def test_a_cancelled_load_leaves_an_index_behind() -> None:
    scope = fresh_scope()
    async with open_helix_embedded(dimension=8) as graph:
        node = new_parent(scope, embedding=direction(8, 3))
        with anyio.CancelScope() as load:
            async with graph.bulk():
                await graph.ensure_objects(scope, [node])
                load.cancel()
                await anyio.sleep_forever()
        assert graph.ready
        assert [hit.id for hit in await graph.search_objects_vector(scope, direction(8, 3), Filters(), k=1)] == [
            node.id
        ]
