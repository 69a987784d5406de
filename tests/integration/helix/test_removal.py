"""Many nodes removed at once, with more edges than the engine takes in one write, and edges that are somebody else's."""

from __future__ import annotations

import msgspec
import pytest

from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import edge_between
from brain_async.testing.subjects import direction, fresh_scope, new_parent
from helixgraph import open_helix_embedded


@pytest.mark.parametrize("tenants", [False, True])
@pytest.mark.parametrize("everything", [False, True])
async def test_nodes_go_with_their_edges_and_leave_the_ends_of_others_bare(tenants: bool, everything: bool) -> None:
    mine, other = fresh_scope(), fresh_scope()
    gone = [new_parent(mine, title=f"gone {n}", embedding=direction(8, n)) for n in range(70)]
    kept = [new_parent(mine, title=f"kept {n}", embedding=direction(8, n)) for n in range(20)]
    async with open_helix_embedded(dimension=8, tenants=tenants) as graph:
        await graph.ensure_objects(mine, gone + kept)
        edges = [edge_between(mine, source, target, note="zebra") for source in gone for target in kept]
        edges += [edge_between(mine, gone[n], gone[n + 1], note="zebra") for n in range(69)]
        theirs = [edge_between(other, gone[0], gone[69], note="zebra"), edge_between(other, kept[0], gone[5])]
        staying = [edge_between(mine, kept[0], kept[1], note="zebra")]
        for scope, those in ((mine, edges + staying), (other, theirs)):
            await graph.add_edges(scope, those)
        await graph.remove_objects(Scope() if everything else mine, [node.key for node in gone])
        left = sorted(node.key for node in kept)
        assert [node.object_id for node in await graph.scan_nodes(Scope(), after=None, limit=500)] == left
        assert {hit.id for hit in await graph.search_objects_text(mine, "gone kept", Filters(), k=500)} == set(left)
        vectors = await graph.search_objects_vector(mine, direction(8, 3), Filters(), k=500)
        assert {hit.id for hit in vectors} <= set(left)
        for scope, those in ((mine, staying), (other, [] if everything else theirs)):
            scanned = await graph.scan_edges(scope, after=None, limit=500)
            assert {edge.key for edge in scanned} == {edge.key for edge in those}
        # A bare end is anybody's again.
        taken = msgspec.structs.replace(gone[5], title="gone over", namespace_id=other.namespace_id)
        await graph.ensure_objects(other, [taken])
        assert len(await graph.search_objects_text(other, "gone", Filters(), k=5)) == 1
