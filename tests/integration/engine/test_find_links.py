"""find_links: edges by the text of their notes."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import EdgeMeta, EdgeSearchUnavailableError, LinkQueryRequiredError, Object
from brain_async.model.relation import Edge
from tests.integration.engine.world import RecordingObserver, World, put_titled

pytestmark = pytest.mark.on_helix


async def test_a_note_leads_to_both_ends(engine_world: World) -> None:
    session = engine_world.session()
    one, two, three = await put_titled(session, "one", "two", "three")
    evidence_id = uuid4()
    await session.link(one.id, two.id, "mentions", note="Renewal risk in Q3", confidence=0.5, evidence_id=evidence_id)
    await session.link(one.id, three.id, "mentions", note="lunch")
    await session.link(two.id, three.id, "about", note="renewal")
    (hit,) = await session.find_links("mentions", "renewal")
    assert (hit.source.id, hit.target.id, hit.relation_type) == (one.id, two.id, "mentions")
    assert (hit.meta.note, hit.meta.confidence, hit.meta.evidence_id) == ("Renewal risk in Q3", 0.5, evidence_id)
    assert (hit.source.content, hit.score > 0) == ("", True)


async def test_the_label_ignores_case_and_blanks(engine_world: World) -> None:
    session = engine_world.session()
    one, two = await put_titled(session, "one", "two")
    await session.link(one.id, two.id, " Mentions ", note="renewal")
    assert len(await session.find_links("MENTIONS", "renewal")) == 1


async def test_an_edge_with_an_invisible_end_is_skipped_and_the_limit_still_filled(engine_world: World) -> None:
    session = engine_world.session()
    one, two = await put_titled(session, "one", "two")
    ghosts = [Edge(from_id=uuid4(), to_id=one.key, relation_type="mentions", meta=EdgeMeta(note="renewal"))]
    await engine_world.graph.add_edges(engine_world.scope, ghosts)
    await session.link(one.id, two.id, "mentions", note="renewal and a few words more")
    (hit,) = await session.find_links("mentions", "renewal", limit=1)
    assert (hit.source.id, hit.target.id) == (one.id, two.id)


async def test_any_number_of_ghosts_does_not_hide_a_link(engine_world: World) -> None:
    session = engine_world.session()
    one, two = await put_titled(session, "one", "two")
    ghosts = [
        Edge(from_id=uuid4(), to_id=one.key, relation_type="mentions", meta=EdgeMeta(note="renewal"))
        for _ in range(300)
    ]
    await engine_world.graph.add_edges(engine_world.scope, ghosts)
    await session.link(one.id, two.id, "mentions", note="renewal and a few words more")
    assert len(await session.find_links("mentions", "renewal", limit=1)) == 1


async def test_the_order_is_the_graphs_and_the_limit_cuts_it(engine_world: World) -> None:
    session = engine_world.session()
    one, *others = await put_titled(session, "one", *(f"o{number}" for number in range(15)))
    for number, other in enumerate(others):
        await session.link(one.id, other.id, "mentions", note="renewal " + "filler " * number)
    hits = await session.find_links("mentions", "renewal", limit=4)
    assert [hit.target.id for hit in hits] == [other.id for other in others[:4]]
    assert len(await session.find_links("mentions", "renewal")) == 10
    assert len(await session.find_links("mentions", "renewal", limit=-3)) == 10


async def test_another_namespace_sees_no_link(engine_world: World) -> None:
    session = engine_world.session()
    one, two = await put_titled(session, "one", "two")
    await session.link(one.id, two.id, "mentions", note="renewal")
    stranger = engine_world.stranger()
    assert await stranger.session().find_links("mentions", "renewal") == []


async def test_the_active_result_set_is_left_alone(engine_world: World) -> None:
    observer = RecordingObserver()
    session = engine_world.session(observer=observer)
    await put_titled(session, "one")
    page = await session.search("one")
    await session.find_links("mentions", "x")
    assert observer.last() == ("find_links", 0, "none", None)
    assert session.context.active is not None
    assert session.context.active.id == page.result_set_id


@pytest.mark.parametrize(
    ("label", "query", "field"), [(" ", "x", "relation_type"), ("x", "\t", "query"), ("", "", "relation_type")]
)
async def test_label_and_query_are_required(engine_world: World, label: str, query: str, field: str) -> None:
    with pytest.raises(LinkQueryRequiredError) as caught:
        await engine_world.session().find_links(label, query)
    assert caught.value.field == field


async def test_a_graph_is_required_before_anything_else(engine_world: World) -> None:
    with pytest.raises(EdgeSearchUnavailableError):
        await engine_world.session(graph=None).find_links("", "")


async def test_deleting_an_end_hides_the_link(engine_world: World) -> None:
    session = engine_world.session()
    one, two = await put_titled(session, "one", "two")
    await session.link(one.id, two.id, "mentions", note="renewal")
    await session.soft_delete(two.id)
    assert await session.find_links("mentions", "renewal") == []
    await session.put(Object(id=two.id, kind="thing", title="two again"))
    assert await session.find_links("mentions", "renewal") == [], "its edges went with it"
