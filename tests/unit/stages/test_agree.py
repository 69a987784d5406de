"""Agreement of the channels, the lead of a text channel's best hit, and what they cost a dense one."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.candidate import Candidate
from brain_async.stages.agree import agreed_weights, agreement, lead

WEIGHTS = {"lexical": 0.7, "vector": 0.3, "graph_text": 0.1, "graph_vector": 0.05}


def hits(*numbers: int) -> list[Candidate]:
    return [Candidate(id=UUID(int=number), score=1.0) for number in numbers]


def test_it_is_the_mean_of_what_each_list_holds_of_the_best_ten_of_the_other() -> None:
    first, second = hits(*range(1, 21)), hits(1, 2, *range(100, 107), 15, 3)
    # The second holds 1, 2 and 3 of the first's ten; the first holds 1, 2 and 15 of the second's.
    assert agreement(first, second) == pytest.approx(0.3)
    assert agreement(hits(1), hits(2)) == 0.0
    assert agreement(hits(1, 2), hits(2, 1)) == 1.0


def test_lists_that_agree_enough_leave_the_weights() -> None:
    ranked = {"lexical": hits(*range(1, 11)), "vector": hits(*range(8, 18))}
    assert agreed_weights(ranked, WEIGHTS, enough=0.3, sure=0.5) == WEIGHTS


def test_below_that_a_dense_channel_loses_in_proportion_and_keeps_a_quarter() -> None:
    ranked = {"lexical": hits(*range(1, 11)), "vector": hits(9, 10, *range(20, 28))}
    found = agreed_weights(ranked, WEIGHTS, enough=0.3, sure=0.5)
    assert found == {**WEIGHTS, "vector": pytest.approx(0.2)}
    apart = {"lexical": hits(*range(1, 11)), "vector": hits(20)}
    assert agreed_weights(apart, WEIGHTS, enough=0.3, sure=0.5)["vector"] == 0.075


def scored(*scores: float) -> list[Candidate]:
    return [Candidate(id=UUID(int=number), score=score) for number, score in enumerate(scores, start=1)]


def test_a_lead_is_how_far_the_tenth_is_behind_the_first() -> None:
    assert lead(scored(*[8.0] * 9, 6.0, 1.0)) == 0.25
    assert lead(scored(*[8.0] * 12)) == 0.0
    assert lead(scored(8.0, 1.0)) == 0.0, "fewer than ten say nothing"
    assert lead(scored(*[0.0] * 10)) == 0.0


@pytest.mark.parametrize(("tenth", "share"), [(5.0, 1.0), (4.9, 0.983333), (3.5, 0.75), (2.0, 0.5), (0.1, 0.5)])
def test_beside_a_text_channel_that_is_sure_a_dense_one_loses_up_to_half(tenth: float, share: float) -> None:
    lexical = scored(10.0, *[9.0] * 8, tenth)
    found = agreed_weights({"lexical": lexical, "vector": lexical}, WEIGHTS, enough=0.4, sure=0.5)
    assert found == {**WEIGHTS, "vector": pytest.approx(0.3 * share, rel=1e-5)}


def test_the_graph_channels_have_the_same_rule() -> None:
    found = agreed_weights({"graph_text": hits(*range(1, 11)), "graph_vector": hits(20)}, WEIGHTS, enough=0.3, sure=0.5)
    assert found == {**WEIGHTS, "graph_vector": 0.0125}
    sure = scored(10.0, *[1.0] * 9)
    found = agreed_weights({"graph_text": sure, "graph_vector": sure}, WEIGHTS, enough=0.3, sure=0.5)
    assert found == {**WEIGHTS, "graph_vector": 0.025}


@pytest.mark.parametrize("ranked", [{}, {"vector": hits(2)}, {"lexical": [], "vector": hits(2)}])
def test_without_a_text_list_there_is_nothing_to_agree_with(ranked: dict[str, list[Candidate]]) -> None:
    assert agreed_weights(ranked, WEIGHTS, enough=0.3, sure=0.5) == WEIGHTS


def test_0_switches_either_off() -> None:
    assert agreed_weights({"lexical": hits(1), "vector": hits(2)}, WEIGHTS, enough=0.0, sure=0.5) == WEIGHTS
    sure = scored(10.0, *[1.0] * 9)
    assert agreed_weights({"lexical": sure, "vector": sure}, WEIGHTS, enough=0.4, sure=0.0) == WEIGHTS


@given(
    first=st.lists(st.integers(1, 30), min_size=1, unique=True),
    second=st.lists(st.integers(1, 30), min_size=1, unique=True),
)
def test_it_is_symmetric_and_a_share(first: list[int], second: list[int]) -> None:
    found = agreement(hits(*first), hits(*second))
    assert found == agreement(hits(*second), hits(*first))
    assert 0 <= found <= 1
