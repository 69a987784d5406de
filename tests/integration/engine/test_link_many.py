"""link_many: ``link`` for many, in which one bad edge never takes its neighbours along."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import Edge, EdgeMeta, GraphWriterRequiredError, InvalidInputError, LinkManyResult, Object, Scope
from brain_async.ops import link
from tests.integration.engine.world import FaultyGraph, FaultyLedger, RecordingObserver, World, down, ids, put_titled

pytestmark = pytest.mark.on_helix


def edges_from(source: Object, targets: list[Object], note: str = "") -> list[Edge]:
    return [
        Edge(from_id=source.key, to_id=target.key, relation_type=" Cites ", meta=EdgeMeta(note=note))
        for target in targets
    ]


async def test_all_are_linked_and_recorded(engine_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LINK_BATCH", 2)
    observer = RecordingObserver()
    session = engine_world.session(ledger=engine_world.ledger, observer=observer)
    source, *targets = await put_titled(session, "a", "b", "c", "d", "e", "f")
    seen: list[tuple[int, int]] = []
    result = await session.link_many(
        edges_from(source, targets, note="see chapter two"), progress=lambda done, of: seen.append((done, of))
    )
    assert result.ok
    assert [edge.to_id for edge in result.edges] == ids(targets)
    assert {edge.relation_type for edge in result.edges} == {"cites"}
    assert all(edge.namespace_id == engine_world.namespace and edge.meta.created_at for edge in result.edges)
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert observer.last() == ("link_many", 5, "none", None)
    recorded = await engine_world.ledger.scan_edges(engine_world.scope, after=None, limit=10)
    assert {edge.key for edge in recorded} == {edge.key for edge in result.edges}
    assert {obj.id for obj in (await session.expand(source.key, ["cites"])).objects} == set(ids(targets))
    assert len(await session.find_links("cites", "chapter")) == 5


async def test_nothing_is_nothing(engine_world: World) -> None:
    assert await engine_world.session().link_many([]) == LinkManyResult()


async def test_each_bad_edge_fails_alone(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    source, target = await put_titled(session, "a", "b")
    part = await session.put(Object(kind="section", content="x", parent_id=source.key))
    good = Edge(from_id=source.key, to_id=target.key, relation_type="cites")
    foreign = Edge(from_id=source.key, to_id=target.key, relation_type="cites", namespace_id=uuid4())
    result = await session.link_many(
        [
            Edge(from_id=source.key, to_id=uuid4(), relation_type="cites"),
            Edge(from_id=source.key, to_id=target.key, relation_type="  "),
            good,
            Edge(from_id=source.key, to_id=part.key, relation_type="cites"),
            foreign,
            Edge(from_id=source.key, to_id=target.key, relation_type="x", meta=EdgeMeta(confidence=float("nan"))),
            "no edge",  # type: ignore[list-item]
        ]
    )
    assert [edge.key for edge in result.edges] == [good.key]
    assert [(failure.index, failure.code) for failure in result.failures] == [
        (0, "object_not_found"),
        (1, "link_arguments"),
        (3, "link_not_first_class"),
        (4, "namespace_mismatch"),
        (5, "invalid_value"),
        (6, "invalid_input"),
    ]
    assert not any(failure.recorded for failure in result.failures)


async def test_an_edge_must_be_of_the_namespace_of_its_ends(engine_world: World) -> None:
    source, target = await put_titled(engine_world.session(), "a", "b")
    engine = engine_world.engine(ledger=engine_world.ledger)
    own = Edge(from_id=source.key, to_id=target.key, relation_type="x", namespace_id=engine_world.namespace)
    other = Edge(from_id=source.key, to_id=target.key, relation_type="y", namespace_id=uuid4())
    result = await engine.link_many(Scope(), [own, other])
    assert [edge.key for edge in result.edges] == [own.key]
    assert [failure.code for failure in result.failures] == ["namespace_mismatch"]


async def test_of_edges_with_one_key_the_last_counts(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    source, target = await put_titled(session, "a", "b")
    result = await session.link_many([*edges_from(source, [target], "old"), *edges_from(source, [target], "new")])
    assert result.ok
    assert await session.find_links("cites", "old") == []
    assert len(await session.find_links("cites", "new")) == 1


async def test_a_failing_graph_loses_nothing(engine_world: World) -> None:
    source, *targets = await put_titled(engine_world.session(), "a", "b", "c")
    graph = FaultyGraph(engine_world.graph)
    graph.faults["add_edges"] = down("graph")
    session = engine_world.session(graph=graph, ledger=engine_world.ledger)
    result = await session.link_many(edges_from(source, targets))
    assert result.edges == ()
    assert [(failure.code, failure.recorded) for failure in result.failures] == [("backend_error", True)] * 2
    assert len(await engine_world.ledger.scan_edges(engine_world.scope, after=None, limit=10)) == 2


async def test_a_failing_ledger_stops_the_graph(engine_world: World) -> None:
    source, *targets = await put_titled(engine_world.session(), "a", "b", "c")
    ledger = FaultyLedger(engine_world.ledger)
    ledger.faults["record_edges"] = down("ledger")
    session = engine_world.session(ledger=ledger)
    result = await session.link_many(edges_from(source, targets))
    assert [(failure.code, failure.recorded) for failure in result.failures] == [("backend_error", False)] * 2
    assert (await session.expand(source.key, ["cites"])).objects == ()


async def test_bad_calls_are_refused(engine_world: World) -> None:
    with pytest.raises(InvalidInputError):
        await engine_world.session().link_many("edges")  # type: ignore[arg-type]
    with pytest.raises(GraphWriterRequiredError):
        await engine_world.session(graph=None).link_many([])
