"""link and unlink: edges between first-class objects, recorded in the ledger first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from brain_async import (
    BackendError,
    BackendTimeoutError,
    EdgeMeta,
    EngineConfig,
    GraphWriterRequiredError,
    InvalidInputError,
    InvalidValueError,
    LinkArgumentsError,
    LinkNotFirstClassError,
    NamespaceMismatchError,
    ObjectNotFoundError,
    Scope,
)
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyLedger,
    RecordingObserver,
    World,
    down,
    hang,
    ids,
    put_family,
    put_titled,
)

pytestmark = pytest.mark.on_helix

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_one_edge_per_ends_and_label(engine_world: World) -> None:
    session = engine_world.session()
    a, b = await put_titled(session, "a", "b")
    for label, note in (("about", "1"), ("about", "2"), (" about ", "3"), ("About", "4"), ("references", "r")):
        await session.link(a.id, b.id, label, note=note)
    await session.link(b.id, a.id, "about", note="back")
    page = await session.expand(a.id, ["about", "references"])
    assert ids(page) == [b.id], "an object is reached once"
    around = (
        await engine_world.graph.neighbors(session.scope, [a.key], ["about", "references"], direction="both", limit=50)
    )[a.key]
    assert [(edge.relation_type, edge.direction, edge.meta.note) for edge in around] == [
        ("about", "out", "4"),
        ("about", "in", "back"),
        ("references", "out", "r"),
    ]


async def test_linking_again_replaces_the_metadata_and_keeps_created_at(engine_world: World) -> None:
    clock = [NOW]
    session = engine_world.session(ledger=engine_world.ledger, config=EngineConfig(now=lambda: clock[0]))
    a, b = await put_titled(session, "a", "b")
    first = await session.link(a.id, b.id, "about", note="one", status="open", role="buyer", confidence=0.5)
    clock[0] += timedelta(days=1)
    second = await session.link(a.id, b.id, "about", note="two")
    assert (first.meta.created_at, second.meta.created_at, second.meta.updated_at) == (NOW, NOW, clock[0])
    page = await session.expand(a.id, ["about"])
    relation = page.objects[0].relation
    assert relation is not None
    assert (relation.meta.note, relation.meta.status, relation.meta.role, relation.meta.confidence) == (
        "two",
        "",
        "",
        0,
    )
    assert (relation.meta.created_at, relation.meta.updated_at) == (NOW, clock[0])


async def test_a_hundred_repeats_leave_one_edge(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    a, b = await put_titled(session, "a", "b")
    for number in range(100):
        await session.link(a.id, b.id, "about", note=f"note {number}")
    assert len(await session.find_links("about", "note")) == 1
    assert len(await engine_world.ledger.scan_edges(session.scope, after=None, limit=10)) == 1


async def test_self_links_and_containment_labels_are_not_refused(engine_world: World) -> None:
    session = engine_world.session()
    (a,) = await put_titled(session, "a")
    assert (await session.link(a.id, a.id, "contains")).relation_type == "contains"
    assert (await session.expand(a.id, ["about"])).objects == ()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((None, None, ""), "from_id"),
        ((NIL_UUID, uuid4(), "x"), "from_id"),
        ((uuid4(), None, "x"), "to_id"),
        ((uuid4(), NIL_UUID, ""), "to_id"),
        ((uuid4(), uuid4(), " \t"), "relation_type"),
    ],
)
async def test_the_first_missing_argument_is_named(engine_world: World, arguments: Any, field: str) -> None:
    for verb in (engine_world.session().link, engine_world.session().unlink):
        with pytest.raises(LinkArgumentsError, match=f"{field} is missing") as caught:
            await verb(*arguments)
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("arguments", "meta", "field"),
    [
        (("x", uuid4(), "about"), {}, "from_id"),
        ((uuid4(), 3, "about"), {}, "to_id"),
        ((uuid4(), uuid4(), 7), {}, "relation_type"),
        ((uuid4(), uuid4(), "a\x00b"), {}, "relation_type"),
        ((uuid4(), uuid4(), "x" * 300), {}, "relation_type"),
        ((uuid4(), uuid4(), "about"), {"note": "a\x00b"}, "note"),
        ((uuid4(), uuid4(), "about"), {"note": "\ud800"}, "note"),
        ((uuid4(), uuid4(), "about"), {"confidence": float("nan")}, "confidence"),
        ((uuid4(), uuid4(), "about"), {"confidence": float("inf")}, "confidence"),
    ],
)
async def test_values_that_cannot_be_kept_are_refused_before_any_read(
    engine_world: World, arguments: Any, meta: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await engine_world.session().link(*arguments, **meta)
    assert caught.value.field == field


async def test_metadata_must_be_metadata(engine_world: World) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await engine_world.engine().link(engine_world.scope, uuid4(), uuid4(), "about", {"note": "x"})  # type: ignore[arg-type]
    assert caught.value.field == "meta"
    assert not isinstance(caught.value, InvalidValueError)


async def test_both_ends_must_be_visible(engine_world: World) -> None:
    session = engine_world.session()
    (a,) = await put_titled(session, "a")
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    for from_id, to_id, end in ((uuid4(), a.id, "from"), (a.id, uuid4(), "to"), (a.id, foreign.id, "to")):
        with pytest.raises(ObjectNotFoundError, match=f"{end} object not found"):
            await session.link(from_id, to_id, "about")
    assert (await session.expand(a.id, ["about"])).objects == ()


async def test_both_ends_must_be_first_class(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["x"])
    for from_id, to_id, field in ((parts[0].id, parent.id, "from_id"), (parent.id, parts[0].id, "to_id")):
        with pytest.raises(LinkNotFirstClassError) as caught:
            await session.link(from_id, to_id, "about")
        assert caught.value.field == field


async def test_both_ends_must_be_of_one_namespace_also_without_a_scope(engine_world: World) -> None:
    (a,) = await put_titled(engine_world.session(), "a")
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    with pytest.raises(NamespaceMismatchError):
        await engine_world.engine().link(Scope(), a.id, foreign.id, "about")


async def test_without_a_scope_the_edge_belongs_to_the_namespace_of_its_ends(engine_world: World) -> None:
    session = engine_world.session()
    a, b = await put_titled(session, "a", "b")
    edge = await engine_world.engine().link(Scope(), a.id, b.id, "about")
    assert edge.namespace_id == engine_world.namespace
    assert ids(await session.expand(a.id, ["about"])) == [b.id]


async def test_unlinking_removes_one_edge_and_is_no_error_when_repeated(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    a, b = await put_titled(session, "a", "b")
    await session.link(a.id, b.id, "about")
    await session.link(b.id, a.id, "about")
    await session.unlink(a.id, b.id, " ABOUT ")
    await session.unlink(a.id, b.id, "about")
    page = await session.expand(a.id, ["about"])
    assert [obj.relation.direction for obj in page.objects if obj.relation] == ["in"]
    assert len(await engine_world.ledger.scan_edges(session.scope, after=None, limit=10)) == 1


async def test_a_graph_that_can_write_is_required(engine_world: World) -> None:
    class ReadOnlyGraph:
        async def neighbors(self, *args: object, **kwargs: object) -> dict[object, object]:
            return {}

    for graph in (None, ReadOnlyGraph()):
        session = engine_world.session(graph=graph)
        for verb in (session.link, session.unlink):
            with pytest.raises(GraphWriterRequiredError):
                await verb(None, None, "")


async def test_a_failing_ledger_leaves_the_graph_alone(engine_world: World) -> None:
    ledger, graph = FaultyLedger(engine_world.ledger), FaultyGraph(engine_world.graph)
    session = engine_world.session(ledger=ledger, graph=graph)
    a, b = await put_titled(session, "a", "b")
    graph.calls.clear()
    ledger.faults["record_edges"] = error = down("ledger")
    with pytest.raises(BackendError) as caught:
        await session.link(a.id, b.id, "about")
    assert caught.value is error
    assert graph.calls == []


async def test_a_failing_graph_loses_nothing_that_the_ledger_has(engine_world: World) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    session = engine_world.session(graph=graph, ledger=engine_world.ledger, observer=observer)
    a, b = await put_titled(session, "a", "b")
    graph.faults["add_edges"] = RuntimeError("driver")
    with pytest.raises(BackendError) as caught:
        await session.link(a.id, b.id, "about", note="kept")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert observer.last() == ("link", 0, "none", BackendError)
    graph.faults.clear()
    assert await engine_world.engine(graph=graph, ledger=engine_world.ledger).project(session.scope) == (2, 1)
    assert ids(await session.expand(a.id, ["about"])) == [b.id]


async def test_a_hanging_graph_is_bounded_and_repeating_gives_one_edge(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(graph_timeout=0.3))
    a, b = await put_titled(session, "a", "b")
    graph.late["add_edges"] = hang
    with pytest.raises(BackendTimeoutError):
        await session.link(a.id, b.id, "about", note="n")
    graph.late.clear()
    await session.link(a.id, b.id, "about", note="n")
    assert len(await session.find_links("about", "n")) == 1


async def test_all_metadata_comes_back(engine_world: World) -> None:
    session = engine_world.session()
    a, b = await put_titled(session, "a", "b")
    meta = EdgeMeta(
        note="N", status="S", role="R", confidence=0.25, evidence_id=uuid4(), created_at=NOW, updated_at=NOW
    )
    edge = await engine_world.engine().link(session.scope, a.id, b.id, "about", meta)
    assert edge.meta == meta
    relation = (await session.expand(a.id, ["about"])).objects[0].relation
    assert relation is not None
    assert relation.meta == meta
