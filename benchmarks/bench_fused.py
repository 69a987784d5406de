"""One statement or many? ``python benchmarks/bench_fused.py --json``

``Engine.search`` with ``store_channels`` concurrent and fused, in turns on the same local Postgres: 20,000 documents of 70 to
210 words, one part each, 256 dimensions, 10 results, 50 candidates a channel, at 1, 4, 16 and 64 searches at once.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path

from bench_search import DIMENSION, LARGE, KnownVectors, Search, batches, make_queries, timed

from brain_async import Engine, EngineConfig, SearchContext, SearchRequest
from brain_async.adapters.postgres import open_postgres
from brain_async.config import StoreChannels
from brain_async.local import local_postgres
from brain_async.model.scope import Scope
from brain_async.testing.corpus import make_parts
from report import Check, Report, percentile

LIMIT = 10
CANDIDATES = 50
POOL = 8
BUSY = 16
"""Searches at once from which fused has to be no slower; alone, its channels take turns on one core."""
SEARCHES = {1: 150, 4: 300, 16: 400, 64: 400}
MODES: tuple[StoreChannels, ...] = ("concurrent", "fused")


def searching(engine: Engine) -> Search:
    """``Engine.search`` with a SearchContext of its own for every call."""

    async def search(scope: Scope, query: str) -> int:
        page = await engine.search(scope, SearchRequest(query=query, limit=LIMIT), SearchContext(scope.namespace_id))
        return len(page.objects)

    return search


async def compare(report: Report, searches: dict[StoreChannels, Search], queries: list[str], rounds: int) -> None:
    """Both in turns, round by round; ratios are medians over the rounds."""
    for concurrency, count in SEARCHES.items():
        latencies: dict[StoreChannels, list[float]] = {mode: [] for mode in MODES}
        rates: dict[StoreChannels, list[float]] = {mode: [] for mode in MODES}
        for number in range(rounds + 1):
            chosen = [queries[(number * count + index) % len(queries)] for index in range(count)]
            for mode in MODES if number % 2 else reversed(MODES):
                seconds, elapsed = await timed(searches[mode], chosen, concurrency)
                if number:  # the first round warms up
                    latencies[mode] += seconds
                    rates[mode].append(count / elapsed)
        report.figures[f"concurrency_{concurrency}"] = {
            mode: {
                "p50_ms": round(percentile(latencies[mode], 0.5), 2),
                "p95_ms": round(percentile(latencies[mode], 0.95), 2),
                "searches_per_s": round(statistics.median(rates[mode]), 1),
            }
            for mode in MODES
        }
        ratio = statistics.median(f / c for f, c in zip(rates["fused"], rates["concurrent"], strict=True))
        report.checks.append(
            Check.of(f"fused_vs_concurrent_c{concurrency}", ratio, ">=", 1.0 if concurrency >= BUSY else 0.8)
        )


async def run(documents: int, lexical: str, rounds: int, home: Path) -> Report:
    """Load, then measure."""
    report = Report(
        benchmark="bench_fused",
        parameters={"documents": documents, "dimension": DIMENSION, "candidates": CANDIDATES, "pool": POOL},
    )
    queries = make_queries(600)
    embedder = KnownVectors(queries)
    assert LARGE.namespace_id is not None
    made = make_parts(
        documents, seed=1, namespace_id=LARGE.namespace_id, dimension=DIMENSION, words=140, parts_per_parent=1
    )
    async with (
        local_postgres(home) as server,
        open_postgres(server.dsn, dimension=DIMENSION, lexical=lexical, pool_size=POOL) as store,  # type: ignore[arg-type]
    ):
        await store.bulk_load(batches(made, 1_000))
        report.parameters["lexical"] = store.lexical_backend
        searches = {
            mode: searching(
                Engine(store, embedder=embedder, config=EngineConfig(candidate_k=CANDIDATES, store_channels=mode))
            )
            for mode in MODES
        }
        await compare(report, searches, queries, rounds)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--lexical", choices=["auto", "pg_textsearch", "portable"], default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.documents, arguments.lexical, arguments.rounds, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
