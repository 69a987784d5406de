"""expand, expand_by_recipe: from one object to its parts and to its neighbours."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from uuid import uuid4

import pytest

from brain_async import (
    BackendError,
    EngineConfig,
    ExpandRecipe,
    ExpandRequest,
    GraphRequiredError,
    InvalidInputError,
    Object,
    ObjectIdRequiredError,
    ObjectNotFoundError,
    RecipeNameRequiredError,
    RecipeNotFoundError,
    ResultSetStoreRequiredError,
    Session,
)
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import Edge
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyStore,
    RecordingObserver,
    World,
    all_pages,
    depths,
    down,
    ids,
    outcomes,
    put_family,
    put_titled,
)

pytestmark = pytest.mark.on_helix


async def chain(session: Session, *titles: str, label: str = "about") -> list[Object]:
    """Objects, each linked to the next, with the note "first-second"."""
    objects = await put_titled(session, *titles)
    for source, target in pairwise(objects):
        await session.link(source.id, target.id, label, note=f"{source.title}-{target.title}")
    return objects


# Containment


async def test_a_parent_gives_its_parts_by_position_without_content(engine_world: World) -> None:
    session = engine_world.session()
    parts = [{"content": "x", "position": position} for position in (3, 0, None, 2, -1)]
    parent, stored = await put_family(session, parts)
    page = await session.expand(parent.id)
    assert ids(page) == [stored[index].id for index in (4, 1, 3, 0, 2)]
    assert all(obj.content == "" and obj.relation is None for obj in page.objects)
    assert (page.mode, page.result_set_id, page.has_more, page.total) == ("children", None, False, 5)


async def test_a_part_gives_its_parent_and_the_siblings_around_it(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(sibling_radius=1))
    parent, parts = await put_family(session, [f"p{number}" for number in range(7)])
    page = await session.expand(parts[3].id)
    assert ids(page) == [parent.id, parts[2].id, parts[3].id, parts[4].id]
    assert page.mode == "neighborhood"
    assert ids(await session.expand(parts[0].id)) == [parent.id, parts[0].id, parts[1].id]
    assert ids(await session.expand(parts[6].id)) == [parent.id, parts[5].id, parts[6].id]


async def test_the_default_window_is_five_each_side(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, [f"p{number}" for number in range(14)])
    assert ids(await session.expand(parts[7].id)) == [parent.id, *(part.id for part in parts[2:13])]


@pytest.mark.parametrize("labels", [[], ["", "  "], ["contains"], ["PART_OF"], [" partof "], ["contains", "Contains"]])
async def test_containment_is_asked_for_by_name_or_by_naming_nothing(engine_world: World, labels: list[str]) -> None:
    session = engine_world.session(graph=None)
    parent, parts = await put_family(session, ["a", "b"])
    assert ids(await session.expand(parent.id, labels)) == [part.id for part in parts]


async def test_an_object_without_parts_gives_an_empty_page(engine_world: World) -> None:
    session = engine_world.session()
    (alone,) = await put_titled(session, "alone")
    page = await session.expand(alone.id)
    assert (page.objects, page.mode, page.has_more) == ((), "children", False)


async def test_a_part_whose_parent_is_gone_cannot_be_expanded(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["a"])
    await session.soft_delete(parent.id)
    with pytest.raises(ObjectNotFoundError, match="parent not found"):
        await session.expand(parts[0].id)


# Paging


async def test_up_to_twenty_come_whole_and_the_limit_does_not_matter(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [f"p{number}" for number in range(20)])
    await session.search("anything")
    before = session.context.active
    page = await session.expand(parent.id, limit=3)
    assert (len(page.objects), page.result_set_id) == (20, None)
    assert session.context.active is before, "no result set was touched"


async def test_more_are_paged_with_their_relations(engine_world: World) -> None:
    session = engine_world.session()
    (hub,) = await put_titled(session, "hub")
    others = await put_titled(session, *(f"o{number}" for number in range(23)))
    for number, other in enumerate(others):
        await session.link(hub.id, other.id, "about", note=f"note {number}")
    page = await session.expand(hub.id, ["about"])
    assert (len(page.objects), page.has_more, page.total, page.mode) == (10, True, 23, "graph")
    served = list(page.objects)
    while page.has_more:
        page = await session.continue_(page.result_set_id)
        served += page.objects
    notes = {obj.id: obj.relation.meta.note for obj in served if obj.relation is not None}
    assert notes == {other.id: f"note {number}" for number, other in enumerate(others)}
    assert len(served) == 23


async def test_the_result_set_is_cut_to_its_maximum(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(max_result_set_size=10, expand_inline_max=5))
    parent, parts = await put_family(session, [f"p{number}" for number in range(30)])
    page = await session.expand(parent.id, limit=4)
    assert (len(page.objects), page.total) == (4, 10)
    assert await all_pages(session, page, limit=4) == [part.id for part in parts[:10]]


async def test_only_a_paged_expand_needs_a_result_set_store(engine_world: World) -> None:
    session = engine_world.session()
    engine = engine_world.engine()
    small, _ = await put_family(session, ["a"])
    large, _ = await put_family(session, [f"p{number}" for number in range(21)])
    assert len((await engine.expand(session.scope, ExpandRequest(object_id=small.id))).objects) == 1
    with pytest.raises(ResultSetStoreRequiredError):
        await engine.expand(session.scope, ExpandRequest(object_id=large.id))


# The graph


async def test_two_hops_report_their_depths_and_directions(engine_world: World) -> None:
    session = engine_world.session()
    a, b, c, _ = await chain(session, "a", "b", "c", "d")
    page = await session.expand(a.id, ["about"], max_hops=2)
    assert [(obj.id, obj.relation.depth, obj.relation.direction) for obj in page.objects if obj.relation] == [
        (b.id, 1, "out"),
        (c.id, 2, "out"),
    ]
    relation = page.objects[1].relation
    assert relation is not None
    assert (relation.type, relation.source_id, relation.meta.note) == ("about", b.id, "b-c")
    assert (page.mode, page.result_set_id) == ("graph", None)


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("out", "c"), (" OUT ", "c"), ("in", "a"), ("both", "ca"), ("", "ca"), ("sideways", "ca")],
)
async def test_directions(engine_world: World, direction: str, expected: str) -> None:
    session = engine_world.session()
    _, b, _ = await chain(session, "a", "b", "c")
    page = await session.expand(b.id, ["about"], direction=direction)
    assert "".join(obj.title for obj in page.objects) == expected


@pytest.mark.parametrize(("hops", "reached"), [(-1, "b"), (0, "b"), (1, "b"), (3, "bcd"), (4, "bcde"), (99, "bcde")])
async def test_hops_are_at_least_one_and_at_most_four(engine_world: World, hops: int, reached: str) -> None:
    session = engine_world.session()
    a, *_ = await chain(session, *"abcdef")
    page = await session.expand(a.id, ["about"], max_hops=hops, direction="out")
    assert "".join(obj.title for obj in page.objects) == reached


async def test_labels_ignore_case_and_count_once(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    a, b = await chain(session, "a", "b", label="References")
    page = await session.expand(a.id, ["REFERENCES", " references ", ""])
    assert ids(page) == [b.id]
    assert page.objects[0].relation is not None
    assert page.objects[0].relation.type == "references"


async def test_children_is_an_ordinary_label(engine_world: World) -> None:
    session = engine_world.session()
    a, b = await chain(session, "a", "b", label="children")
    page = await session.expand(a.id, ["children"])
    assert (ids(page), page.mode) == ([b.id], "graph")
    with pytest.raises(GraphRequiredError):
        await engine_world.session(graph=None).expand(a.id, ["children"])


async def test_containment_and_graph_together_are_mixed(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["the part"])
    (linked,) = await put_titled(session, "linked")
    edge = Edge(from_id=parts[0].key, to_id=linked.key, relation_type="about", namespace_id=engine_world.namespace)
    await engine_world.graph.add_edges(engine_world.scope, [edge])
    page = await session.expand(parts[0].id, ["contains", "about"])
    assert (ids(page), page.mode) == ([parent.id, parts[0].id, linked.id], "mixed")
    assert [obj.relation is None for obj in page.objects] == [True, True, False]
    assert outcomes(page) == {"containment": "ok", "graph": "ok"}


async def test_want_containment_adds_it_to_graph_labels(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["a"])
    (linked,) = await put_titled(session, "linked")
    await session.link(parent.id, linked.id, "about")
    page = await session.expand(parent.id, ["about"], want_containment=True)
    assert (ids(page), page.mode) == ([parts[0].id, linked.id], "mixed")


async def test_neighbours_outside_the_namespace_are_dropped_and_never_walked_through(engine_world: World) -> None:
    session, stranger = engine_world.session(), engine_world.stranger()
    a, b = await put_titled(session, "a", "b")
    (foreign,) = await put_titled(stranger.session(), "foreign")
    edges = [
        Edge(from_id=source, to_id=target, relation_type="about", namespace_id=engine_world.namespace)
        for source, target in ((a.key, foreign.key), (foreign.key, b.key), (a.key, uuid4()))
    ]
    await engine_world.graph.add_edges(engine_world.scope, edges)
    assert (await session.expand(a.id, ["about"], max_hops=4)).objects == ()


async def test_cycles_and_self_loops(engine_world: World) -> None:
    session = engine_world.session()
    a, b, c = await chain(session, "a", "b", "c")
    await session.link(c.id, a.id, "about")
    await session.link(a.id, a.id, "about")
    page = await session.expand(a.id, ["about"], max_hops=99, direction="out")
    assert [(obj.title, obj.relation.depth) for obj in page.objects if obj.relation] == [("b", 1), ("c", 2)]
    assert b.id in ids(page)


async def test_any_graph_is_walked_as_a_breadth_first_search_says(engine_world: World) -> None:
    session, random = engine_world.session(), Random(32)
    for _ in range(25):
        objects = (await session.put_many([Object(kind="thing", title="n") for _ in range(12)])).objects
        keys = [obj.key for obj in objects]
        pairs = [(random.choice(keys), random.choice(keys)) for _ in range(18)]
        linked = await session.link_many([Edge(from_id=a, to_id=b, relation_type="about") for a, b in pairs])
        assert linked.ok
        for direction in ("out", "in", "both", "both"):
            seed, hops = random.choice(keys), random.randint(1, 4)
            page = await session.expand(seed, ["about"], max_hops=hops, direction=direction)
            found = {obj.id: obj.relation.depth for obj in page.objects if obj.relation}
            assert len(page.objects) == len(found)
            assert found == depths(pairs, seed, hops, direction)


async def test_a_hub_is_cut_to_fifty_neighbours_and_paged(engine_world: World) -> None:
    session = engine_world.session()
    seed, hub = await chain(session, "seed", "hub")
    crowd = (await session.put_many([Object(kind="thing", title=f"n{number}") for number in range(300)])).objects
    edges = [
        Edge(from_id=hub.key, to_id=obj.key, relation_type="about", namespace_id=engine_world.namespace)
        for obj in crowd
    ]
    await engine_world.graph.add_edges(engine_world.scope, edges[::-1])
    page = await session.expand(seed.id, ["about"], max_hops=2, direction="out")
    assert (page.total, page.has_more) == (51, True)
    lowest = sorted(obj.key for obj in crowd)[:50]
    assert await all_pages(session, page) == [hub.id, *lowest]


async def test_a_hop_is_one_request_and_the_nodes_asked_about_are_bounded(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(max_graph_expand_nodes=2))
    a, *_ = await chain(session, *"abcdef")
    graph.calls.clear()
    page = await session.expand(a.id, ["about"], max_hops=4, direction="out")
    assert [obj.title for obj in page.objects] == ["b", "c"]
    assert graph.calls == ["neighbors", "neighbors"]


# What goes wrong


async def test_a_failing_graph_leaves_containment(engine_world: World) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    session = engine_world.session(graph=graph, observer=observer)
    parent, parts = await put_family(session, ["a", "b"])
    graph.faults["neighbors"] = down("graph")
    page = await session.expand(parent.id, ["contains", "references"])
    assert (ids(page), page.mode) == ([part.id for part in parts], "children")
    assert (page.degrade_mode, page.degraded) == ("containment_only", ("graph",))
    assert outcomes(page) == {"containment": "ok", "graph": "error"}
    assert observer.last() == ("expand", 2, "containment_only", None)
    assert (await session.expand(parts[0].id, ["contains", "references"])).mode == "neighborhood"


async def test_a_failing_graph_raises_where_it_was_all_or_where_configured(engine_world: World) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    parent, _ = await put_family(engine_world.session(), ["a"])
    graph.faults["neighbors"] = error = down("graph")
    session = engine_world.session(graph=graph, observer=observer)
    with pytest.raises(BackendError) as caught:
        await session.expand(parent.id, ["references"])
    assert caught.value is error
    assert observer.last() == ("expand", 0, "none", BackendError)
    strict = engine_world.session(graph=graph, config=EngineConfig(fail_on_graph_error=True))
    with pytest.raises(BackendError):
        await strict.expand(parent.id, ["contains", "references"])


async def test_a_store_that_fails_while_neighbours_are_loaded_is_no_shorter_list(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    a, *_ = await chain(session, "a", "b")
    reads = iter([None, down("store")])

    async def fail_on_the_second_read() -> None:
        if (error := next(reads)) is not None:
            raise error

    store.faults["get_many"] = fail_on_the_second_read
    with pytest.raises(BackendError, match="store is down"):
        await session.expand(a.id, ["about"])


async def test_a_failing_containment_is_raised_even_if_the_graph_answers(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    a, *_ = await chain(session, "a", "b")
    store.faults["list_children"] = error = RuntimeError("a driver's own error")
    with pytest.raises(RuntimeError) as caught:
        await session.expand(a.id, ["contains", "about"])
    assert caught.value is error, "never an exception group"


@pytest.mark.parametrize("object_id", [None, NIL_UUID])
async def test_an_id_is_required(engine_world: World, object_id: None) -> None:
    with pytest.raises(ObjectIdRequiredError):
        await engine_world.session().expand(object_id)


async def test_the_object_must_be_visible(engine_world: World) -> None:
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    for object_id in (uuid4(), foreign.id):
        with pytest.raises(ObjectNotFoundError):
            await engine_world.session().expand(object_id)


async def test_graph_labels_without_a_graph_are_an_error_even_beside_containment(engine_world: World) -> None:
    session = engine_world.session(graph=None)
    parent, _ = await put_family(session, ["a"])
    with pytest.raises(GraphRequiredError):
        await session.expand(parent.id, ["contains", "about"], want_containment=True)


# Recipes


async def test_a_recipe_is_an_expand_with_a_name(engine_world: World) -> None:
    recipes = [ExpandRecipe(name=" story ", relation_types=["about"], max_hops=2, direction="out")]
    session = engine_world.session(recipes=recipes)
    a, b, c = await chain(session, "a", "b", "c")
    assert ids(await session.expand_by_recipe("story", a.id)) == [b.id, c.id]
    assert ids(await session.expand_by_recipe(" story ", c.id)) == []


async def test_a_recipe_of_the_same_name_replaces_it(engine_world: World) -> None:
    engine = engine_world.engine(recipes=[ExpandRecipe(name="story", relation_types=["about"])])
    engine.register_expand_recipe(ExpandRecipe(name="story", relation_types=["about"], max_hops=2))
    session = engine.session(engine_world.namespace)
    a, b, c = await chain(session, "a", "b", "c")
    assert ids(await session.expand_by_recipe("story", a.id)) == [b.id, c.id]


async def test_a_recipe_needs_a_name_and_must_exist(engine_world: World) -> None:
    with pytest.raises(RecipeNameRequiredError):
        engine_world.engine(recipes=[ExpandRecipe(name="  ")])
    with pytest.raises(RecipeNotFoundError, match="ghost") as caught:
        await engine_world.session().expand_by_recipe("ghost", uuid4())
    assert caught.value.name == "ghost"
    with pytest.raises(InvalidInputError):
        await engine_world.session().expand_by_recipe(None, uuid4())  # type: ignore[arg-type]
