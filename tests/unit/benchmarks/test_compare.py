"""From measurements to checks."""

from peers.compare import compare
from peers.rounds import Ingest, Round
from report import Report


def report() -> Report:
    shares = {
        "ours.depth50": {"full_pages": 1.0},
        "ours.default": {"full_pages": 0.9},
        "langchain.depth50": {"full_pages": 0.1},
    }
    return Report(benchmark="bench_peers", parameters={}, figures={"filters": {"1%": shares}})


def rounds(p50: dict[str, float]) -> dict[int, dict[str, list[Round]]]:
    """One search a round, of ``p50`` seconds at one caller and twice that at four."""
    return {
        concurrency: {system: [Round([seconds * factor], seconds * factor)] for system, seconds in p50.items()}
        for concurrency, factor in ((1, 1), (4, 2), (16, 4), (64, 8))
    }


def ingests(seconds: dict[str, float]) -> dict[str, list[Ingest]]:
    """Two rounds, the second of a machine half as fast."""
    return {system: [Ingest(took), Ingest(2 * took)] for system, took in seconds.items()}


def checked(p50: dict[str, float], ingest: dict[str, float], ndcg: dict[str, dict[str, float]]) -> Report:
    made = report()
    compare(made, "ours.depth50", "ours.default", rounds(p50), ingests(ingest), ndcg)
    return made


P50 = {
    "ours.depth50": 0.002,
    "ours.default": 0.001,
    "langchain.depth50": 0.004,
    "langchain.default": 0.001,
    "floor.and": 0.001,
}
INGEST = {
    "ours.depth50": 10.0,
    "ours.default": 10.0,
    "langchain.depth50": 15.0,
    "langchain.default": 15.0,
    "floor.and": 5.0,
}


def test_a_peer_is_compared_by_its_first_variant_and_the_floor_without_an_aim() -> None:
    made = checked(P50, INGEST, {})
    checks = {check.name: check for check in made.checks}
    assert checks["p50_c1_vs_langchain"].value == 0.5
    assert checks["p50_vs_langchain"].holds
    assert (checks["throughput16_vs_langchain"].value, checks["throughput16_vs_langchain"].aim) == (2.0, ">= 1.5")
    assert (checks["ingest_vs_langchain"].value, checks["ingest_vs_langchain"].holds) == (1.5, False)
    assert not any("floor" in name or "default" in name for name in checks)
    assert made.figures["ratios"]["floor_and"] == {
        "p50_c1": 2.0,
        "p50_c4": 2.0,
        "p50": 2.0,
        "throughput16": 0.5,
        "ingest": 0.5,
    }


def test_the_worse_of_the_two_p50_counts() -> None:
    made = report()
    measured = rounds(P50)
    measured[4]["langchain.depth50"] = [Round([0.001], 0.001)]
    compare(made, "ours.depth50", "ours.default", measured, ingests(INGEST), {})
    assert {check.name: check.value for check in made.checks}["p50_vs_langchain"] == 4.0


def test_every_page_of_every_one_of_our_systems_has_to_be_full() -> None:
    checks = {check.name: check for check in checked(P50, INGEST, {}).checks}
    assert (checks["full_pages_1%"].value, checks["full_pages_1%"].holds) == (0.9, False)


def test_quality_is_held_against_the_best_of_the_others() -> None:
    one = {
        "ours.depth50": 0.9,
        "ours.default": 0.5,
        "langchain.depth50": 0.4,
        "langchain.default": 0.1,
        "floor.and": 0.6,
    }
    two = {**one, "ours.default": 0.8}
    made = checked(P50, INGEST, {"one": one, "two": two})
    checks = {check.name: check for check in made.checks}
    assert (checks["ndcg10_one"].value, checks["ndcg10_one"].aim, checks["ndcg10_one"].holds) == (0.5, ">= 0.6", False)
    assert checks["ndcg10_mean"].value == 0.65
    assert checks["ndcg10_mean"].holds
    assert made.figures["ndcg10"]["ours.default"] == {"one": 0.5, "two": 0.8, "mean": 0.65}
