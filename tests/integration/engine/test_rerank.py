"""Rerankers in the engine: what they are given, how far they reach, how pages stay stable, and what happens when they fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

import anyio
import pytest

from brain_async import EngineConfig, Object, RichObject, Session
from brain_async.adapters.rerank import MmrReranker
from brain_async.errors import BackendTimeoutError, BrainError, InvalidInputError, RerankerError
from brain_async.model.results import DegradeMode
from tests.integration.engine.world import (
    RecordingObserver,
    World,
    all_pages,
    evidence_ids,
    hang,
    ids,
    outcomes,
    put_family,
)

Change = Callable[[Sequence[RichObject]], Awaitable[Sequence[RichObject] | None]]
SHORT = {"rerank_timeout": 0.3}


class Reranker:
    """Applies ``change`` to the objects."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self.asked: list[tuple[str, int]] = []

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        self.asked.append((query, len(objects)))
        return await self._change(objects)


class PassageReranker(Reranker):
    """Puts the object whose passage says "gold" first."""

    passage_fields = frozenset({"content"})

    def __init__(self) -> None:
        self.seen: list[Mapping[UUID, Object]] = []

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        raise AssertionError("the store can read passages")

    async def rerank_passages(
        self, query: str, objects: Sequence[RichObject], passages: Mapping[UUID, Object]
    ) -> Sequence[RichObject]:
        self.seen.append(passages)
        return sorted(objects, key=lambda obj: all("gold" not in passages[p.part_id].content for p in obj.evidence))


async def turned(objects: Sequence[RichObject]) -> Sequence[RichObject]:
    return list(objects)[::-1]


async def put_lemons(session: Session, count: int) -> None:
    for number in range(count):
        await put_family(session, ["lemon " * (number + 1)], title=f"lemon {number}")


async def test_by_default_search_hands_over_one_page_and_find_objects_everything(engine_world: World) -> None:
    plain, reranker = engine_world.session(), Reranker(turned)
    session = engine_world.session(reranker=reranker)
    await put_lemons(plain, 5)
    assert ids(await session.search("lemon", limit=3)) == ids(await plain.search("lemon", limit=3))[::-1]
    assert ids(await session.find_exact("lemon", limit=3)) == ids(await plain.find_exact("lemon", limit=3))[::-1]
    whole = ids(await plain.find_objects("lemon", limit=5))
    assert ids(await session.find_objects("lemon", limit=3)) == whole[::-1][:3]
    assert ids(await session.continue_()) == whole[::-1][3:], (
        "the order of the reranker is kept; continue is not reranked"
    )
    assert reranker.asked == [("lemon", 3), ("lemon", 3), ("lemon", 5)]


async def test_a_depth_beyond_the_page_and_paging_through_all_of_it(engine_world: World) -> None:
    plain, reranker = engine_world.session(), Reranker(turned)
    session = engine_world.session(reranker=reranker, config=EngineConfig(rerank_depth=5))
    await put_lemons(plain, 8)
    for verb in ("search", "find_exact", "find_objects"):
        fused = ids(await getattr(plain, verb)("lemon", limit=8))
        page = await getattr(session, verb)("lemon", limit=2)
        assert ids(page) == fused[:5][::-1][:2], "the best of the five, not of the page"
        assert (page.total, page.has_more) == (8, True)
        assert await all_pages(session, page, limit=2) == fused[:5][::-1] + fused[5:], f"{verb}: none twice, none lost"
        assert page.outcomes[-1].channel == "rerank"
        assert (page.outcomes[-1].status, page.outcomes[-1].hits, page.degraded) == ("ok", 5, ())
    assert reranker.asked == [("lemon", 5)] * 3
    page = await session.search("lemon", limit=7)
    assert reranker.asked[-1] == ("lemon", 7), "a larger page is reranked whole"
    assert all(len(obj.evidence) == 1 for obj in page.objects)


async def test_a_large_document_does_not_hide_what_is_to_be_reranked(engine_world: World) -> None:
    plain, reranker = engine_world.session(), Reranker(turned)
    large = await plain.put(Object(kind="document", title="large"))
    await plain.put_many([Object(kind="section", content="lemon lemon", parent_id=large.id) for _ in range(60)])
    await put_lemons(plain, 5)
    session = engine_world.session(reranker=reranker, config=EngineConfig(rerank_depth=6, candidate_k=10))
    for verb in (session.search, session.find_exact):
        await verb("lemon", limit=1)
    assert reranker.asked == [("lemon", 6)] * 2


async def test_what_the_reranker_drops_is_explained_and_does_not_come_back(engine_world: World) -> None:
    async def odd_ones(objects: Sequence[RichObject]) -> Sequence[RichObject]:
        return objects[::2]

    plain = engine_world.session()
    session = engine_world.session(reranker=Reranker(odd_ones), config=EngineConfig(rerank_depth=5))
    await put_lemons(plain, 7)
    fused = [key for key in ids(await plain.search("lemon", limit=7)) if key is not None]
    page = await session.search("lemon", limit=2, explain=True, explain_ids=fused)
    assert ids(page) == [fused[0], fused[2]]
    assert page.explanation is not None
    assert page.explanation.reranked == 3
    reasons = {missing.id: missing.reason.partition(", ")[2] for missing in page.explanation.missing}
    behind, dropped = "behind this page: continue, or raise the limit", "and left out by the reranker"
    assert reasons == dict(zip([fused[n] for n in (1, 3, 4, 5, 6)], [dropped] * 2 + [behind] * 3, strict=True))
    assert await all_pages(session, page) == [fused[n] for n in (0, 2, 4, 5, 6)]


