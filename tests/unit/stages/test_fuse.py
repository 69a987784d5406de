"""Fusion: the named formulas, and one candidate out of its several sightings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.candidate import Candidate
from brain_async.stages.fuse import fuse

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hits(*scored: tuple[int, float]) -> list[Candidate]:
    return [Candidate(id=UUID(int=number), score=score) for number, score in scored]


def scores(method: str, weights: dict[str, float], **ranked: list[Candidate]) -> dict[int, float]:
    fused = fuse(ranked, method=method, weights=weights, rrf_k=60)  # type: ignore[arg-type]
    assert all(item.score == item.fused == pytest.approx(sum(rank.share for rank in item.channels)) for item in fused)
    return {item.candidate.id.int: item.fused for item in fused}


def test_rrf_adds_weight_over_k_plus_rank() -> None:
    found = scores("rrf", {"lexical": 1.0, "vector": 0.5}, lexical=hits((1, 9.0), (2, 1.0)), vector=hits((2, 0.9)))
    assert found == pytest.approx({1: 1 / 61, 2: 1 / 62 + 0.5 / 61})


def test_a_hit_of_three_channels_counts_once_and_its_shares_add_up() -> None:
    weights = {"lexical": 1.0, "trigram": 1.0, "vector": 1.0}
    (item,) = fuse({name: hits((7, 0.5)) for name in weights}, method="rrf", weights=weights, rrf_k=60)
    assert item.fused == pytest.approx(3 / 61)
    assert [(rank.channel, rank.rank, rank.score) for rank in item.channels] == [
        ("lexical", 1, 0.5),
        ("trigram", 1, 0.5),
        ("vector", 1, 0.5),
    ]


def test_relative_scales_text_scores_by_their_maximum_from_zero() -> None:
    found = scores("relative", {"lexical": 0.7}, lexical=hits((1, 8.0), (2, 4.0), (3, 0.0)))
    assert found == pytest.approx({1: 0.7, 2: 0.35, 3: 0.0})


def test_relative_scales_similarities_from_the_lowest_of_their_list() -> None:
    found = scores("relative", {"vector": 1.0}, vector=hits((1, 0.9), (2, 0.6), (3, 0.3)))
    assert found == pytest.approx({1: 1.0, 2: 0.5, 3: 0.0})


@pytest.mark.parametrize("channel", ["lexical", "vector"])
def test_equal_scores_count_in_full(channel: str) -> None:
    assert scores("relative", {channel: 0.4}, **{channel: hits((1, 0.2), (2, 0.2))}) == pytest.approx({1: 0.4, 2: 0.4})


def test_negative_similarities_are_scaled_like_others() -> None:
    found = scores("relative", {"vector": 1.0}, vector=hits((1, -0.1), (2, -0.3)))
    assert found == pytest.approx({1: 1.0, 2: 0.0})


def test_the_output_is_in_the_order_of_first_sighting() -> None:
    ranked = {"lexical": hits((3, 2.0), (1, 1.0)), "vector": hits((2, 0.9), (1, 0.8))}
    fused = fuse(ranked, method="rrf", weights={"lexical": 1.0, "vector": 1.0}, rrf_k=60)
    assert [item.candidate.id.int for item in fused] == [3, 1, 2]


def test_later_sightings_fill_gaps_and_the_newest_time_wins() -> None:
    bare = Candidate(id=UUID(int=1), score=1.0, title="First", updated_at=NOW)
    full = Candidate(
        id=UUID(int=1), parent_id=UUID(int=9), title="Second", position=3, updated_at=NOW + timedelta(days=1), score=0.5
    )
    (item,) = fuse(
        {"lexical": [bare], "vector": [full]}, method="rrf", weights={"lexical": 1.0, "vector": 1.0}, rrf_k=60
    )
    merged = item.candidate
    assert (merged.title, merged.parent_id, merged.position) == ("First", UUID(int=9), 3)
    assert merged.updated_at == NOW + timedelta(days=1)


def test_a_time_is_kept_when_the_later_sighting_has_none() -> None:
    known, seen = Candidate(id=UUID(int=1), updated_at=NOW), Candidate(id=UUID(int=1), title="Named")
    (item,) = fuse({"a": [known], "b": [seen]}, method="rrf", weights={"a": 1.0, "b": 1.0}, rrf_k=60)
    assert (item.candidate.title, item.candidate.updated_at) == ("Named", NOW)


def test_nothing_fuses_to_nothing() -> None:
    assert fuse({"lexical": []}, method="relative", weights={"lexical": 1.0}, rrf_k=60) == []


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.sampled_from(["lexical", "vector"]))
def test_relative_shares_stay_between_zero_and_the_weight_and_keep_the_order(raw: list[float], channel: str) -> None:
    ordered = sorted((abs(score) for score in raw) if channel == "lexical" else raw, reverse=True)
    shares = list(scores("relative", {channel: 0.7}, **{channel: hits(*enumerate(ordered))}).values())
    assert all(-1e-12 <= share <= 0.7 + 1e-12 for share in shares)
    assert shares == sorted(shares, reverse=True)
