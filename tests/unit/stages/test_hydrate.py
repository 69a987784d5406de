"""Hydration of one page: one statement when all is visible, refilled when not."""

from __future__ import annotations

from uuid import UUID

import pytest

from brain_async.model.candidate import Candidate, Fused, Promoted
from brain_async.model.results import ChannelRank
from brain_async.stages.hydrate import hydrate_page, hydrate_promoted
from tests.unit.stages.shelf import SCOPE, Shelf, an_object


def ids(*numbers: int) -> list[UUID]:
    return [UUID(int=number) for number in numbers]


def promoted(number: int, *parts: int) -> Promoted:
    hits = [
        Fused(
            candidate=Candidate(id=UUID(int=part), parent_id=UUID(int=number)),
            channels=[ChannelRank(channel="lexical", rank=1, score=3.0, share=0.5)],
            newest=0.0,
            fused=0.5,
            score=0.25,
            decay=0.5,
        )
        for part in parts
    ]
    return Promoted(id=UUID(int=number), score=0.25, newest=0.0, hits=hits, evidence=hits)


async def test_a_visible_page_takes_one_statement_of_its_size() -> None:
    shelf = Shelf(*(an_object(number) for number in range(1, 9)))
    page, rest = await hydrate_promoted(shelf, SCOPE, [promoted(n) for n in range(1, 9)], limit=3, explain=False)
    assert [obj.id.int for obj in page] == [1, 2, 3]
    assert [item.id.int for item in rest] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert shelf.calls == [3]


async def test_what_the_store_no_longer_shows_is_dropped_and_the_page_refilled() -> None:
    shelf = Shelf(*(an_object(number) for number in (2, 4, 5, 6, 7)))
    page, rest = await hydrate_promoted(shelf, SCOPE, [promoted(n) for n in range(1, 8)], limit=3, explain=False)
    assert [obj.id.int for obj in page] == [2, 4, 5]
    assert [item.id.int for item in rest] == [2, 4, 5, 6, 7], "an id found invisible leaves the result set"


async def test_a_page_of_ids_says_how_many_it_consumed() -> None:
    shelf = Shelf(*(an_object(number) for number in (2, 4, 5, 6, 7)))
    page, consumed = await hydrate_page(shelf, SCOPE, ids(1, 2, 3, 4, 5, 6), limit=2)
    assert [obj.key.int for obj in page] == [2, 4]
    assert consumed == 4, "the next page starts right behind the last object of this one"


async def test_a_thousand_invisible_ids_take_a_handful_of_statements() -> None:
    shelf = Shelf(an_object(1001))
    page, consumed = await hydrate_page(shelf, SCOPE, ids(*range(1, 1002)), limit=1)
    assert (page[0].key.int, consumed) == (1001, 1001)
    assert len(shelf.calls) <= 11
    page, rest = await hydrate_promoted(shelf, SCOPE, [promoted(n) for n in range(1, 1002)], limit=1, explain=False)
    assert ([obj.id.int for obj in page], len(rest)) == ([1001], 1)
    assert len(shelf.calls) <= 22


@pytest.mark.parametrize("limit", [1, 5])
async def test_an_exhausted_list_gives_a_short_page(limit: int) -> None:
    assert await hydrate_page(Shelf(), SCOPE, ids(1, 2, 3), limit=limit) == ([], 3)
    assert await hydrate_page(Shelf(), SCOPE, [], limit=limit) == ([], 0)
    assert await hydrate_promoted(Shelf(), SCOPE, [], limit=limit, explain=False) == ([], [])


async def test_evidence_is_what_the_store_still_shows_of_it() -> None:
    shelf = Shelf(an_object(1), an_object(11, 1, title="Part", content="  " + "x" * 300, position=4))
    (page, _) = await hydrate_promoted(shelf, SCOPE, [promoted(1, 11, 12)], limit=5, explain=False)
    (evidence,) = page[0].evidence
    assert (evidence.part_id.int, evidence.title, evidence.position, evidence.score) == (11, "Part", 4, 0.25)
    assert evidence.snippet == "x" * 240 + "…"
    assert (page[0].score, page[0].content, page[0].explain) == (0.25, "", ())


async def test_explain_lists_every_hit_with_its_channels() -> None:
    shelf = Shelf(an_object(1), an_object(11, 1))
    (page, _) = await hydrate_promoted(shelf, SCOPE, [promoted(1, 11)], limit=5, explain=True)
    (explained,) = page[0].explain
    assert (explained.id.int, explained.fused, explained.decay, explained.score) == (11, 0.5, 0.5, 0.25)
    assert [(rank.channel, rank.rank, rank.score) for rank in explained.channels] == [("lexical", 1, 3.0)]
