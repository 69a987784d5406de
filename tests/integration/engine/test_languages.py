"""The language of what is put: as given, as detected, or the default; and what that means for searches."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from brain_async import EngineConfig, Object
from brain_async.errors import BackendError, BackendTimeoutError, InvalidValueError
from tests.integration.engine.world import World, ids, put_family

LEXICAL = EngineConfig(search_channels=("lexical",))


def by_article(text: str) -> str | None:
    """A detector: German by its articles, Chinese by its signs; it cannot tell English."""
    words = text.lower().split()
    if {"der", "die", "das"} & set(words):
        return "de-AT"
    return "zh" if any("\u4e00" <= char <= "\u9fff" for char in text) else None


async def test_a_language_is_taken_as_given_by_name_or_code(engine_world: World) -> None:
    session = engine_world.session(config=LEXICAL)
    parent, (german, english) = await put_family(
        session, [{"content": "Häuser am Fluss", "language": "de"}, "houses by the river"]
    )
    assert (parent.language, german.language, english.language) == ("english", "german", "english")
    page = await session.search("das Haus")
    assert ids(page) == [parent.id]
    assert [part.part_id for part in page.objects[0].evidence] == [german.id]
    assert [part.part_id for part in (await session.search("house")).objects[0].evidence] == [english.id]
    assert (await session.read(german.id)).language == "german"
    assert [child.language for child in await session.list_children(parent.id)] == ["german", "english"]
    # Put again as it was read, it keeps its language.
    await session.put(Object(id=german.id, kind="section", parent_id=parent.key, content="Wälder", language="german"))
    assert ids(await session.search("Wald")) == [parent.id]


@pytest.mark.parametrize("language", ["germn", "x" * 10_000, "tlh", "\ud800", 7])
async def test_an_unknown_language_is_refused(engine_world: World, language: str) -> None:
    session = engine_world.session()
    with pytest.raises(InvalidValueError) as caught:
        await session.put(Object(kind="thing", title="t", language=language))
    assert caught.value.field == "language"
    assert len(str(caught.value)) < 400
    result = await session.put_many([Object(kind="thing", language=language), Object(kind="thing", title="fine")])
    assert [failure.field for failure in result.failures] == ["language"]
    assert [obj.title for obj in result.objects] == ["fine"]


async def test_the_default_is_the_configs(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(default_language="fr", search_channels=("lexical",)))
    parent, (part,) = await put_family(session, ["les nationales continuaient"])
    assert (parent.language, part.language) == ("french", "french")
    assert ids(await session.search("nationale")) == [parent.id]


async def test_a_detector_is_asked_off_the_loop_about_what_names_no_language(engine_world: World) -> None:
    asked: list[tuple[str, bool]] = []

    def detector(text: str) -> str | None:
        asked.append((text, threading.current_thread() is threading.main_thread()))
        return by_article(text)

    session = engine_world.session(language_detector=detector, config=LEXICAL)
    result = await session.put_many(
        [
            Object(kind="document", title="Die Häuser", content="am Fluss"),
            Object(kind="document", title="Die Toten", language="english"),
            Object(kind="document", title="外币汇率"),
            Object(kind="document", title="houses"),
            Object(kind="document"),
            Object(kind="document", content="das " * 5_000),
        ]
    )
    assert result.ok
    assert [obj.language for obj in result.objects] == ["german", "english", "chinese", "english", "english", "german"]
    assert [text[:12] for text, _ in asked] == ["Die Häuser\na", "外币汇率", "houses", "das das das "]
    assert max(len(text) for text, _ in asked) == 2_000
    assert not any(on_loop for _, on_loop in asked)
    assert (await session.put(Object(kind="document", title="der Fluss"))).language == "german"


async def test_what_a_detector_says_but_nobody_can_stem_is_simple(engine_world: World) -> None:
    session = engine_world.session(language_detector=lambda text: "tlh", config=LEXICAL)
    parent, (part,) = await put_family(session, ["the houses"])
    assert part.language == "simple"
    assert ids(await session.search("the")) == [parent.id]


async def test_a_failing_detector_fails_its_objects_alone(engine_world: World) -> None:
    def detector(text: str) -> str:
        if "bad" in text:
            raise RuntimeError("no model")
        return "en"

    session = engine_world.session(language_detector=detector)
    with pytest.raises(BackendError, match="the language detector failed: RuntimeError: no model"):
        await session.put(Object(kind="thing", title="bad"))
    result = await session.put_many([Object(kind="thing", title=title) for title in ("good", "bad", "fine")])
    assert [obj.title for obj in result.objects] == ["good", "fine"]
    assert [(failure.index, failure.code) for failure in result.failures] == [(1, "backend_error")]


async def test_a_hanging_detector_is_bounded(engine_world: World) -> None:
    config = EngineConfig(embed_batch_timeout=0.2)
    session = engine_world.session(language_detector=lambda text: time.sleep(1) or "en", config=config)
    with anyio.fail_after(5), pytest.raises(BackendTimeoutError, match="the language detector"):
        await session.put(Object(kind="thing", title="slow"))


async def test_hard_case_unsegmented_scripts_without_an_embedder(engine_world: World) -> None:
    session = engine_world.session()
    english = [f"docker containers are restarted, note {number}" for number in range(20)]
    for number, text in enumerate(english):
        await put_family(session, [text], title=f"note {number}")
    plain_order = ids(await session.search("docker note 7"))
    texts = {
        "汇率": "外币汇率换算规则",
        "しりとり": "今日は成語しりとりをした",
        "끝말잇기": "오늘 끝말잇기 게임을 했다",
    }
    texts |= {"อากาศ": "วันนี้อากาศดีมาก"}
    stored = {query: (await put_family(session, [text], title="x"))[0].id for query, text in texts.items()}
    for query, parent_id in stored.items():
        for verb in (session.search, session.find_exact):
            assert ids(await verb(query))[0] == parent_id, query
    mixed = ids(await session.search("docker 汇率", limit=30))
    assert mixed[0] == stored["汇率"]
    assert len(mixed) == 21
    assert ids(await session.search("docker note 7")) == plain_order
    for single in ("汇", "し", "끝"):
        await session.search(single)
        await session.find_exact(single)
