"""find_objects: whole entities by their text and vector in the graph."""

from __future__ import annotations

from uuid import uuid4

import msgspec
import pytest

from brain_async import (
    BackendError,
    Engine,
    EngineConfig,
    FieldSpec,
    FindObjectsRequest,
    InvalidFilterError,
    InvalidKindError,
    KindSpec,
    Object,
    ObjectSearchUnavailableError,
    QueryRequiredError,
    ResultSetStoreRequiredError,
    Scope,
)
from tests.integration.engine.world import (
    FaultyGraph,
    RecordingObserver,
    WordEmbedder,
    World,
    all_pages,
    down,
    ids,
    outcomes,
    put_family,
    put_titled,
)

pytestmark = pytest.mark.on_helix


async def test_entities_are_found_by_title_summary_properties_and_content(engine_world: World) -> None:
    session = engine_world.session()
    titled, *_ = await put_titled(session, "Ada Example", "Nobody")
    summed = await session.put(Object(kind="thing", title="A", summary="works on ada"))
    described = await session.put(Object(kind="thing", title="B", properties={"manager": "Ada"}))
    written = await session.put(Object(kind="thing", title="C", content="met ada yesterday"))
    page = await session.find_objects("ada")
    assert set(ids(page)) == {titled.id, summed.id, described.id, written.id}
    assert all(obj.content == "" and obj.evidence == () and obj.score is not None for obj in page.objects)
    assert outcomes(page) == {"graph_text": "ok", "graph_vector": "skipped"}


async def test_a_vector_finds_what_the_text_does_not(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    (entity,) = await put_titled(session, "alpha beta gamma delta epsilon zeta eta theta iota kappa")
    page = await session.find_objects("omicron")
    assert ids(page) == [entity.id]
    assert outcomes(page) == {"graph_text": "empty", "graph_vector": "ok"}


async def test_parts_are_never_found(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, [{"title": "lemon", "content": "lemon"}])
    assert (await session.find_objects("lemon")).objects == ()


async def test_nothing_found_leaves_the_active_result_set_alone(engine_world: World) -> None:
    session = engine_world.session()
    await put_titled(session, *(f"lemon {number}" for number in range(3)))
    first = await session.find_objects("lemon", limit=1)
    nothing = await session.find_objects("unheard")
    assert (nothing.objects, nothing.result_set_id, nothing.has_more) == ((), None, False)
    assert len((await session.continue_(first.result_set_id)).objects) == 2


async def test_kinds_restrict_and_replace_a_kind_filter(engine_world: World) -> None:
    session = engine_world.session()
    await put_titled(session, "lemon one")
    person = await session.put(Object(kind="person", title="lemon two"))
    deal = await session.put(Object(kind="deal", title="lemon three"))
    assert ids(await session.find_objects("lemon", kinds=["person"])) == [person.id]
    assert ids(await session.find_objects("lemon", filters={"kind": "deal"})) == [deal.id]
    both = await session.find_objects("lemon", kinds=[" person ", "", "deal"], filters={"kind": "thing"})
    assert set(ids(both)) == {person.id, deal.id}
    assert len((await session.find_objects("lemon", kinds=["  "])).objects) == 3, "only blanks name no kind"


async def test_a_rare_kind_fills_the_page(engine_world: World) -> None:
    session = engine_world.session()
    crowd = [Object(kind="thing", title="lemon lemon lemon") for _ in range(200)]
    rare = [Object(kind="person", title="a lemon and a great many other words") for _ in range(5)]
    await session.put_many(crowd + rare)
    assert len((await session.find_objects("lemon", kinds=["person"], limit=5)).objects) == 5


async def test_unregistered_kinds_stay_visible_here(engine_world: World) -> None:
    await put_titled(engine_world.session(), "lemon")
    session = engine_world.session(kinds=[KindSpec(kind="person")])
    assert len((await session.find_objects("lemon")).objects) == 1


async def test_the_catalog_freezes_only_when_kinds_or_filters_are_given(engine_world: World) -> None:
    engine = engine_world.engine(kinds=[KindSpec(kind="thing", fields=(FieldSpec(name="n", type="number"),))])
    session = engine.session(engine_world.namespace)
    await session.find_objects("lemon")
    engine.register_kinds([KindSpec(kind="person")])
    await session.find_objects("lemon", kinds=["person"])
    with pytest.raises(Exception, match="frozen"):
        engine.register_kinds([KindSpec(kind="deal")])


async def test_kinds_and_filters_are_validated(engine_world: World) -> None:
    session = engine_world.session(kinds=[KindSpec(kind="thing")])
    with pytest.raises(InvalidKindError):
        await session.find_objects("lemon", kinds=["ghost"])
    with pytest.raises(InvalidFilterError):
        await session.find_objects("lemon", filters={"n": 1})


async def test_what_the_store_no_longer_shows_is_dropped(engine_world: World) -> None:
    session = engine_world.session()
    gone, kept = await put_titled(session, "lemon gone", "lemon kept")
    await engine_world.store.soft_delete(engine_world.scope, gone.key, at=gone.updated_at)  # type: ignore[arg-type]
    ghost = Object(id=uuid4(), kind="thing", title="lemon ghost", namespace_id=engine_world.namespace)
    await engine_world.graph.ensure_objects(engine_world.scope, [ghost])
    page = await session.find_objects("lemon")
    assert (ids(page), page.total) == ([kept.id], 1)


async def test_any_number_of_ghosts_does_not_hide_an_object(engine_world: World) -> None:
    session = engine_world.session()
    (kept,) = await put_titled(session, "lemon and a few words more")
    ghosts = [Object(id=uuid4(), kind="thing", title="lemon", namespace_id=engine_world.namespace) for _ in range(300)]
    await engine_world.graph.ensure_objects(engine_world.scope, ghosts)
    assert ids(await session.find_objects("lemon", limit=1)) == [kept.id]


async def test_hundreds_of_equal_vectors_are_no_trouble(engine_world: World) -> None:
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder)
    stored = await put_titled(session, *["lemon"] * 10)
    ghost = Object(
        kind="thing",
        title="lemon",
        namespace_id=engine_world.namespace,
        embedding=tuple((await embedder.embed("lemon")).tolist()),
    )
    ghosts = [msgspec.structs.replace(ghost, id=uuid4()) for _ in range(900)]
    await engine_world.graph.ensure_objects(engine_world.scope, ghosts)
    page = await session.find_objects("lemon", limit=10)
    assert set(ids(page)) == {obj.id for obj in stored}
    assert outcomes(page) == {"graph_text": "ok", "graph_vector": "ok"}


