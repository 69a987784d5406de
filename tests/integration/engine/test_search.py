"""search: parents by their parts, from every channel that is attached."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from brain_async import (
    EngineConfig,
    FieldSpec,
    FusionWeights,
    KindSpec,
    Object,
    ResultSetNotFoundError,
    ResultSetStoreRequiredError,
    Scope,
    SearchRequest,
    Session,
)
from tests.integration.engine.world import (
    RecordingObserver,
    WordEmbedder,
    World,
    all_pages,
    evidence_ids,
    ids,
    outcomes,
    put_family,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NO_DECAY = EngineConfig(decay_lambda=0.0)


async def test_a_part_leads_to_its_parent_with_the_part_as_evidence(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["nothing of note", "the renewal is at risk", "an appendix"])
    await put_family(session, ["weather report"])
    page = await session.search("renewal risk")
    assert ids(page) == [parent.id]
    assert evidence_ids(page) == [parts[1].id]
    hit = page.objects[0]
    assert (hit.kind, hit.title, hit.content, hit.namespace_id) == (
        "document",
        "A document",
        "",
        session.scope.namespace_id,
    )
    assert hit.evidence[0].snippet == "the renewal is at risk"
    assert (hit.evidence[0].position, hit.score) == (1, pytest.approx(hit.evidence[0].score))
    assert (page.total, page.has_more, page.degraded) == (1, False, ())


async def test_a_parent_appears_once_with_its_best_three_parts(engine_world: World) -> None:
    session = engine_world.session(config=NO_DECAY)
    parent, parts = await put_family(
        session, ["lemon", "lemon tree by the house and the road", "lemon", "lemon", "lemon"]
    )
    page = await session.search("lemon")
    assert ids(page) == [parent.id]
    newest_first = [parts[index].id for index in (4, 3, 2)]
    assert evidence_ids(page) == newest_first, "equal scores: the newer part first"


@pytest.mark.on_helix
async def test_which_channels_ran_is_said(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, ["plain words"])
    assert outcomes(await session.search("plain words")) == {
        "lexical": "ok",
        "trigram": "skipped",
        "vector": "skipped",
        "graph_text": "empty",
        "graph_vector": "skipped",
    }


async def test_without_a_graph_and_an_embedder_the_lexical_channel_answers(engine_world: World) -> None:
    session = engine_world.session(graph=None)
    parent, _ = await put_family(session, ["plain words"])
    page = await session.search("plain words")
    assert ids(page) == [parent.id]
    assert outcomes(page)["graph_text"] == "skipped"


async def test_a_dense_hit_needs_no_common_word(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    parent, _ = await put_family(session, ["alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"])
    page = await session.search("omicron")
    assert ids(page) == [parent.id], "no score floor"
    assert outcomes(page)["vector"] == "ok"
    assert outcomes(page)["lexical"] == "empty"


async def test_trigram_forgives_a_typo_in_an_identifier_only(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, [{"title": "payment_gateway_v2", "content": "how it is called"}])
    page = await session.search("payment_gatevay_v2")
    assert ids(page) == [parent.id]
    assert outcomes(page)["trigram"] == "ok"
    assert outcomes(await session.search("how is the gatevay called"))["trigram"] == "skipped"


@pytest.mark.on_helix
async def test_the_entity_text_of_a_parent_adds_to_its_parts(engine_world: World) -> None:
    session = engine_world.session(config=NO_DECAY)
    about, _ = await put_family(session, ["lemon trees"], title="Citrus")
    other, _ = await put_family(session, ["lemon trees"], title="Lemon growing")
    assert ids(await session.search("lemon")) == [other.id, about.id]


@pytest.mark.on_helix
async def test_an_entity_without_parts_is_found_without_evidence(engine_world: World) -> None:
    session = engine_world.session()
    entity = await session.put(Object(kind="person", title="Ada Example"))
    page = await session.search("Ada")
    assert (ids(page), evidence_ids(page)) == ([entity.id], [])


async def test_named_channels_run_whatever_their_weight(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    parent, _ = await put_family(session, [{"title": "quarterly figures", "content": "numbers"}])
    page = await session.search("quarterley", channels=["trigram"])
    assert outcomes(page) == {"trigram": "ok"}
    assert ids(page) == [parent.id]
    page = await session.search("quarterly", channels=["vector", "lexical"])
    assert list(outcomes(page)) == ["lexical", "vector"]


class SuggestingEmbedder(WordEmbedder):
    """Suggests a share of its own."""

    dense_share = 0.4


async def weights_of(session: Session, query: str) -> dict[str, float]:
    page = await session.search(query, channels=["lexical", "vector"], explain=True)
    assert page.explanation is not None
    return dict(page.explanation.weights)


async def test_the_embedder_suggests_the_share_of_its_channel_unless_the_config_says(engine_world: World) -> None:
    embedder = SuggestingEmbedder()
    session = engine_world.session(embedder=embedder)
    await put_family(session, ["lemon pie"])
    assert await weights_of(session, "lemon") == {"lexical": 0.6, "vector": 0.4}
    told = engine_world.session(embedder=embedder, config=EngineConfig(weights=FusionWeights(lexical=0.8, vector=0.2)))
    await put_family(told, ["lemon pie"])
    assert await weights_of(told, "lemon") == {"lexical": 0.8, "vector": 0.2}


async def test_a_channel_of_weight_zero_is_not_run(engine_world: World) -> None:
    config = EngineConfig(weights=FusionWeights(vector=0.0, graph_vector=0.0))
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder, config=config)
    await put_family(session, ["plain words"])
    embedder.texts.clear()
    assert outcomes(await session.search("plain"))["vector"] == "skipped"
    assert embedder.texts == [], "no channel needs the vector, so none is made"


async def test_only_the_configured_channels_run(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(search_channels=("lexical",)))
    await put_family(session, ["plain words"])
    assert outcomes(await session.search("plain")) == {"lexical": "ok"}


async def test_newer_parts_come_first_and_decay_can_be_switched_off(engine_world: World) -> None:
    clock = [NOW - timedelta(days=100)]
    writer = engine_world.session(config=EngineConfig(now=lambda: clock[0]))
    old, _ = await put_family(writer, ["lemon lemon lemon"])
    clock[0] = NOW
    new, _ = await put_family(writer, ["lemon and many other words beside it in here"])
    assert ids(await writer.search("lemon")) == [new.id, old.id]
    still = engine_world.session(config=EngineConfig(now=lambda: NOW, decay_lambda=0.0))
    assert ids(await still.search("lemon")) == [old.id, new.id]


async def test_parts_from_the_future_decay_by_one(engine_world: World) -> None:
    writer = engine_world.session(config=EngineConfig(now=lambda: NOW + timedelta(days=365)))
    await put_family(writer, ["lemon"])
    reader = engine_world.session(config=EngineConfig(now=lambda: NOW))
    page = await reader.search("lemon", explain=True, channels=["lexical"])
    assert [explained.decay for explained in page.objects[0].explain] == [1.0]


async def test_a_triple_hit_scores_the_sum_of_its_reciprocal_ranks(engine_world: World) -> None:
    config = EngineConfig(fusion="rrf", decay_lambda=0.0)
    session = engine_world.session(embedder=WordEmbedder(), config=config)
    await put_family(session, [{"title": "order_4711", "content": "order_4711"}])
    page = await session.search("order_4711", channels=["lexical", "vector", "trigram"], explain=True)
    (explained,) = page.objects[0].explain
    assert [rank.channel for rank in explained.channels] == ["lexical", "trigram", "vector"]
    assert [rank.rank for rank in explained.channels] == [1, 1, 1]
    weights = FusionWeights()
    assert page.objects[0].score == pytest.approx((weights.lexical + weights.trigram + weights.vector) / 61)


@pytest.mark.on_helix
async def test_identical_parts_page_through_in_one_order(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(now=lambda: NOW))
    parents = [Object(kind="document", title="Same") for _ in range(60)]
    stored = (await session.put_many(parents)).objects
    parts = [Object(kind="section", content="identical words", parent_id=parent.key) for parent in stored]
    await session.put_many(parts)
    pages = [await all_pages(session, await session.search("identical", limit=7), limit=7) for _ in range(10)]
    assert pages.count(pages[0]) == 10, "the same sequence on every run"
    assert len(pages[0]) == len(set(pages[0])) == 40, "candidate_k parents, none twice"


async def test_ties_are_cut_by_id_whatever_the_insertion_order(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(now=lambda: NOW, candidate_k=5))
    parent = await session.put(Object(kind="document", title="Same"))
    parts = [Object(kind="section", content="identical words", parent_id=parent.key) for _ in range(20)]
    stored = (await session.put_many(parts)).objects
    page = await session.search("identical", channels=["lexical"])
    assert evidence_ids(page) == sorted(part.key for part in stored)[:3]


async def test_limits_fall_back_and_are_capped(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(max_limit=12, candidate_k=60))
    stored = (await session.put_many([Object(kind="document", title=f"D{n}") for n in range(30)])).objects
    await session.put_many([Object(kind="section", content="lemon", parent_id=parent.key) for parent in stored])
    for limit, size in ((0, 10), (-5, 10), (3, 3), (10**9, 12)):
        page = await session.search("lemon", limit=limit, channels=["lexical"])
        assert (len(page.objects), page.total, page.has_more) == (size, 30, True)


async def test_scope_ids_restrict_to_objects_and_their_parts(engine_world: World) -> None:
    session = engine_world.session()
    first, parts = await put_family(session, ["lemon", "lemon pie"])
    second, _ = await put_family(session, ["lemon tart"], title="Lemons")
    assert ids(await session.search("lemon", scope_ids=[second.key])) == [second.id]
    page = await session.search("lemon", scope_ids=[parts[1].key])
    assert (ids(page), evidence_ids(page)) == ([first.id], [parts[1].id])
    nil = type(second.key)(int=0)
    assert len((await session.search("lemon", scope_ids=[nil])).objects) == 2, "nil ids restrict nothing"


async def test_a_selective_filter_still_fills_the_page(engine_world: World) -> None:
    session = engine_world.session(config=EngineConfig(candidate_k=5))
    crowd = (await session.put_many([Object(kind="document", title="D") for _ in range(50)])).objects
    parts = [
        Object(kind="section", content="lemon", parent_id=parent.key, properties={"rare": index % 10 == 0})
        for index, parent in enumerate(crowd)
    ]
    await session.put_many(parts)
    page = await session.search("lemon", filters={"rare": True})
    assert len(page.objects) == 5


@pytest.mark.on_helix
async def test_filters_describe_the_part_or_its_parent_but_not_half_of_each(engine_world: World) -> None:
    session = engine_world.session()
    won, _ = await put_family(session, ["lemon"], kind="deal", properties={"stage": "won"})
    own, _ = await put_family(session, [{"content": "lemon", "properties": {"stage": "won"}}], kind="deal")
    for filters, expected in (
        ({"kind": "deal", "stage": "won"}, [won.id]),
        ({"kind": "section", "stage": "won"}, [own.id]),
        ({"kind": ["section", "deal"], "stage": "won"}, [own.id, won.id]),
        ({"kind": "section", "stage": "lost"}, []),
    ):
        found = ids(await session.search("lemon", filters=filters, channels=["lexical"]))
        assert sorted(map(str, found)) == sorted(map(str, expected)), filters


async def test_unregistered_kinds_are_invisible_once_kinds_are_registered(engine_world: World) -> None:
    everything = engine_world.session()
    seen, _ = await put_family(everything, ["lemon"], title="Seen")
    await put_family(everything, [{"content": "lemon", "kind": "scrap"}], title="Unseen")
    kinds = [KindSpec(kind="document"), KindSpec(kind="section")]
    assert ids(await engine_world.session(kinds=kinds).search("lemon")) == [seen.id]
    assert len((await everything.search("lemon")).objects) == 2


async def test_the_first_search_freezes_a_catalog_that_holds_kinds(engine_world: World) -> None:
    kinds = [KindSpec(kind="document", fields=(FieldSpec(name="n", type="number"),))]
    registered, bare = engine_world.engine(kinds=kinds), engine_world.engine()
    for engine in (registered, bare):
        await engine.session(engine_world.namespace).search("lemon")
    bare.register_kinds(kinds)
    with pytest.raises(Exception, match="frozen"):
        registered.register_kinds(kinds)


async def test_a_search_replaces_the_result_set_even_with_nothing(engine_world: World) -> None:
    session = engine_world.session()
    await put_family(session, ["lemon"])
    first = await session.search("lemon")
    second = await session.search("unheard")
    assert (second.objects, second.has_more, second.total) == ((), False, 0)
    assert second.result_set_id is not None
    with pytest.raises(ResultSetNotFoundError):
        await session.continue_(first.result_set_id)


@pytest.mark.on_helix
async def test_an_entity_that_has_become_a_part_is_no_result_of_its_own(engine_world: World) -> None:
    session = engine_world.session()
    parent = await session.put(Object(kind="document", title="Citrus"))
    once = await session.put(Object(kind="document", title="lemon"))
    await session.put(Object(id=once.id, kind="section", title="lemon", parent_id=parent.key))
    page = await session.search("lemon")
    assert (ids(page), evidence_ids(page), page.total) == ([parent.id], [once.id], 1)


@pytest.mark.on_helix
async def test_the_store_decides_whether_an_entity_passes_the_filters(engine_world: World) -> None:
    session = engine_world.session()
    entity = await session.put(Object(kind="deal", title="lemon", properties={"stage": "won"}))
    stale = msgspec.structs.replace(entity, properties={"stage": "lost"})
    await engine_world.graph.ensure_objects(engine_world.scope, [stale])
    assert ids(await session.search("lemon", filters={"stage": "lost"})) == []
    assert ids(await session.search("lemon")) == [entity.id]


@pytest.mark.on_helix
async def test_a_deleted_part_or_parent_is_not_found(engine_world: World) -> None:
    session = engine_world.session()
    gone, _ = await put_family(session, ["lemon"])
    kept, parts = await put_family(session, ["lemon", "lemon pie"])
    await session.soft_delete(gone.id)
    await session.soft_delete(parts[0].id)
    page = await session.search("lemon")
    assert (ids(page), evidence_ids(page)) == ([kept.id], [parts[1].id])


@pytest.mark.on_helix
async def test_another_namespace_sees_nothing(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    await put_family(session, ["lemon"], title="Lemon")
    stranger = engine_world.stranger()
    assert (await stranger.session(embedder=WordEmbedder()).search("lemon")).objects == ()


async def test_a_result_set_store_is_required(engine_world: World) -> None:
    with pytest.raises(ResultSetStoreRequiredError):
        await engine_world.engine().search(Scope(engine_world.namespace), SearchRequest(query="x"))


async def test_explain_tells_every_channels_rank_and_what_is_missing(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    parent, parts = await put_family(session, ["lemon pie", "salt"])
    other, _ = await put_family(session, ["pepper"])
    page = await session.search(
        "lemon", explain=True, channels=["lexical"], explain_ids=[parent.key, parts[0].key, parts[1].key, other.key]
    )
    (hit,) = page.objects
    (explained,) = hit.explain
    assert (explained.id, explained.channels[0].channel, explained.channels[0].rank) == (parts[0].id, "lexical", 1)
    assert hit.score == pytest.approx(explained.fused * explained.decay)
    assert page.explanation is not None
    assert page.explanation.weights == {"lexical": FusionWeights().lexical}
    assert {missing.id for missing in page.explanation.missing} == {parts[1].key, other.key}
    assert (await session.search("lemon")).explanation is None


async def test_the_observer_hears_of_the_call_and_of_each_channel(engine_world: World) -> None:
    observer = RecordingObserver()
    session = engine_world.session(observer=observer)
    await put_family(session, ["lemon"])
    await session.search("lemon")
    assert observer.last() == ("search", 1, "none", None)
    span = observer.started[-1].span
    assert [outcome.channel for at, outcome in observer.channels if at == span] == [
        "lexical",
        "trigram",
        "vector",
        "graph_text",
        "graph_vector",
    ]
    assert observer.ended[-1].span == span
    assert len({event.span for event in observer.started}) == len(observer.started)


@pytest.mark.parametrize("verb", ["search", "find_exact"])
async def test_one_large_document_does_not_hide_the_others(engine_world: World, verb: str) -> None:
    session = engine_world.session()
    await put_family(session, [{"title": f"turbine {n}", "content": "turbine turbine"} for n in range(100)])
    for number in range(12):
        await put_family(session, [{"title": f"report {number}", "content": "a turbine among many other things here"}])
    page = await getattr(session, verb)("turbine", limit=10)
    assert len(page.objects) == 10
