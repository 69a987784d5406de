"""The built-in lexical backend beside pg_textsearch. ``python benchmarks/bench_lexical.py FOLDER... --parts 100000 --json``

Both on one local Postgres, in schemas of their own, with the same objects. Quality: nDCG@10 of the lexical channel alone on
each folder, a test collection in the BEIR layout, one part a document. Speed: a corpus of ``--parts`` parts with
Zipf-distributed words, lexical searches of 2 to 6 words by ``Engine.search``, query by query in turns; and the CPU they use.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, get_args

import asyncpg
from bench_filters import cpu_ms
from bench_scale import batches, make_queries, one_search, prepare_schema
from scale_corpus import LARGE

from brain_async import Engine, EngineConfig
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.evaluation import System, evaluate, ingest_collection, read_collection
from brain_async.local import local_postgres
from brain_async.testing.corpus import make_parts
from report import Check, Report, percentile

Backend = Literal["portable", "pg_textsearch"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
NDCG = "nDCG@10"
SYSTEM = System(name="lexical", role="alone", channels=("lexical",), config=EngineConfig(candidate_k=50))
ROUNDS = 5
PER_ROUND = 100


async def quality(report: Report, stores: dict[Backend, PostgresStore], folder: Path) -> dict[Backend, float]:
    """nDCG@10 of each backend on one collection."""
    collection = await read_collection(folder)
    found: dict[Backend, float] = {}
    for backend, store in stores.items():
        scope, documents, _ = await ingest_collection(Engine(store), collection, split=lambda text: [text], settings="")

        def open_with(config: EngineConfig, store: PostgresStore = store) -> Engine:
            return Engine(store, config=config)

        judged = await evaluate(open_with, scope, collection, documents, [SYSTEM])
        found[backend] = next(each.measures[NDCG] for each in judged.systems if each.name == SYSTEM.name)
    report.figures["ndcg10"][folder.name] = {backend: round(value, 4) for backend, value in found.items()}
    return found


async def server_seconds(connection: asyncpg.Connection[Any]) -> float:
    """The CPU that the server's processes for its clients have used."""
    pids = await connection.fetch("select pid from pg_stat_activity where backend_type = 'client backend'")
    return sum(cpu_ms(row["pid"]) for row in pids) / 1e3


async def speed(
    report: Report, stores: dict[Backend, PostgresStore], connection: asyncpg.Connection[Any], queries: Sequence[str]
) -> None:
    """p50 and CPU of each backend's searches; the backends take turns, a query at a time."""
    engines = {backend: Engine(store) for backend, store in stores.items()}
    taken: dict[Backend, list[float]] = {backend: [] for backend in stores}
    medians: dict[Backend, list[float]] = {backend: [] for backend in stores}
    cpu: dict[Backend, list[tuple[float, float]]] = {backend: [] for backend in stores}
    for number in range(ROUNDS + 1):
        chosen = queries[number * PER_ROUND : (number + 1) * PER_ROUND]
        seconds: dict[Backend, list[float]] = {backend: [] for backend in stores}
        for query in chosen:
            for backend, engine in engines.items():
                began = time.perf_counter()
                await one_search(engine, LARGE, query, "lexical")
                seconds[backend].append(time.perf_counter() - began)
        for backend, engine in engines.items():
            before = await server_seconds(connection), time.process_time()
            for query in chosen:
                await one_search(engine, LARGE, query, "lexical")
            used = time.process_time() - before[1]
            cpu[backend].append((used / len(chosen), (await server_seconds(connection) - before[0]) / len(chosen)))
            if number:  # the first round warms up
                taken[backend] += seconds[backend]
                medians[backend].append(statistics.median(seconds[backend]))
    report.figures["search"] = {
        backend: {
            "p50_ms": round(percentile(taken[backend], 0.5), 2),
            "p95_ms": round(percentile(taken[backend], 0.95), 2),
            "client_cpu_ms": round(statistics.median(client for client, _ in cpu[backend][1:]) * 1e3, 2),
            "server_cpu_ms": round(statistics.median(server for _, server in cpu[backend][1:]) * 1e3, 2),
        }
        for backend in stores
    }
    ratios = [ours / theirs for ours, theirs in zip(medians["portable"], medians["pg_textsearch"], strict=True)]
    report.checks.append(Check.of("builtin_vs_textsearch_p50", statistics.median(ratios), "<=", 3.0))


async def run(folders: list[Path], parts: int, home: Path) -> Report:
    """Both backends in one server; quality first."""
    report = Report(
        benchmark="bench_lexical", parameters={"folders": [folder.name for folder in folders], "parts": parts}
    )
    async with local_postgres(home) as server, AsyncExitStack() as stack:

        async def open_both(name: str) -> dict[Backend, PostgresStore]:
            opened: dict[Backend, PostgresStore] = {}
            for backend in BACKENDS:
                schema = f"{name}_{backend}"
                await prepare_schema(server.dsn, schema)
                opened[backend] = await stack.enter_async_context(
                    open_postgres(
                        server.dsn, dimension=4, lexical=backend, pool_size=2, search_path=f"{schema}, public"
                    )
                )
            return opened

        report.figures["ndcg10"] = {}
        judged = [await quality(report, await open_both(f"judged_{number}"), f) for number, f in enumerate(folders)]
        if judged:
            means = {backend: statistics.mean(found[backend] for found in judged) for backend in BACKENDS}
            report.figures["ndcg10"]["mean"] = {backend: round(value, 4) for backend, value in means.items()}
            ratio = means["portable"] / means["pg_textsearch"]
            report.checks.append(Check.of("builtin_vs_textsearch_ndcg", ratio, ">=", 0.95))

        large = await open_both("large")
        namespace = LARGE.namespace_id
        assert namespace is not None
        for store in large.values():
            made = make_parts(parts, seed=namespace.int, namespace_id=namespace, dimension=None, parts_per_parent=10)
            await store.bulk_load(batches(made))
        connection = await asyncpg.connect(server.dsn)
        try:
            await connection.execute("vacuum analyze")
            await speed(report, large, connection, make_queries((ROUNDS + 1) * PER_ROUND))
        finally:
            await connection.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--parts", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.folders, arguments.parts, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