async def test_the_store_decides_whether_the_filters_hold(engine_world: World) -> None:
    session = engine_world.session()
    (entity,) = await put_titled(session, "lemon", properties={"stage": "won"})
    stale = Object(
        id=entity.key,
        kind="thing",
        title="lemon",
        namespace_id=engine_world.namespace,
        properties={"stage": "lost"},
        created_at=entity.created_at,
        updated_at=entity.updated_at,
    )
    await engine_world.graph.ensure_objects(engine_world.scope, [stale])
    assert ids(await session.find_objects("lemon", filters={"stage": "lost"})) == []


async def test_the_page_can_be_continued(engine_world: World) -> None:
    session = engine_world.session()
    stored = await put_titled(session, *(f"lemon {number}" for number in range(25)))
    page = await session.find_objects("lemon")
    assert (len(page.objects), page.has_more) == (10, True)
    found = await all_pages(session, page)
    assert sorted(found) == sorted(obj.key for obj in stored)
    assert page.total == 25


async def test_more_is_asked_of_the_graph_than_the_page_holds(engine_world: World) -> None:
    session = engine_world.session()
    await session.put_many([Object(kind="thing", title=f"lemon {number}") for number in range(130)])
    assert (await session.find_objects("lemon", limit=5)).total == 40
    assert (await session.find_objects("lemon", limit=30)).total == 90


async def test_a_failing_embedder_degrades_or_raises_as_configured(engine_world: World) -> None:
    async def fail(texts: object) -> None:
        raise RuntimeError("no model")

    await put_titled(engine_world.session(), "lemon")
    observer = RecordingObserver()
    session = engine_world.session(embedder=WordEmbedder(fail), observer=observer)
    page = await session.find_objects("lemon")
    assert (len(page.objects), page.degrade_mode.value, page.degraded) == (1, "lexical_only", ("graph_vector",))
    assert observer.last() == ("find_objects", 1, "lexical_only", None)
    strict = engine_world.session(embedder=WordEmbedder(fail), config=EngineConfig(fail_on_embedder_error=True))
    with pytest.raises(BackendError) as caught:
        await strict.find_objects("lemon")
    assert isinstance(caught.value.__cause__, RuntimeError)


async def test_a_failing_text_search_always_raises(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    graph.faults["search_objects_text"] = down("graph")
    session = engine_world.session(graph=graph, embedder=WordEmbedder())
    with pytest.raises(BackendError, match="graph is down"):
        await session.find_objects("lemon")


async def test_checks_come_in_a_fixed_order(engine_world: World) -> None:
    scope = Scope(engine_world.namespace)
    bad = FindObjectsRequest(query=" ", filters={"": 1})
    with pytest.raises(ObjectSearchUnavailableError):
        await Engine(engine_world.store).find_objects(scope, bad)
    engine = engine_world.engine()
    with pytest.raises(ResultSetStoreRequiredError):
        await engine.find_objects(scope, bad)
    session = engine_world.session()
    with pytest.raises(QueryRequiredError):
        await session.find_objects(" ", filters={"": 1})
    with pytest.raises(InvalidFilterError):
        await session.find_objects("x", filters={"": 1})


async def test_a_graph_that_is_not_ready_has_no_object_search(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    graph.object_search_ready = False
    engine = engine_world.engine(graph=graph)
    assert (engine.has_object_search, engine.has_edge_search, engine.has_graph_writer) == (False, True, True)
    bare = engine_world.engine(graph=None)
    assert (bare.has_object_search, bare.has_edge_search, bare.has_graph_writer) == (False, False, False)
