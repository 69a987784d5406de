"""Rounds in which every system takes its turn, and what is said of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from report import percentile

__all__ = ["Ingest", "Round", "full_share", "ingest_summary", "ratio", "summary", "turns"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Round:
    """One system's turn in one round: seconds of each search, and of all of them by so many callers; CPU seconds of the peer's
    process and of the server."""

    latencies: Sequence[float]
    elapsed: float
    client_cpu: float = 0.0
    server_cpu: float = 0.0

    @property
    def p50_ms(self) -> float:
        """Median latency in milliseconds."""
        return percentile(self.latencies, 0.5)

    @property
    def rate(self) -> float:
        """Searches a second."""
        return len(self.latencies) / self.elapsed


@dataclass(frozen=True)
class Ingest:
    """One ingest: seconds until everything is indexed, and CPU seconds of the peer's process and of the server."""

    seconds: float
    client_cpu: float = 0.0
    server_cpu: float = 0.0


def ingest_summary(ingests: Sequence[Ingest], documents: int) -> dict[str, float]:
    """Documents a second and the seconds as medians over the rounds, and the mean CPU seconds."""
    seconds = statistics.median(one.seconds for one in ingests)
    return {
        "documents_per_s": round(documents / seconds, 1),
        "seconds": round(seconds, 2),
        "client_cpu_s": round(statistics.mean(one.client_cpu for one in ingests), 2),
        "server_cpu_s": round(statistics.mean(one.server_cpu for one in ingests), 2),
    }


def turns(systems: Sequence[str], number: int) -> list[str]:
    """The order of round ``number``: each round starts one system later, so that nobody always follows the same load."""
    start = number % len(systems) if systems else 0
    return [*systems[start:], *systems[:start]]


def summary(rounds: Sequence[Round]) -> dict[str, float]:
    """p50 and p95 in milliseconds over all searches, searches a second as the median over the rounds, and the CPU milliseconds
    of a search in the peer's process and in the server, which other load on the machine changes least."""
    latencies = [latency for one in rounds for latency in one.latencies]
    return {
        "p50_ms": round(percentile(latencies, 0.5), 2),
        "p95_ms": round(percentile(latencies, 0.95), 2),
        "searches_per_s": round(statistics.median(one.rate for one in rounds), 1),
        "client_cpu_ms": round(sum(one.client_cpu for one in rounds) / len(latencies) * 1e3, 2),
        "server_cpu_ms": round(sum(one.server_cpu for one in rounds) / len(latencies) * 1e3, 2),
    }


def ratio(measure: Callable[[_T], float], ours: Sequence[_T], theirs: Sequence[_T]) -> float:
    """Ours over theirs, round by round; the median over the rounds."""
    return statistics.median(measure(our) / measure(their) for our, their in zip(ours, theirs, strict=True))


def full_share(rows: Sequence[int], k: int) -> Mapping[str, float]:
    """The share of pages with ``k`` rows, and the mean number of rows."""
    return {
        "full_pages": round(sum(count >= k for count in rows) / len(rows), 4),
        "mean_rows": round(statistics.mean(rows), 2),
    }
