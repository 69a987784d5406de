"""Verbs composed as an agent does: entities, their neighbourhood, and a search in it."""

from __future__ import annotations

from brain_async import Object, Session, landing_ids, landing_ids_from_page, sort_rich_objects
from tests.integration.engine.world import WordEmbedder, World, evidence_ids, ids, put_family


async def deals(session: Session) -> tuple[Object, dict[str, Object]]:
    """A person with two deals, each with a document, and an unrelated deal with one; all documents talk of risk."""
    person = await session.put(Object(kind="person", title="Ada Example"))
    named: dict[str, Object] = {}
    for name in ("alpha", "beta", "unrelated"):
        named[name], _ = await put_family(session, [f"renewal risk of {name}"], kind="deal", title=f"Deal {name}")
    for name in ("alpha", "beta"):
        await session.link(person.id, named[name].id, "works_on", note=f"owns {name}")
    return person, named


async def test_find_objects_then_expand_many_then_search_stays_in_the_neighbourhood(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    person, named = await deals(session)
    entities = await session.find_objects("Ada Example", kinds=["person"])
    seeds = landing_ids_from_page(entities)
    assert seeds == [person.id]
    neighbours = await session.expand_many(seeds, ["works_on"])
    assert {obj.relation.source_id for obj in neighbours if obj.relation is not None} == {person.id}
    page = await session.search("renewal risk", scope_ids=landing_ids(neighbours))
    assert set(ids(page)) == {named["alpha"].id, named["beta"].id}
    assert len(evidence_ids(page)) == 2
    unscoped = await session.search("renewal risk")
    assert named["unrelated"].id in ids(unscoped)


async def test_hits_land_on_their_parents_in_order(engine_world: World) -> None:
    session = engine_world.session()
    _, named = await deals(session)
    parts = await session.expand(named["alpha"].id)
    landed = landing_ids([*parts.objects, await session.read(named["beta"].id), *parts.objects])
    assert landed == [named["alpha"].id, named["beta"].id]


async def test_results_sort_by_a_property(engine_world: World) -> None:
    session = engine_world.session()
    for title, flag in (("yes", True), ("no", False), ("unset", None)):
        properties = {} if flag is None else {"flag": flag}
        await session.put(Object(kind="thing", title=title, summary="lemon", properties=properties))
    page = await session.find_objects("lemon")
    ordered = [obj.title for obj in sort_rich_objects(page.objects, "flag")]
    assert ordered == ["unset", "no", "yes"]


async def test_a_conversation_moves_to_another_process_and_goes_on(engine_world: World) -> None:
    session = engine_world.session()
    person, _ = await deals(session)
    crowd = (await session.put_many([Object(kind="thing", title=f"t{number}") for number in range(30)])).objects
    for obj in crowd:
        await session.link(person.id, obj.id, "knows", note=f"met {obj.title}")
    page = await session.expand(person.id, ["knows"])
    exported = session.context.export()
    other = engine_world.engine().session()
    other.context.restore(exported)
    following = await other.continue_(page.result_set_id)
    assert len(following.objects) == 10
    for obj in following.objects:
        assert obj.relation is not None
        assert (obj.relation.type, obj.relation.meta.note) == ("knows", f"met {obj.title}")
