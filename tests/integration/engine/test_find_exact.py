"""find_exact: ids, titles, path-like phrases, typos."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from brain_async import (
    BackendError,
    EngineConfig,
    Object,
    ObjectNotFoundError,
)
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import (
    FaultyStore,
    WordEmbedder,
    World,
    down,
    evidence_ids,
    ids,
    outcomes,
    put_family,
)

SPELLINGS = {
    "plain": str,
    "upper case": lambda key: str(key).upper(),
    "hexadecimal": lambda key: key.hex,
    "braces": lambda key: f"{{{key}}}",
    "urn": lambda key: f"urn:uuid:{key}",
    "padded": lambda key: f"  {key}\n",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_the_id_of_a_parent_gives_it_without_evidence(engine_world: World, spelling: str) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, ["lemon"])
    page = await session.find_exact(SPELLINGS[spelling](parent.key))
    assert (ids(page), evidence_ids(page), page.total) == ([parent.id], [], 1)
    assert page.objects[0].score == pytest.approx(1.0, abs=1e-3)


async def test_the_id_of_a_part_gives_its_parent_with_that_part(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["lemon", "salt"])
    page = await session.find_exact(str(parts[1].key))
    assert (ids(page), evidence_ids(page)) == ([parent.id], [parts[1].id])


async def test_an_id_that_is_not_visible_is_not_found(engine_world: World) -> None:
    session, stranger = engine_world.session(), engine_world.stranger().session()
    parent, parts = await put_family(session, ["lemon"])
    for reader, key in ((session, uuid4()), (stranger, parent.key)):
        with pytest.raises(ObjectNotFoundError):
            await reader.find_exact(str(key))
    await session.soft_delete(parent.key)
    with pytest.raises(ObjectNotFoundError):
        await session.find_exact(str(parent.key))
    with pytest.raises(ObjectNotFoundError):
        await session.find_exact(str(parts[0].key))


async def test_an_id_ignores_filters_but_not_scope_ids(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["lemon"])
    assert ids(await session.find_exact(str(parent.key), filters={"kind": "other"})) == [parent.id]
    for scope_id, expected in ((parent.key, [parent.id]), (parts[0].key, [parent.id]), (uuid4(), [])):
        page = await session.find_exact(str(parts[0].key), scope_ids=[scope_id])
        assert ids(page) == expected


@pytest.mark.parametrize(
    "query",
    [str(NIL_UUID), "1234-5678-1234-5678-1234-5678-1234-5678", "0x" + "1" * 30, "+" + "1" * 31, "1_" * 16, "１" * 32],
)
async def test_what_only_resembles_an_id_is_text(engine_world: World, query: str) -> None:
    page = await engine_world.session().find_exact(query)
    assert list(outcomes(page)) == ["lexical", "trigram", "graph_text"]


async def test_the_exact_title_of_a_part_comes_first(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, [{"title": "Release notes archive", "content": "release notes " * 20}])
    exact, parts = await put_family(session, [{"title": " Release Notes ", "content": "empty"}])
    page = await session.find_exact("release notes")
    assert (page.objects[0].id, page.objects[0].evidence[0].part_id) == (exact.id, parts[0].id)
    assert (page.objects[0].score or 0) > 10 * 0.99


async def test_the_boost_decays_with_its_part(engine_world: World) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    session = engine_world.session(config=EngineConfig(now=lambda: clock[0]))
    await put_family(session, [{"title": "manual", "content": "x"}])
    clock[0] += timedelta(days=100)
    page = await session.find_exact("manual")
    assert page.objects[0].score == pytest.approx((10 + 2 / 61) * 2.718281828 ** (-2), rel=1e-3)


@pytest.mark.parametrize("title", [r"C:\repo\src\main.py", "docs/guide/intro.md", "C++", "tb-"])
async def test_a_path_like_title_is_found_and_boosted(engine_world: World, title: str) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [{"title": title, "content": "words"}])
    await put_family(session, [{"title": "main guide", "content": "repo src docs tb c"}])
    page = await session.find_exact(title)
    assert page.objects[0].id == parent.id
    assert (page.objects[0].score or 0) > 9


@pytest.mark.parametrize("title", ["It", "The Who", "to be or not to be"])
async def test_a_title_of_stop_words_alone_is_found(engine_world: World, title: str) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [{"title": title, "content": "an album"}])
    await put_family(session, [{"title": "Itinerary of whole days", "content": "who it was to be"}])
    page = await session.find_exact(title.lower())
    assert page.objects[0].id == parent.id
    assert (page.objects[0].score or 0) > 9


async def test_the_title_of_an_object_without_parts_is_found(engine_world: World) -> None:
    session = engine_world.session()
    ada = await session.put(Object(kind="person", title="Ada Lovelace"))
    await session.put(Object(kind="person", title="Ada Byron", summary="also called Lovelace"))
    await put_family(session, ["ada lovelace wrote the notes"])
    page = await session.find_exact("ada lovelace")
    assert (page.objects[0].id, page.objects[0].evidence) == (ada.id, ())
    assert (await session.find_exact("ada lovelace", filters={"kind": "machine"})).objects == ()


async def test_a_literal_phrase_is_first(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, ["curl x | bash"])
    await put_family(session, ["never pipe a download into a shell such as bash"])
    assert (await session.find_exact("curl x | bash")).objects[0].id == parent.id


async def test_a_typo_in_a_title_is_forgiven(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [{"title": "Kubernetes upgrade", "content": "steps"}])
    page = await session.find_exact("Kubernets upgrde")
    assert ids(page) == [parent.id]
    assert outcomes(page)["trigram"] == "ok"


async def test_the_embedder_is_never_asked(engine_world: World) -> None:
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder)
    await put_family(session, ["lemon"])
    embedder.texts.clear()
    assert set(outcomes(await session.find_exact("lemon"))) == {"lexical", "trigram", "graph_text"}
    assert embedder.texts == []


@pytest.mark.parametrize("channel", ["search_lexical", "search_trigram"])
async def test_either_channels_failure_is_raised(engine_world: World, channel: str) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store, config=EngineConfig(fail_on_lexical_error=False))
    store.faults[channel] = error = down()
    with pytest.raises(BackendError) as caught:
        await session.find_exact("lemon")
    assert caught.value is error


async def test_reciprocal_ranks_are_added_with_equal_weights(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(decay_lambda=0.0))
    await put_family(session, [{"title": "Kubernetes upgrade", "content": "steps"}])
    page = await session.find_exact("kubernetes")
    assert page.objects[0].score == pytest.approx(2 / 61)


async def test_explain_works_here_too(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, [{"title": "manual", "content": "x"}])
    other, _ = await put_family(session, ["salt"])
    page = await session.find_exact("manual", explain=True, explain_ids=[other.key])
    (explained,) = page.objects[0].explain
    assert explained.boost == 10.0
    assert page.explanation is not None
    assert [missing.id for missing in page.explanation.missing] == [other.key]
    by_id = await session.find_exact(str(other.key), explain=True)
    assert [rank.channel for rank in by_id.objects[0].explain[0].channels] == ["id"]


async def test_its_result_set_can_be_continued(engine_world: World) -> None:
    session = engine_world.session()
    for number in range(3):
        await put_family(session, ["lemon"], title=f"D{number}")
    page = await session.find_exact("lemon", limit=2)
    assert (len(page.objects), page.has_more, page.total) == (2, True, 3)
    assert len((await session.continue_()).objects) == 1
