"""put: prepare, embed, store, graph; refusals come before any write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from brain_async import (
    BackendTimeoutError,
    DimensionMismatchError,
    EmbedderError,
    Engine,
    EngineConfig,
    FieldSpec,
    GraphEnsureError,
    InvalidInputError,
    InvalidObjectError,
    KindSpec,
    NamespaceMismatchError,
    NamespaceRequiredError,
    Object,
    ObjectNotFoundError,
    ParentNotFirstClassError,
    Scope,
    SoftDeletedPutError,
    WritesUnsupportedError,
)
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import (
    FaultyGraph,
    RecordingObserver,
    WordEmbedder,
    World,
    down,
    hang,
    ids,
    put_family,
    put_titled,
)

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def at(moment: datetime) -> EngineConfig:
    return EngineConfig(now=lambda: moment)


async def test_what_is_missing_is_filled_in(engine_world: World) -> None:
    session = engine_world.session(config=at(NOW))
    stored = await session.put(Object(kind="  document ", title="T"))
    assert stored.id is not None
    assert (stored.kind, stored.namespace_id, stored.properties) == ("document", engine_world.namespace, {})
    assert (stored.created_at, stored.updated_at) == (NOW, NOW)
    assert (await session.put(Object(id=NIL_UUID, kind="document"))).id not in (None, NIL_UUID)


async def test_reading_gives_back_what_was_put(engine_world: World) -> None:
    session = engine_world.session(config=at(NOW))
    given = Object(
        id=uuid4(),
        kind="document",
        title="T",
        summary="S",
        content="C" * 5000,
        content_type="text/plain",
        properties={"a": [1, 2.5, None, {"b": True}], "n": 2**63 - 1, "text": "café ☕"},
        position=3,
        created_at=NOW - timedelta(days=3),
    )
    stored = await session.put(given)
    read = await session.read(given.id)
    for field in ("kind", "title", "summary", "content", "content_type", "properties", "position", "created_at"):
        assert getattr(read, field) == getattr(given, field) == getattr(stored, field), field


async def test_updated_at_is_always_now_and_created_at_stays(engine_world: World) -> None:
    first = await engine_world.session(config=at(NOW)).put(Object(kind="document", updated_at=NOW - timedelta(days=9)))
    assert first.updated_at == NOW
    later = NOW + timedelta(days=1)
    session = engine_world.session(config=at(later))
    again = await session.put(Object(id=first.id, kind="document", title="new", created_at=later))
    assert (again.created_at, again.updated_at, again.title) == (NOW, later, "new")


async def test_putting_what_was_read_keeps_created_at_to_the_microsecond(engine_world: World) -> None:
    session = engine_world.session(config=at(NOW))
    stored = await session.put(Object(kind="document"))
    read = await session.read(stored.id)
    await session.put(Object(id=read.id, kind=read.kind, created_at=read.created_at))
    assert (await session.read(stored.id)).created_at == NOW


@pytest.mark.on_helix
async def test_the_whole_object_is_replaced_everywhere(engine_world: World) -> None:
    session = engine_world.session()
    full = await session.put(Object(kind="thing", title="lemon", summary="S", content="C", properties={"a": "melon"}))
    await session.put(Object(id=full.id, kind="thing", title="apple"))
    read = await session.read(full.id)
    assert (read.title, read.summary, read.content, read.properties) == ("apple", "", "", {})
    assert ids(await session.find_objects("lemon")) == ids(await session.find_objects("melon")) == []
    assert ids(await session.find_objects("apple")) == [full.id]


@pytest.mark.on_helix
async def test_a_put_makes_deleted_live_again(engine_world: World) -> None:
    session = engine_world.session()
    stored = await session.put(Object(kind="thing", title="lemon"))
    await session.soft_delete(stored.id)
    await session.put(Object(id=stored.id, kind="thing", title="lemon"))
    assert ids(await session.find_objects("lemon")) == [stored.id]


@pytest.mark.on_helix
@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"deleted_at": NOW}, SoftDeletedPutError, "deleted_at"),
        ({"kind": "  "}, InvalidObjectError, "kind"),
        ({"parent_id": NIL_UUID}, InvalidObjectError, "parent_id"),
        ({"parent_id": uuid4()}, ParentNotFirstClassError, "parent_id"),
        ({"namespace_id": uuid4()}, NamespaceMismatchError, "namespace_id"),
        ({"created_at": datetime(2026, 1, 1)}, InvalidInputError, "created_at"),
    ],
)
async def test_refusals_name_the_field_and_write_nothing(
    engine_world: World, fields: dict[str, Any], error: type[InvalidInputError], field: str
) -> None:
    session = engine_world.session()
    object_id = uuid4()
    with pytest.raises(error) as caught:
        await session.put(Object(**{"id": object_id, "kind": "thing", "title": "lemon", **fields}))
    assert caught.value.field == field
    with pytest.raises(ObjectNotFoundError):
        await session.read(object_id)
    assert ids(await session.find_objects("lemon")) == []


async def test_a_namespace_is_needed_from_the_object_or_the_scope(engine_world: World) -> None:
    engine = engine_world.engine()
    with pytest.raises(NamespaceRequiredError):
        await engine.put(Scope(), Object(kind="thing"))
    stored = await engine.put(Scope(), Object(kind="thing", namespace_id=engine_world.namespace))
    assert stored.namespace_id == engine_world.namespace


@pytest.mark.on_helix
async def test_an_id_of_another_namespace_is_never_overwritten(engine_world: World) -> None:
    session, stranger = engine_world.session(), engine_world.stranger().session()
    stored = await session.put(Object(kind="thing", title="mine"))
    with pytest.raises(NamespaceMismatchError):
        await stranger.put(Object(id=stored.id, kind="thing", title="theirs"))
    with pytest.raises(NamespaceMismatchError):
        unscoped = Object(id=stored.id, kind="thing", namespace_id=stranger.scope.namespace_id)
        await engine_world.engine().put(Scope(), unscoped)
    assert (await session.read(stored.id)).title == "mine"


async def test_a_part_needs_a_live_first_class_parent(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["x"])
    own = uuid4()
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    for object_id, parent_id in ((uuid4(), parts[0].key), (own, own), (uuid4(), foreign.key)):
        with pytest.raises(ParentNotFirstClassError):
            await session.put(Object(id=object_id, kind="section", parent_id=parent_id))
    with pytest.raises(ParentNotFirstClassError):
        (other,) = await put_titled(session, "other")
        await session.put(Object(id=parent.id, kind="section", parent_id=other.key))
    await session.soft_delete(parent.id)
    with pytest.raises(ParentNotFirstClassError):
        await session.put(Object(kind="section", parent_id=parent.key))


CATALOG = [
    KindSpec(kind="deal", is_parent=True, fields=(FieldSpec(name="amount", type="number", required=True),)),
    KindSpec(kind="section", is_part=True),
]


async def test_registered_kinds_are_enforced(engine_world: World) -> None:
    session = engine_world.session(kinds=CATALOG)
    deal = await session.put(Object(kind="deal", properties={"amount": 10.0}))
    await session.put(Object(kind="section", parent_id=deal.key))
    for bad in (
        Object(kind="ghost"),
        Object(kind="deal"),
        Object(kind="deal", properties={"amount": True}),
        Object(kind="deal", properties={"amount": 1, "other": 2}),
        Object(kind="deal", properties={"amount": 1}, parent_id=deal.key),
        Object(kind="section"),
    ):
        with pytest.raises(InvalidObjectError):
            await session.put(bad)


async def test_a_store_that_cannot_write_is_said_so_first(engine_world: World) -> None:
    class ReadOnly:
        get = get_many = hydrate = list_children = scan = None

    with pytest.raises(WritesUnsupportedError):
        await Engine(ReadOnly()).put(engine_world.scope, Object(kind="", deleted_at=NOW))  # type: ignore[arg-type]


# Embedding


async def test_what_is_embedded(engine_world: World) -> None:
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder)
    parent = await session.put(
        Object(kind="deal", title="Renewal", summary="big", content="body", properties={"amount": 120000.0, "x": None})
    )
    await session.put(Object(kind="section", title="Terms", content="text", parent_id=parent.key))
    assert embedder.texts == ["Renewal\nbig\namount: 120000\nbody", "Renewal\nTerms\ntext"]


async def test_the_embedders_vector_replaces_the_callers_where_there_is_text(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    ones = (1.0,) * 8
    texted = await session.put(Object(kind="thing", title="alpha", embedding=ones, embedding_model="mine"))
    blank = await session.put(Object(kind="thing", embedding=ones, embedding_model="mine"))
    assert (texted.embedding, texted.embedding_model, blank.embedding_model) == (None, "words", "mine")
    stored = {
        obj.id: obj.embedding
        for obj in await engine_world.store.scan(session.scope, first_class=True, after=None, limit=9)
    }
    assert stored[blank.id] == ones
    assert stored[texted.id] != ones


@pytest.mark.on_helix
async def test_without_an_embedder_the_callers_vector_is_kept_and_searched(engine_world: World) -> None:
    plain = engine_world.session()
    parent = await plain.put(Object(kind="document", title="T"))
    await plain.put(Object(kind="section", title="alpha", parent_id=parent.key, embedding=(0.0,) * 7 + (1.0,)))
    page = await engine_world.session(embedder=WordEmbedder()).search("anything", channels=["vector"])
    assert ids(page) == [parent.id]


@pytest.mark.on_helix
async def test_a_text_whose_vector_is_all_zero_is_stored_without_one(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    stored = await session.put(Object(kind="thing", title="?!"))
    assert stored.embedding_model == ""
    (row,) = await engine_world.store.scan(session.scope, first_class=True, after=None, limit=9)
    assert row.embedding is None


@pytest.mark.on_helix
@pytest.mark.parametrize("answer", ["raises", "wrong count", "not finite", "ragged"])
async def test_a_failing_embedder_stores_nothing(engine_world: World, answer: str) -> None:
    class Broken(WordEmbedder):
        async def embed_many(self, texts: Any) -> Any:
            if answer == "raises":
                raise RuntimeError("no model")
            if answer == "ragged":
                return [[1.0], [1.0, 2.0]]
            return [[float("nan")] * 8] if answer == "not finite" else [[1.0] * 8] * 2

    session = engine_world.session(embedder=Broken())
    object_id = uuid4()
    with pytest.raises(EmbedderError) as caught:
        await session.put(Object(id=object_id, kind="thing", title="lemon"))
    if answer == "raises":
        assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ObjectNotFoundError):
        await session.read(object_id)
    assert ids(await engine_world.session().find_objects("lemon")) == []


async def test_a_hanging_embedder_is_bounded_and_stores_nothing(engine_world: World) -> None:
    async def wait(texts: object) -> None:
        await hang()

    session = engine_world.session(embedder=WordEmbedder(wait), config=EngineConfig(embed_batch_timeout=0.05))
    object_id = uuid4()
    with pytest.raises(BackendTimeoutError):
        await session.put(Object(id=object_id, kind="thing", title="lemon"))
    with pytest.raises(ObjectNotFoundError):
        await session.read(object_id)


@pytest.mark.on_helix
async def test_an_embedder_of_another_dimension_is_refused_before_writing(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder(dimension=9))
    object_id = uuid4()
    with pytest.raises(DimensionMismatchError) as caught:
        await session.put(Object(id=object_id, kind="thing", title="lemon"))
    assert (caught.value.expected, caught.value.got) == (8, 9)
    with pytest.raises(ObjectNotFoundError):
        await session.read(object_id)


@pytest.mark.on_helix
async def test_a_query_of_another_dimension_degrades_to_text(engine_world: World) -> None:
    parent, _ = await put_family(engine_world.session(embedder=WordEmbedder()), ["lemon"])
    session = engine_world.session(embedder=WordEmbedder(dimension=9))
    page = await session.search("lemon")
    assert (ids(page), page.degrade_mode) == ([parent.id], "lexical_only")
    assert {"vector", "graph_vector"} == set(page.degraded)
    assert any("9 dimensions" in outcome.detail and "8" in outcome.detail for outcome in page.outcomes)
    strict = engine_world.session(embedder=WordEmbedder(dimension=9), config=EngineConfig(fail_on_embedder_error=True))
    with pytest.raises(DimensionMismatchError):
        await strict.search("lemon")


# The graph


@pytest.mark.on_helix
async def test_only_first_class_objects_become_nodes(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    await put_family(session, ["x", "y"])
    assert graph.calls == ["ensure_objects"]


@pytest.mark.on_helix
@pytest.mark.parametrize("cause", [down("graph"), RuntimeError("driver"), DimensionMismatchError(expected=8, got=9)])
async def test_a_node_that_cannot_be_made_leaves_the_row_and_putting_again_heals(
    engine_world: World, cause: Exception
) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    session = engine_world.session(graph=graph, observer=observer)
    graph.faults["ensure_objects"] = cause
    obj = Object(id=uuid4(), kind="thing", title="lemon")
    with pytest.raises(GraphEnsureError) as caught:
        await session.put(obj)
    root = caught.value.__cause__
    assert cause in (root, None if root is None else root.__cause__)
    assert observer.last() == ("put", 0, "none", GraphEnsureError)
    assert (await session.read(obj.id)).title == "lemon"
    assert ids(await session.find_objects("lemon")) == []
    graph.faults.clear()
    await session.put(obj)
    assert ids(await session.find_objects("lemon")) == [obj.id]


@pytest.mark.on_helix
async def test_a_graph_whose_answer_is_lost_gives_one_node_after_repeating(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(graph_timeout=0.3))
    graph.late["ensure_objects"] = hang
    obj = Object(id=uuid4(), kind="thing", title="lemon")
    with pytest.raises(GraphEnsureError) as caught:
        await session.put(obj)
    assert isinstance(caught.value.__cause__, BackendTimeoutError)
    graph.late.clear()
    await session.put(obj)
    assert ids(await session.find_objects("lemon")) == [obj.id]


async def test_the_callers_object_is_left_as_it_was(engine_world: World) -> None:
    session = engine_world.session()
    properties = {"list": [1]}
    obj = Object(kind="thing", properties=properties)
    stored = await session.put(obj)
    properties["list"].append(2)
    assert (await session.read(stored.id)).properties == {"list": [1]}
    assert obj == msgspec.structs.replace(Object(kind="thing"), properties=properties)
