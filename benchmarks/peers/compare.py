"""From the measurements to ratios and checks."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from operator import attrgetter

from peers.rounds import Ingest, Round, ratio
from report import Check, Report

__all__ = ["compare"]

_ALONE, _FEW, _MANY = 1, 4, 16
_P50_AIM = 1.0
_THROUGHPUT_AIMS = {"langchain": 1.5, "llamaindex": 4.0}
_INGEST_AIM = 2.0
_FLOOR = "floor"


_p50, _rate, _seconds = attrgetter("p50_ms"), attrgetter("rate"), attrgetter("seconds")


def _peer(system: str) -> str:
    return system.partition(".")[0]


def _is_ours(system: str) -> bool:
    return _peer(system).startswith("ours")


def _compared(systems: Sequence[str]) -> dict[str, str]:
    """Name in checks to system: each peer by its first variant, and every variant of the floor."""
    found: dict[str, str] = {}
    for system in systems:
        if not _is_ours(system):
            name = system.replace(".", "_") if _peer(system) == _FLOOR else _peer(system)
            found.setdefault(name, system)
    return found


def compare(
    report: Report,
    subject: str,
    judged_subject: str,
    rounds: Mapping[int, Mapping[str, Sequence[Round]]],
    ingests: Mapping[str, Sequence[Ingest]],
    ndcg: Mapping[str, Mapping[str, float]],
) -> None:
    """Add ``ratios`` and ``ndcg10`` to the figures, and the checks.

    The floor is hand-written for one purpose: its ratios are figures, without an aim.

    Args:
        subject: the system whose speed is compared, at the peers' candidate depth.
        judged_subject: the one whose answers are.
        rounds: by concurrency and system.
        ingests: by system.
        ndcg: nDCG@10 by collection and system.
    """
    report.parameters |= {"subject": subject, "judged_subject": judged_subject}
    ratios = report.figures["ratios"] = {}
    for name, system in _compared(list(ingests)).items():
        p50 = {c: ratio(_p50, rounds[c][subject], rounds[c][system]) for c in (_ALONE, _FEW)}
        measured = {
            **{f"p50_c{concurrency}_vs_{name}": value for concurrency, value in p50.items()},
            f"p50_vs_{name}": max(p50.values()),
            f"throughput16_vs_{name}": ratio(_rate, rounds[_MANY][subject], rounds[_MANY][system]),
            f"ingest_vs_{name}": ratio(_seconds, ingests[system], ingests[subject]),
        }
        ratios[name] = {check.partition("_vs_")[0]: round(value, 3) for check, value in measured.items()}
        if _peer(system) == _FLOOR:
            continue
        for check, value in measured.items():
            match check.partition("_")[0]:
                case "p50":
                    report.checks.append(Check.of(check, value, "<=", _P50_AIM))
                case "throughput16":
                    report.checks.append(Check.of(check, value, ">=", _THROUGHPUT_AIMS.get(name, 1.0)))
                case _:
                    report.checks.append(Check.of(check, value, ">=", _INGEST_AIM))
    _full_pages(report)
    if ndcg:
        _ndcg(report, judged_subject, ndcg)


def _full_pages(report: Report) -> None:
    for label, shares in report.figures["filters"].items():
        worst = min(share["full_pages"] for system, share in shares.items() if _is_ours(system))
        report.checks.append(Check.of(f"full_pages_{label}", worst, ">=", 1.0))


def _ndcg(report: Report, subject: str, ndcg: Mapping[str, Mapping[str, float]]) -> None:
    systems = list(next(iter(ndcg.values())))
    mean = {system: round(statistics.mean(one[system] for one in ndcg.values()), 4) for system in systems}
    report.figures["ndcg10"] = {
        system: {**{name: one[system] for name, one in ndcg.items()}, "mean": mean[system]} for system in systems
    }
    for name, one in {**ndcg, "mean": mean}.items():
        best = max(value for system, value in one.items() if not _is_ours(system))
        report.checks.append(Check.of(f"ndcg10_{name}", one[subject], ">=", best))
