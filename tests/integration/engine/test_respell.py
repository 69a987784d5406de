"""search over the corpus's own spelling: what every channel is given, what the page says, and how it is left out."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anyio
import pytest

from brain_async import EngineConfig, InvalidInputError, SearchRequest
from tests.integration.engine.world import (
    FaultyStore,
    RecordingObserver,
    WordEmbedder,
    World,
    down,
    hang,
    ids,
    outcomes,
    put_family,
    put_titled,
)

TEXTS = ["turbulent flow over wings", "heat in composite slabs", "accommodation of guests"]


async def test_every_channel_is_given_the_corrected_query(engine_world: World) -> None:
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder, config=EngineConfig(decay_lambda=0.0))
    parent, _ = await put_family(session, TEXTS)
    page = await session.search("Turbulemt flwo of acommodatoin", explain=True)
    assert page.respelled == (("Turbulemt", "Turbulent"), ("flwo", "flow"), ("acommodatoin", "accommodation"))
    assert ids(page) == [parent.id]
    assert page.explanation is not None
    assert page.explanation.query == "Turbulent flow of accommodation"
    assert outcomes(page)["lexical"] == outcomes(page)["vector"] == "ok"
    clean = await session.search("Turbulent flow of accommodation", explain=True)
    assert clean.respelled == ()
    assert clean.explanation is not None
    assert clean.explanation.query == ""
    assert [hit.explain for hit in clean.objects] == [hit.explain for hit in page.objects]


async def test_quoted_words_identifiers_and_known_words_stay(engine_world: World) -> None:
    session = engine_world.session()
    await put_titled(session, "Kubernetis Handbook")
    await put_family(session, [*TEXTS, "kubernetes"])
    for query in ('"flwo" and heat', "flwo.py heat slabs in", "ACME-1423 flwo", "Kubernetis", "FLWO", "flowing wing"):
        page = await session.search(query)
        assert page.respelled == (), query


async def test_off_by_request_and_by_config(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, TEXTS)
    assert (await session.search("flwo")).respelled == (("flwo", "flow"),)
    typed = await session.search("flwo", respell=False)
    assert (typed.respelled, ids(typed)) == ((), [])
    off = engine_world.session(config=EngineConfig(respell=False))
    assert (await off.search("flwo")).respelled == ()
    assert (await off.search("flwo", respell=True)).respelled == (("flwo", "flow"),)
    with pytest.raises(InvalidInputError, match="respell"):
        await session.search("flwo", respell="yes")  # type: ignore[arg-type]


async def test_the_next_pages_say_it_too_also_in_another_process(engine_world: World) -> None:
    session = engine_world.session()
    for _ in range(3):
        await put_family(session, TEXTS)
    first = await session.search("flwo", limit=1)
    saved = session.context.export()
    later = engine_world.session()
    later.context.restore(saved)
    for page in (await session.continue_(limit=1), await later.continue_(limit=1)):
        assert page.respelled == first.respelled == (("flwo", "flow"),)
        assert len(page.objects) == 1


async def test_find_exact_is_given_what_was_typed(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, TEXTS)
    assert (await session.find_exact("flwo")).respelled == ()


async def test_words_of_another_namespace_are_no_spelling(engine_world: World) -> None:
    ours, theirs = engine_world.session(), engine_world.engine().session(uuid4())
    await put_family(ours, TEXTS)
    await put_family(theirs, ["the wombats of Wagga"])
    assert (await ours.search("wombatz")).respelled == ()
    assert (await theirs.search("wombatz flwo")).respelled == (("wombatz", "wombats"),)


@pytest.mark.parametrize("fault", [down(), RuntimeError("broken"), hang], ids=["own", "raw", "hangs"])
async def test_a_failing_vocabulary_costs_its_deadline_and_is_named(engine_world: World, fault: Any) -> None:
    observer = RecordingObserver()
    store = FaultyStore(engine_world.store)
    store.faults["near_words"] = fault
    session = engine_world.session(store=store, observer=observer, config=EngineConfig(respell_timeout=0.2))
    parent, _ = await put_family(session, TEXTS)
    with anyio.fail_after(20):
        page = await session.search("flow wnigs")
    assert ids(page) == [parent.id]
    assert (page.respelled, page.degraded) == ((), ("respell",))
    assert page.outcomes[0].channel == "respell"
    assert page.outcomes[0].status == ("timeout" if fault is hang else "error")


async def test_a_store_without_a_vocabulary_searches_as_typed(engine_world: World) -> None:
    session = engine_world.session(store=_Plain(engine_world.store))
    await put_family(session, TEXTS)
    page = await session.search("flwo wings", respell=True)
    assert (page.respelled, page.degraded, len(page.objects)) == ((), (), 1)


class _Plain(FaultyStore):
    """Has no ``near_words``."""

    near_words = None  # type: ignore[assignment]


def test_a_request_says_nothing_unless_told() -> None:
    assert SearchRequest(query="x").respell is None