async def test_a_failing_or_hanging_reranker_leaves_the_fused_order_and_the_page_says_so(engine_world: World) -> None:
    async def fail(objects: Sequence[RichObject]) -> None:
        raise RuntimeError("no model")

    async def wait(objects: Sequence[RichObject]) -> None:
        await hang()

    async def strangers(objects: Sequence[RichObject]) -> Sequence[RichObject]:
        return [objects[0], objects[0]]

    plain = engine_world.session()
    await put_lemons(plain, 4)
    for change, status, words in (
        (fail, "error", "no model"),
        (wait, "timeout", "the reranker did not answer within 0.3 s"),
        (strangers, "error", "one twice"),
    ):
        observer = RecordingObserver()
        config = EngineConfig(rerank_depth=4, **SHORT)
        session = engine_world.session(reranker=Reranker(change), config=config, observer=observer)
        for verb in ("search", "find_exact", "find_objects"):
            fused = await getattr(plain, verb)("lemon", limit=2)
            with anyio.fail_after(5):
                page = await getattr(session, verb)("lemon", limit=2)
            assert observer.ended[-1].degraded == ("rerank",)
            assert (ids(page), page.total) == (ids(fused), fused.total)
            assert await all_pages(session, page) == await all_pages(plain, fused)
            assert page.degraded == ("rerank",)
            assert page.degrade_mode is DegradeMode.NONE
            assert outcomes(page)["rerank"] == status
            assert words in page.outcomes[-1].detail
            assert observer.channels[-1][1] == page.outcomes[-1]
        explained = await session.search("lemon", limit=2, explain=True)
        assert explained.explanation is not None
        assert explained.explanation.reranked == 0


async def test_a_failure_is_an_error_where_the_host_wants_it(engine_world: World) -> None:
    async def fail(objects: Sequence[RichObject]) -> None:
        raise RuntimeError("no model")

    async def wait(objects: Sequence[RichObject]) -> None:
        await hang()

    async def misuse(objects: Sequence[RichObject]) -> None:
        raise InvalidInputError("wrong", field="model")

    await put_lemons(engine_world.session(), 2)
    cases: list[tuple[Change, type[BrainError]]] = [
        (fail, RerankerError),
        (wait, BackendTimeoutError),
        (misuse, InvalidInputError),
    ]
    for change, error in cases:
        config = EngineConfig(fail_on_reranker_error=True, **SHORT)
        session = engine_world.session(reranker=Reranker(change), config=config)
        for verb in (session.search, session.find_exact, session.find_objects):
            with anyio.fail_after(5), pytest.raises(error):
                await verb("lemon")


async def test_passages_are_read_whole_and_only_for_what_is_reranked(engine_world: World) -> None:
    plain, reranker = engine_world.session(), PassageReranker()
    session = engine_world.session(reranker=reranker, config=EngineConfig(rerank_depth=3))
    await put_lemons(plain, 4)
    long = "lemon " + "water " * 300
    golden, _ = await put_family(plain, [long + "gold"], title="last")
    stranger = engine_world.stranger()
    await put_family(stranger.session(), ["lemon gold"], title="lemon")
    # Long texts rank low: only a depth that reaches it lets its end count.
    assert ids(await session.search("lemon", limit=2))[0] != golden.id
    deeper = engine_world.session(reranker=reranker, config=EngineConfig(rerank_depth=9))
    page = await deeper.search("lemon", limit=2)
    assert ids(page)[0] == golden.id
    assert [len(passages) for passages in reranker.seen] == [3, 5]
    assert set(evidence_ids(page)) <= set(reranker.seen[1])
    assert max(len(each.content) for each in reranker.seen[1].values()) == len(long) + 4


class NoPassages:
    """A store without the ability to read passages."""

    def __init__(self, store: object) -> None:
        for name in ("get", "get_many", "hydrate", "list_children", "scan"):
            setattr(self, name, getattr(store, name))
        for name in ("search_lexical", "search_trigram", "search_vector"):
            setattr(self, name, getattr(store, name))


async def test_mmr_brings_variety_and_needs_stored_embeddings(engine_world: World) -> None:
    plain = engine_world.session()
    for number, (text, vector) in enumerate(
        [("lemon lemon lemon", 0), ("lemon lemon lemon", 0), ("lemon lemon cake", 0), ("lemon tea and bread", 1)]
    ):
        embedding = tuple(float(axis == vector) for axis in range(8))
        await put_family(plain, [{"content": text, "embedding": embedding}], title=f"n{number}")
    fused = ids(await plain.search("lemon"))
    session = engine_world.session(reranker=MmrReranker(relevance=0.5))
    page = await session.search("lemon")
    assert ids(page) == [fused[0], fused[3], fused[1], fused[2]]
    assert page.degraded == ()
    config = EngineConfig(search_channels=("lexical",))
    bare = engine_world.session(store=NoPassages(engine_world.store), reranker=MmrReranker(), config=config)
    page = await bare.search("lemon")
    assert (ids(page), page.degraded) == (fused, ("rerank",))
    assert "PassageReader" in page.outcomes[-1].detail


async def test_cancelling_a_search_cancels_its_reranker(engine_world: World) -> None:
    cancelled = anyio.Event()

    async def wait(objects: Sequence[RichObject]) -> None:
        try:
            await hang()
        finally:
            cancelled.set()

    await put_lemons(engine_world.session(), 2)
    session = engine_world.session(reranker=Reranker(wait))
    with anyio.move_on_after(0.2) as scope:
        await session.search("lemon")
    assert scope.cancelled_caught
    assert cancelled.is_set()
