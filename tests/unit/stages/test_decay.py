"""Decay by age, the exact-title boost, and the order of the house."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from brain_async.model.candidate import Candidate, Fused, newest_first
from brain_async.stages.decay import boost_exact_title, decay_factor, decayed

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def item(number: int, fused: float = 1.0, *, age: float | None = 0.0, title: str = "") -> Fused:
    updated_at = None if age is None else NOW - timedelta(days=age)
    candidate = Candidate(id=UUID(int=number), title=title, updated_at=updated_at)
    return Fused(candidate, [], newest_first(updated_at), fused=fused)


def factor(after_now: timedelta, decay_lambda: float) -> float:
    return decay_factor(newest_first(NOW + after_now), NOW.timestamp(), decay_lambda)


def test_the_factor_is_exponential_in_days() -> None:
    assert factor(timedelta(days=-10), 0.02) == pytest.approx(math.exp(-0.2))
    assert factor(timedelta(hours=-12), 1.0) == pytest.approx(math.exp(-0.5))


@pytest.mark.parametrize("ahead", [0, 1, 365])
def test_the_present_and_the_future_decay_by_exactly_one(ahead: int) -> None:
    assert factor(timedelta(days=ahead), 0.02) == 1.0


@pytest.mark.parametrize("decay_lambda", [0.0, -1.0])
def test_zero_or_below_switches_decay_off(decay_lambda: float) -> None:
    assert factor(timedelta(days=-9999), decay_lambda) == 1.0


def test_an_unset_time_does_not_decay() -> None:
    assert decay_factor(newest_first(None), NOW.timestamp(), 0.02) == 1.0


def test_decay_scales_the_boost_as_well() -> None:
    aged = item(1, 0.5, age=50, title="  Exact TITLE ")
    boost_exact_title([aged], "exact title ")
    (ranked,) = decayed([aged], NOW, 0.02)
    assert ranked.score == pytest.approx(10.5 * math.exp(-1.0))
    assert (ranked.boost, ranked.decay) == (10.0, pytest.approx(math.exp(-1.0)))


def test_only_an_equal_title_is_boosted() -> None:
    items = [item(1, title="exact title and more"), item(2, title=""), item(3, title="exact title")]
    boost_exact_title(items, "Exact Title")
    assert [found.boost for found in items] == [0.0, 0.0, 10.0]


def test_order_is_score_then_newer_then_id() -> None:
    items = [item(4), item(3, age=1), item(2, age=None), item(1), item(5, 2.0, age=9)]
    assert [found.candidate.id.int for found in decayed(items, NOW, 0.0)] == [5, 1, 4, 3, 2]
    assert [found.candidate.id.int for found in decayed(items[::-1], NOW, 0.0)] == [5, 1, 4, 3, 2]
