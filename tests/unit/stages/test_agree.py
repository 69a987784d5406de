"""Agreement of the channels, and what it costs a dense one."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.candidate import Candidate
from brain_async.stages.agree import agreed_weights, agreement, standout

WEIGHTS = {"lexical": 0.7, "vector": 0.3, "graph_text": 0.1, "graph_vector": 0.05}


def hits(*numbers: int) -> list[Candidate]:
    return [Candidate(id=UUID(int=number), score=1.0) for number in numbers]


def scored(*scores: float) -> list[Candidate]:
    return [Candidate(id=UUID(int=number), score=score) for number, score in enumerate(scores, start=1)]


def test_it_is_the_mean_of_what_each_list_holds_of_the_best_ten_of_the_other() -> None:
    first, second = hits(*range(1, 21)), hits(1, 2, *range(100, 107), 15, 3)
    # The second holds 1, 2 and 3 of the first's ten; the first holds 1, 2 and 15 of the second's.
    assert agreement(first, second) == pytest.approx(0.3)
    assert agreement(hits(1), hits(2)) == 0.0
    assert agreement(hits(1, 2), hits(2, 1)) == 1.0


def test_lists_that_agree_enough_leave_the_weights() -> None:
    ranked = {"lexical": hits(*range(1, 11)), "vector": hits(*range(8, 18))}
    assert agreed_weights(ranked, WEIGHTS, enough=0.3, clear=0.0) == WEIGHTS


def test_below_that_a_dense_channel_loses_in_proportion_and_at_most_half() -> None:
    ranked = {"lexical": hits(*range(1, 11)), "vector": hits(9, 10, *range(20, 28))}
    found = agreed_weights(ranked, WEIGHTS, enough=0.3, clear=0.0)
    assert found == {**WEIGHTS, "vector": pytest.approx(0.2)}
    apart = {"lexical": hits(1), "vector": hits(2)}
    assert agreed_weights(apart, WEIGHTS, enough=0.3, clear=0.0)["vector"] == 0.15


def test_the_graph_channels_have_the_same_rule() -> None:
    found = agreed_weights({"graph_text": hits(1), "graph_vector": hits(2)}, WEIGHTS, enough=0.3, clear=0.0)
    assert found == {**WEIGHTS, "graph_vector": 0.025}


@pytest.mark.parametrize("ranked", [{}, {"vector": hits(2)}, {"lexical": [], "vector": hits(2)}])
def test_without_a_text_list_there_is_nothing_to_agree_with(ranked: dict[str, list[Candidate]]) -> None:
    assert agreed_weights(ranked, WEIGHTS, enough=0.3, clear=0.0) == WEIGHTS


def test_0_switches_both_off() -> None:
    ranked = {"lexical": scored(9.0, 1.0, 1.0), "vector": hits(7)}
    assert agreed_weights(ranked, WEIGHTS, enough=0.0, clear=0.0) == WEIGHTS


def test_it_stands_out_by_standard_deviations_above_the_mean() -> None:
    # Mean 3, deviation sqrt((4 + 0 + 4) / 3).
    assert standout(scored(5.0, 3.0, 1.0)) == pytest.approx(2 / (8 / 3) ** 0.5)
    assert standout(scored(2.0, 2.0)) == 0.0
    assert standout(scored(7.0)) == 0.0
    assert standout(scored(8.0, *[1.0] * 16)) == pytest.approx(4.0), (
        "one hit alone: the root of the number of the others"
    )


def test_a_text_hit_that_stands_out_takes_weight_from_the_dense_channel_beside_it() -> None:
    clear_words = scored(8.0, *[1.0] * 16)
    found = agreed_weights({"lexical": clear_words, "vector": clear_words}, WEIGHTS, enough=0.4, clear=2.5)
    assert found == {**WEIGHTS, "vector": pytest.approx(0.3 * 2.5 / 4)}
    graph = agreed_weights({"graph_text": clear_words, "graph_vector": hits(99)}, WEIGHTS, enough=0.4, clear=2.5)
    assert graph == {**WEIGHTS, "graph_vector": pytest.approx(0.05 * 0.5 * 2.5 / 4)}, "both rules"
    level = scored(3.0, 2.0, 1.0)
    assert agreed_weights({"lexical": level, "vector": level}, WEIGHTS, enough=0.4, clear=2.5) == WEIGHTS


@given(
    first=st.lists(st.integers(1, 30), min_size=1, unique=True),
    second=st.lists(st.integers(1, 30), min_size=1, unique=True),
)
def test_it_is_symmetric_and_a_share(first: list[int], second: list[int]) -> None:
    found = agreement(hits(*first), hits(*second))
    assert found == agreement(hits(*second), hits(*first))
    assert 0 <= found <= 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_standing_out_is_bounded_by_the_length_of_the_list(scores: list[float]) -> None:
    found = standout(scored(*sorted(scores, reverse=True)))
    assert 0 <= found <= (len(scores) - 1) ** 0.5 + 1e-6
