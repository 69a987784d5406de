"""Promotion of parts to their parents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from brain_async.model.candidate import Candidate, Fused, newest_first
from brain_async.stages.decay import decayed
from brain_async.stages.promote import promote

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(number: int, parent: int | None, score: float, *, age: float | None = 0.0) -> Fused:
    candidate = Candidate(
        id=UUID(int=number),
        parent_id=None if parent is None else UUID(int=parent),
        updated_at=None if age is None else NOW - timedelta(days=age),
    )
    return Fused(candidate, [], newest_first(candidate.updated_at), fused=score)


def promoted(*hits: Fused, evidence_n: int = 3) -> list[tuple[int, float, list[int]]]:
    ranked = decayed(hits, NOW, 0.0)
    return [
        (item.id.int, item.score, [part.candidate.id.int for part in item.evidence])
        for item in promote(ranked, evidence_n)
    ]


def test_a_parent_scores_as_its_best_part_never_the_sum() -> None:
    assert promoted(hit(1, 10, 0.4), hit(2, 10, 0.4), hit(3, 10, 0.4), hit(4, 20, 0.5)) == [
        (20, 0.5, [4]),
        (10, 0.4, [1, 2, 3]),
    ]


def test_its_own_hit_in_the_graph_adds_to_it() -> None:
    assert promoted(hit(1, 10, 0.5), hit(10, None, 0.25), hit(2, 20, 0.6)) == [(10, 0.75, [1]), (20, 0.6, [2])]


def test_a_hit_without_a_parent_stands_for_itself_without_evidence() -> None:
    assert promoted(hit(10, None, 0.25)) == [(10, 0.25, [])]


def test_evidence_is_cut_and_ordered_as_everything_is() -> None:
    parts = [hit(5, 10, 0.5), hit(4, 10, 0.5), hit(3, 10, 0.5, age=1), hit(2, 10, 0.9), hit(1, 10, 0.1)]
    assert promoted(*parts) == [(10, 0.9, [2, 4, 5])]
    assert promoted(*parts, evidence_n=1) == [(10, 0.9, [2])]


def test_all_hits_are_kept_beside_the_evidence() -> None:
    (parent,) = promote(decayed([hit(n, 10, 0.5) for n in range(1, 6)], NOW, 0.0), 2)
    assert (len(parent.hits), len(parent.evidence)) == (5, 2)


def test_ties_between_parents_go_to_the_newer_then_the_lower_id() -> None:
    hits = [hit(1, 30, 0.5), hit(2, 20, 0.5), hit(3, 10, 0.5, age=1), hit(4, 5, 0.5, age=None)]
    for seed in range(5):
        Random(seed).shuffle(hits)
        assert [found[0] for found in promoted(*hits)] == [20, 30, 10, 5]


def test_the_newest_hit_dates_the_parent() -> None:
    (parent,) = promote(decayed([hit(1, 10, 0.5, age=9), hit(2, 10, 0.1, age=1)], NOW, 0.0), 3)
    assert parent.newest == newest_first(NOW - timedelta(days=1))
