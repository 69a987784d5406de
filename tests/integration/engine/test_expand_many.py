"""expand_many: several seeds, one list, each object claimed once."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import BackendError, GraphRequiredError, Object
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyStore,
    RecordingObserver,
    World,
    down,
    ids,
    put_family,
    put_titled,
)

pytestmark = pytest.mark.on_helix


async def test_the_first_seed_to_reach_an_object_claims_it(engine_world: World) -> None:
    session = engine_world.session()
    one, two, shared, own = await put_titled(session, "one", "two", "shared", "own")
    for source, target in ((one, shared), (two, shared), (two, own)):
        await session.link(source.id, target.id, "about", note=f"{source.title} to {target.title}")
    found = await session.expand_many([one.key, two.key], ["about"])
    claims = {obj.id: (obj.relation.source_id, obj.relation.meta.note) for obj in found if obj.relation is not None}
    assert claims == {shared.id: (one.id, "one to shared"), own.id: (two.id, "two to own")}
    assert len(found) == 2
    turned = await session.expand_many([two.key, one.key], ["about"])
    assert {obj.relation.source_id for obj in turned if obj.relation is not None} == {two.id}


async def test_the_source_is_the_seed_also_behind_several_hops(engine_world: World) -> None:
    session = engine_world.session()
    a, b, c = await put_titled(session, "a", "b", "c")
    await session.link(a.id, b.id, "about")
    await session.link(b.id, c.id, "about")
    found = await session.expand_many([a.key], ["about"], max_hops=2, direction="out")
    assert [(obj.id, obj.relation.source_id, obj.relation.depth) for obj in found if obj.relation] == [
        (b.id, a.id, 1),
        (c.id, a.id, 2),
    ]


async def test_a_seed_may_be_the_neighbour_of_another(engine_world: World) -> None:
    session = engine_world.session()
    a, b = await put_titled(session, "a", "b")
    await session.link(a.id, b.id, "about")
    assert ids(await session.expand_many([a.key, b.key], ["about"])) == [b.id, a.id]


async def test_parts_come_before_neighbours_with_an_otherwise_empty_relation(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["x", "y"])
    (linked,) = await put_titled(session, "linked")
    await session.link(parent.id, linked.id, "about")
    found = await session.expand_many([parent.key], ["about"], want_containment=True)
    assert ids(found) == [parts[0].id, parts[1].id, linked.id]
    relation = found[0].relation
    assert relation is not None
    assert (relation.source_id, relation.type, relation.direction, relation.depth) == (parent.id, "", "", 0)
    assert all(obj.content == "" for obj in found)


async def test_a_part_as_a_seed_gives_its_surroundings(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["x", "y"])
    assert ids(await session.expand_many([parts[0].key])) == [parent.id, parts[0].id, parts[1].id]


async def test_nil_unknown_deleted_and_foreign_seeds_are_skipped(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["x"])
    gone, _ = await put_family(session, ["y"])
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    await session.soft_delete(gone.id)
    seeds = [NIL_UUID, uuid4(), gone.key, foreign.key, parent.key, parent.key]
    assert ids(await session.expand_many(seeds)) == [parts[0].id]


async def test_no_seeds_give_nothing(engine_world: World) -> None:
    assert await engine_world.session().expand_many([]) == []
    assert await engine_world.session().expand_many([NIL_UUID]) == []


async def test_it_stops_at_its_budget_without_touching_later_seeds(engine_world: World) -> None:
    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    session = engine_world.session(store=store, graph=graph)
    parent, parts = await put_family(session, [f"p{number}" for number in range(9)])
    seeds = [parent.key, *(uuid4() for _ in range(40_000))]
    store.calls.clear()
    found = await session.expand_many(seeds, budget=5)
    assert ids(found) == [part.id for part in parts[:5]]
    assert store.calls == ["get_many", "list_children"]


@pytest.mark.parametrize("budget", [0, -1])
async def test_the_default_budget_is_a_thousand(engine_world: World, budget: int) -> None:
    session = engine_world.session()
    parents = (await session.put_many([Object(kind="document", title="D") for _ in range(3)])).objects
    parts = [Object(kind="section", content="x", parent_id=p.key) for p in parents for _ in range(400)]
    assert (await session.put_many(parts)).ok
    assert len(await session.expand_many([p.key for p in parents], budget=budget)) == 1000


async def test_all_seeds_of_a_round_share_each_request(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    seeds = await put_titled(session, *(f"s{number}" for number in range(10)))
    (hub,) = await put_titled(session, "hub")
    for seed in seeds:
        await session.link(seed.id, hub.id, "about")
    graph.calls.clear()
    found = await session.expand_many([seed.key for seed in seeds], ["about"], max_hops=2, direction="out")
    assert (ids(found), graph.calls) == ([hub.id], ["neighbors", "neighbors"])


async def test_the_result_does_not_depend_on_the_run(engine_world: World) -> None:
    session = engine_world.session()
    seeds = await put_titled(session, *(f"s{number}" for number in range(20)))
    for index, seed in enumerate(seeds):
        for step in (1, 3, 7):
            await session.link(seed.id, seeds[(index + step) % 20].id, "about")
    runs = [ids(await session.expand_many([s.key for s in seeds], ["about"], max_hops=2)) for _ in range(5)]
    assert runs.count(runs[0]) == 5
    assert len(runs[0]) == len(set(runs[0])) == 20


async def test_a_graph_error_is_always_raised(engine_world: World) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    session = engine_world.session(graph=graph, observer=observer)
    parent, _ = await put_family(session, ["x"])
    graph.faults["neighbors"] = down("graph")
    with pytest.raises(BackendError, match="graph is down"):
        await session.expand_many([parent.key], ["contains", "about"])
    assert observer.last() == ("expand_many", 0, "none", BackendError)


async def test_graph_labels_need_a_graph(engine_world: World) -> None:
    with pytest.raises(GraphRequiredError):
        await engine_world.session(graph=None).expand_many([uuid4()], ["about"])
