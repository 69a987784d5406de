"""Turns, and what is said of the rounds."""

from collections import Counter
from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from peers.rounds import Ingest, Round, full_share, ingest_summary, ratio, summary, turns


@given(st.lists(st.text(max_size=3), min_size=1, max_size=8, unique=True), st.integers(0, 50))
def test_over_as_many_rounds_each_system_has_each_place_once(systems: list[str], first: int) -> None:
    orders = [turns(systems, number) for number in range(first, first + len(systems))]
    assert all(sorted(order) == sorted(systems) for order in orders)
    for place in range(len(systems)):
        assert Counter(order[place] for order in orders) == Counter(systems)


def test_turns_of_nobody() -> None:
    assert turns([], 3) == []


def test_a_summary_is_over_all_searches_and_the_rate_over_rounds() -> None:
    rounds = [Round([0.001, 0.002, 0.003], 0.01, 0.004, 0.02), Round([0.004, 0.005], 0.01, 0.002), Round([0.1], 1.0)]
    figures = summary(rounds)
    assert figures["p50_ms"] == 3.5
    assert figures["searches_per_s"] == 200.0  # of 300, 200 and 1
    assert (figures["client_cpu_ms"], figures["server_cpu_ms"]) == (1.0, 3.33)
    assert figures["p95_ms"] == 76.25  # three quarters of the way from 5 to 100


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    ours = [Round([0.001], 1.0), Round([0.002], 1.0), Round([0.100], 1.0)]
    theirs = [Round([0.002], 2.0), Round([0.002], 4.0), Round([0.002], 4.0)]
    assert ratio(attrgetter("p50_ms"), ours, theirs) == 1.0
    assert ratio(attrgetter("rate"), ours, theirs) == 4.0


def test_an_ingest_is_the_median_of_its_rounds() -> None:
    assert ingest_summary([Ingest(2.0, 1.0, 3.0), Ingest(8.0, 2.0, 1.0), Ingest(4.0)], 1_000) == {
        "documents_per_s": 250.0,
        "seconds": 4.0,
        "client_cpu_s": 1.0,
        "server_cpu_s": 1.33,
    }


def test_a_page_is_full_with_k_rows() -> None:
    assert full_share([10, 10, 9, 3], 10) == {"full_pages": 0.5, "mean_rows": 8.0}
