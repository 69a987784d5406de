"""Why an id is not on the page."""

from __future__ import annotations

from uuid import UUID

from brain_async.model.candidate import Candidate, Fused, Promoted
from brain_async.model.filters import Filters
from brain_async.model.results import Evidence, RichObject, SearchPage
from brain_async.stages.explain import explain
from tests.unit.stages.shelf import SCOPE, Shelf, an_object

# Two parents on the page (10 with part 11 as evidence and 12 beside it, 20 with part 21), one behind it (30, part 31),
# one that the reranker dropped (40, part 41), one that no channel found (50, part 51); 61 belongs to an invisible parent.
SHELF = Shelf(
    *(an_object(number) for number in (10, 20, 30, 40, 50)),
    *(an_object(number, number - number % 10) for number in (11, 12, 21, 31, 41, 51, 61)),
    an_object(52, 50, properties={"draft": True}),
)


def fused(number: int) -> Fused:
    candidate = Candidate(id=UUID(int=number), parent_id=UUID(int=number - number % 10))
    return Fused(candidate=candidate, channels=[], newest=0.0)


def promoted(number: int) -> Promoted:
    return Promoted(id=UUID(int=number), score=0.0, newest=0.0, hits=[], evidence=[])


PAGE = SearchPage(
    objects=(
        RichObject(id=UUID(int=10), kind="thing", evidence=(Evidence(part_id=UUID(int=11)),)),
        RichObject(id=UUID(int=20), kind="thing"),
    )
)


NO_FILTERS = Filters()


async def reasons(*asked: int, filters: Filters = NO_FILTERS) -> dict[int, str]:
    page = await explain(
        SHELF,
        SCOPE,
        PAGE,
        [UUID(int=number) for number in asked],
        fusion="rrf",
        weights={"lexical": 1.0},
        dropped=[UUID(int=40)],
        reranked=2,
        promoted=[promoted(number) for number in (10, 40, 20, 30)],
        ranked=[fused(number) for number in (11, 12, 21, 31, 41, 61)],
        filters=filters,
        candidate_k=40,
    )
    assert page.objects == PAGE.objects
    assert page.explanation is not None
    assert (page.explanation.fusion, page.explanation.candidates, page.explanation.reranked) == ("rrf", 6, 2)
    return {missing.id.int: missing.reason for missing in page.explanation.missing}


async def test_what_is_shown_needs_no_reason() -> None:
    assert await reasons(10, 11, 20) == {}


async def test_each_reason() -> None:
    found = await reasons(99, 12, 30, 31, 40, 41, 50, 51, 61)
    assert "not visible" in found[99]
    assert found[12].startswith("a part that matched, but not among the best of its parent")
    assert found[30] == "ranked 4 of 4, behind this page: continue, or raise the limit"
    assert "ranked 4 of 4" in found[31]
    assert found[40] == "ranked 2 of 4, and left out by the reranker"
    assert found[41].endswith("left out by the reranker")
    assert found[50].startswith("no channel had a part of it")
    assert found[51].startswith("no channel had it among its first 40")
    assert found[61].endswith("is not visible in this scope")


async def test_a_part_that_the_filters_exclude() -> None:
    found = await reasons(51, 52, filters=Filters(own_kinds=("other",)))
    assert set(found.values()) == {"excluded by the filters, the kinds or the scope_ids of this request"}
    inside = await reasons(51, filters=Filters(scope_ids=(UUID(int=50),)))
    assert "no channel" in inside[51]


async def test_each_id_is_answered_once_in_the_order_asked() -> None:
    assert list(await reasons(51, 99, 51, 30)) == [51, 99, 30]


async def test_without_ids_the_store_is_not_asked() -> None:
    before = len(SHELF.calls)
    assert await reasons() == {}
    assert len(SHELF.calls) == before
