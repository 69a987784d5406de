"""Query text is data: no operator, no script and no odd character changes what it means."""

from __future__ import annotations

import pytest

from brain_async import Object, QueryRequiredError, SearchPage, Session
from brain_async.analysis import index_terms
from brain_async.testing.search_checks import OPERATOR_QUERIES
from tests.integration.engine.world import World, evidence_ids, ids, put_family, put_titled

pytestmark = pytest.mark.on_helix

# Those with a word that is no stop word: the others are searched like any text, and found by nothing.
LITERALS = [query for query in OPERATOR_QUERIES if index_terms(query)]


async def every_verb(session: Session, query: str) -> list[SearchPage]:
    await session.find_links("about", query)
    return [await session.search(query), await session.find_exact(query), await session.find_objects(query)]


@pytest.mark.parametrize("query", OPERATOR_QUERIES)
async def test_no_operator_raises_or_changes_the_meaning(engine_world: World, query: str) -> None:
    session = engine_world.session()
    a, b = await put_titled(session, "a", "b")
    await session.link(a.id, b.id, "about", note="note")
    await put_family(session, ["words that are not asked for"])
    if query.strip("\x00").strip():
        await every_verb(session, query)
    else:
        with pytest.raises(QueryRequiredError):
            await session.search(query)


@pytest.mark.parametrize("query", LITERALS)
async def test_a_literal_phrase_is_found_as_it_stands(engine_world: World, query: str) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, [{"title": query, "content": query}])
    entity = await session.put(Object(kind="thing", title=query, content=query))
    await session.link(parent.id, entity.id, "about", note=query)
    page = await session.find_exact(query)
    assert (page.objects[0].id, page.objects[0].evidence[0].part_id) == (parent.id, parts[0].id)
    assert entity.id in ids(await session.find_objects(query))
    assert len(await session.find_links("about", query)) == 1


async def test_an_operator_at_the_end_changes_nothing(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, ["tb is a short word", "and so is tbx"])
    for verb in (session.search, session.find_exact, session.find_objects):
        for plain, marked in (("tb", "tb-"), ("tb", "-tb"), ("tb", "tb*"), ("tb", '"tb"'), ("short", "(short) &")):
            assert ids(await verb(marked)) == ids(await verb(plain)), (plain, marked)


async def test_an_operator_does_not_negate(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, ["apples and pears"])
    assert ids(await session.search("apples -pears !and NOT pears")) == [parent.id]


CJK = {"汇率": "外币汇率换算规则", "しりとり": "今日は成語しりとりをした", "끝말잇기": "오늘 끝말잇기 게임을 했다"}
ENGLISH = [f"an english part about topic {n} and docker settings" for n in range(20)]


@pytest.mark.parametrize("query", [*CJK, "外币", "docker 汇率"])
async def test_a_substring_of_an_unsegmented_script_is_recalled_without_an_embedder(
    engine_world: World, query: str
) -> None:
    session = engine_world.session()
    parents = {}
    for key, text in CJK.items():
        parents[key], _ = await put_family(session, [text])
    crowd, _ = await put_family(session, ENGLISH)
    wanted = next(key for key, text in CJK.items() if query.split()[-1] in text)
    for verb in (session.search, session.find_exact):
        found = ids(await verb(query))
        assert found[0] == parents[wanted].id
        assert (crowd.id in found) == ("docker" in query), "both halves of a mixed query count"


async def test_english_queries_keep_their_order_beside_other_scripts(engine_world: World) -> None:
    session = engine_world.session()
    for text in ENGLISH[:5]:
        await put_family(session, [text])
    before = ids(await session.search("docker settings topic 3"))
    for text in CJK.values():
        await put_family(session, [text])
    assert ids(await session.search("docker settings topic 3")) == before


@pytest.mark.parametrize("query", ["汇", "し", "é", "x", "?", "…", "🙂", "a" * 5000, "word " * 3000])
async def test_short_odd_and_long_queries_are_no_error(engine_world: World, query: str) -> None:
    session = engine_world.session()
    await put_family(session, ["外币汇率换算规则 🙂"])
    await every_verb(session, query)


@pytest.mark.parametrize(
    ("query", "clean"), [("le\x00mon", "lemon"), ("lemon\ud800", "lemon"), ("\x00lemon\x00", "lemon")]
)
async def test_what_cannot_be_stored_is_stripped_from_a_query(engine_world: World, query: str, clean: str) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [{"title": "lemon", "content": "lemon"}], title="lemon")
    await session.link(parent.id, parent.id, "about", note="lemon")
    for page, expected in zip(await every_verb(session, query), await every_verb(session, clean), strict=True):
        assert (ids(page), evidence_ids(page)) == (ids(expected), evidence_ids(expected))
        assert ids(page) == [parent.id]
    assert len(await session.find_links("about", query)) == 1
