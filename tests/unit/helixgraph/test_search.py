"""Filters as conditions of a query, and when a ranked answer is complete."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.scope import Scope
from helixgraph.search import best, restriction


def test_what_lets_nothing_through() -> None:
    for filters in (
        Filters(kinds=()),
        Filters(own_kinds=()),
        Filters(titles=()),
        Filters(scope_ids=()),
        Filters(properties=(PropertyFilter("n", ()),)),
    ):
        assert restriction(Scope(), filters) is None
    open_to_all = restriction(Scope(), Filters())
    assert open_to_all is not None
    assert open_to_all.conditions == ()


def test_short_lists_are_looked_up_and_long_ones_checked_on_the_rows() -> None:
    ids = [uuid4() for _ in range(300)]
    short = restriction(Scope(uuid4()), Filters(scope_ids=tuple(ids[:3])))
    assert short is not None
    assert [(name, how, len(names)) for name, how, names in short.conditions] == [
        ("namespace_id", "any", 1),
        ("object_id", "any", 4),
    ]
    assert set(short.parameters) == {name for _, _, names in short.conditions for name in names}
    middling = restriction(Scope(), Filters(scope_ids=tuple(ids[:100])))
    assert middling is not None
    assert [how for _, how, _ in middling.conditions] == ["in"]
    long = restriction(Scope(), Filters(scope_ids=tuple(ids), exclude_ids=(ids[0],)))
    assert long is not None
    assert long.conditions == ()
    assert [long.admits({"object_id": str(some)}) for some in (ids[0], ids[1], UUID(int=1))] == [False, True, False]


def test_kinds_and_own_kinds_must_both_hold_however_long() -> None:
    many = tuple(f"k{n}" for n in range(300))
    allowed = restriction(Scope(), Filters(kinds=many, own_kinds=(*many[:290], *(f"o{n}" for n in range(10)))))
    assert allowed is not None
    assert [allowed.admits({"kind": kind}) for kind in ("k1", "k295", "o1")] == [True, False, False]


def test_indexed_properties_have_a_name_of_their_own() -> None:
    filters = Filters(properties=(PropertyFilter("stage", ("won", "lost", "x" * 2_000)), PropertyFilter("n", (1,))))
    allowed = restriction(Scope(), filters, ["stage"])
    assert allowed is not None
    assert [(name, how) for name, how, _ in allowed.conditions] == [("p_stage", "any"), ("properties.n", "any")]
    assert max(len(value) for value in allowed.parameters.values()) < 100, "long values are looked up by their digest"


class _Search:
    """A ranking of ``scores`` by id; those in ``passing`` satisfy the conditions."""

    def __init__(self, scores: list[float], passing: set[int]) -> None:
        self.ranked = sorted(enumerate(scores), key=lambda hit: (-hit[1], hit[0]))
        self.passing = passing
        self.asked: list[tuple[int, bool]] = []

    async def __call__(self, limit: int, within: bool) -> dict[str, Any]:
        self.asked.append((limit, within))
        hits = [hit for hit in self.ranked if not within or hit[0] in self.passing][:limit]
        return {
            "found": [{"$id": number, "$score": score} for number, score in hits],
            "rows": [{"$id": number} for number, _ in hits if number in self.passing],
        }


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("share", [1, 2, 10, 500])
@pytest.mark.parametrize("levels", [1, 3, 5_000])
@pytest.mark.parametrize("k", [1, 40, 5_000])
async def test_the_best_k_and_their_ties_are_there(exact: bool, share: int, levels: int, k: int) -> None:
    scores = [float(number * 7919 % levels) for number in range(3_000)]
    passing = set(range(0, 3_000, share))
    search = _Search(scores, passing)
    rows = await best(
        search,
        k=k,
        score=lambda hit: float(hit["$score"]),
        admits=lambda _: True,
        broad_first=True,
        broad_is_exact=exact,
    )
    wanted = sorted((scores[number] for number in passing), reverse=True)
    assert [score for _, score in rows][:k] == wanted[:k]
    last = wanted[min(k, len(wanted)) - 1]
    ties = {number for number in passing if scores[number] == last}
    assert ties <= {row["$id"] for row, _ in rows}
    assert len(search.asked) <= 4


@pytest.mark.parametrize("k", [40, 700, 5_000])
@pytest.mark.parametrize("levels", [1, 5_000])
@pytest.mark.parametrize("broad_first", [True, False])
async def test_no_more_is_asked_within_a_selection_than_the_engine_takes(
    k: int, levels: int, broad_first: bool
) -> None:
    scores = [float(number * 7919 % levels) for number in range(3_000)]
    search = _Search(scores, set(range(0, 3_000, 2)))
    rows = await best(
        search,
        k=k,
        score=lambda hit: float(hit["$score"]),
        admits=lambda _: True,
        broad_first=broad_first,
        broad_is_exact=False,
        most=800,
    )
    assert all(limit <= 800 for limit, within in search.asked if within)
    wanted = sorted((scores[number] for number in search.passing), reverse=True)
    found = [score for _, score in rows]
    assert found == wanted[: len(found)]
    assert len(found) >= min(k, 800)
    assert broad_first is False or k < 1_500 or len(found) == 1_500, "what the search over everything found is kept"
