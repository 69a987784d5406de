"""How does the cost of a search grow with the corpus? ``python benchmarks/bench_scale.py --parts 10000 100000 1000000 --json``

Each size has a schema of its own on one local Postgres, so that the sizes are measured in turns, round by round: every
channel alone and the whole ``Engine.search``, recall@50 of the vector channel against comparing with every part, full
pages in a namespace that holds 0.1 % of the parts, ingest rate and the sizes of the indexes. ``--home`` keeps what was
loaded: a second run with the same sizes only measures.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import asyncpg
import numpy as np
from numpy.typing import NDArray
from scale_corpus import DIMENSION, LARGE, SMALL, exact_neighbours, objects, query_vectors

from brain_async import Engine, Object, Scope, SearchContext, SearchRequest
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.local import local_postgres
from brain_async.model.filters import Filters
from brain_async.testing.corpus import vocabulary
from report import Check, Report, percentile

PAGE = 10
RECALL_K = 50
RECALL_QUERIES = 100
QUERIES = 200
ROUNDS = 5
BATCH = 1_000
CHANNELS = ("lexical", "vector", "trigram")
IDENTIFIER = "DOC-{number:06d}"


class Known:
    """An embedder whose vectors are made before the clock starts: embedding is no part of this benchmark.

    Any text has one of them: a query may come respelt.
    """

    dimension = DIMENSION
    model = "synthetic"

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors

    async def embed(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self._vectors[crc32(text.encode()) % len(self._vectors)])

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([await self.embed(text) for text in texts])


def make_queries(count: int) -> list[str]:
    """Queries of 2 to 6 words, rarer than the 50 most frequent ones (which are in a quarter of the parts or more)."""
    rng = np.random.default_rng(11)
    words = vocabulary()[50:4_000]
    return [" ".join(rng.choice(words, size=rng.integers(2, 7), replace=False)) for _ in range(count)]


def batches(made: Iterator[Object]) -> Iterator[list[Object]]:
    """Consecutive lists of ``BATCH``."""
    while batch := list(islice(made, BATCH)):
        yield batch


async def load(store: PostgresStore, parts: int) -> dict[str, Any] | None:
    """Load the corpus and say how long it took; None when it is there already."""
    state = await store.describe()
    if state is not None and state.parts == parts:
        return None
    began = time.perf_counter()
    # Making the objects is no part of the rate: it is timed by itself and taken off.
    making = 0.0

    def timed() -> Iterator[list[Object]]:
        nonlocal making
        made = batches(objects(parts))
        while True:
            started = time.perf_counter()
            batch = next(made, None)
            making += time.perf_counter() - started
            if batch is None:
                return
            yield batch

    result = await store.bulk_load(timed())
    if result.refused:
        raise SystemExit(f"the corpus was refused: {result.refused[0]}")
    seconds = time.perf_counter() - began
    return {
        "seconds": round(seconds, 1),
        "making_the_objects_s": round(making, 1),
        "index_s": round(result.index_seconds, 1),
        "parts_per_s": round(parts / (seconds - making), 1),
    }


async def one_search(engine: Engine, scope: Scope, query: str, channel: str | None) -> int:
    """The number of objects on the first page."""
    request = SearchRequest(query=query, limit=PAGE, channels=None if channel is None else (channel,))  # type: ignore[arg-type]
    page = await engine.search(scope, request, SearchContext(scope.namespace_id))
    if page.degraded:
        raise SystemExit(f"a channel did not answer: {page.degraded}")
    return len(page.objects)


async def latencies(
    engines: dict[int, Engine], queries: Sequence[str], channel: str | None
) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Seconds of every search, and the median of each round, by size; the sizes take turns in each round."""
    seconds: dict[int, list[float]] = {parts: [] for parts in engines}
    medians: dict[int, list[float]] = {parts: [] for parts in engines}
    per_round = len(queries) // ROUNDS
    for number in range(-1, ROUNDS):  # the first round warms up
        chosen = queries[max(0, number) * per_round : (max(0, number) + 1) * per_round]
        for parts, engine in engines.items():
            taken = []
            for query in chosen:
                began = time.perf_counter()
                await one_search(engine, LARGE, query, channel)
                taken.append(time.perf_counter() - began)
            if number >= 0:
                seconds[parts] += taken
                medians[parts].append(statistics.median(taken))
    return seconds, medians


async def recall(store: PostgresStore, parts: int, vectors: NDArray[np.float32]) -> float:
    """recall@50 of the vector channel on the large namespace."""
    exact = exact_neighbours(parts, vectors, RECALL_K)
    shares = []
    for vector, wanted in zip(vectors, exact, strict=True):
        found = await store.search_vector(LARGE, vector.tolist(), Filters(), k=RECALL_K)
        shares.append(len({hit.id for hit in found} & wanted) / RECALL_K)
    return statistics.mean(shares)


async def throughput(engine: Engine, queries: Sequence[str], concurrency: int) -> dict[str, float]:
    """Searches a second and latencies by ``concurrency`` callers."""
    pending = iter(queries)
    taken: list[float] = []

    async def caller() -> None:
        for query in pending:
            began = time.perf_counter()
            await one_search(engine, LARGE, query, None)
            taken.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(concurrency)))
    elapsed = time.perf_counter() - began
    return {
        "searches_per_s": round(len(taken) / elapsed, 1),
        "p50_ms": round(percentile(taken, 0.5), 2),
        "p95_ms": round(percentile(taken, 0.95), 2),
    }


async def run(sizes: list[int], lexical: str, home: Path) -> Report:
    """Load what is missing, then measure all sizes in turns."""
    report = Report(benchmark="bench_scale", parameters={"parts": sizes, "dimension": DIMENSION, "page": PAGE})
    queries = make_queries(QUERIES)
    vectors = query_vectors(max(QUERIES, RECALL_QUERIES))
    identifiers = [IDENTIFIER.format(number=17 + 41 * number) for number in range(QUERIES)]
    embedder = Known(vectors)
    async with local_postgres(home) as server, AsyncExitStack() as stack:
        stores: dict[int, PostgresStore] = {}
        for parts in sizes:
            schema = f"scale_{parts}"
            await prepare_schema(server.dsn, schema)
            stores[parts] = await stack.enter_async_context(
                open_postgres(
                    server.dsn,
                    dimension=DIMENSION,
                    lexical=lexical,  # type: ignore[arg-type]
                    search_path=f"{schema}, public",
                    statement_timeout=3_600,
                )
            )
            figures = report.figures.setdefault(f"parts_{parts}", {})
            figures["ingest"] = await load(stores[parts], parts) or "kept from an earlier run"
            state = await stores[parts].describe()
            assert state is not None
            report.parameters["lexical"] = state.lexical_backend
            figures["index_bytes_per_part"] = {
                name: round(index.bytes / parts, 1) for name, index in state.indexes.items()
            }
        engines = {parts: Engine(store, embedder=embedder) for parts, store in stores.items()}
        medians: dict[str, dict[int, list[float]]] = {}
        for channel in (*CHANNELS, None):
            name = channel or "search"
            asked = identifiers[: QUERIES // 5] if channel == "trigram" else queries
            seconds, medians[name] = await latencies(engines, asked, channel)
            for parts in sizes:
                report.figures[f"parts_{parts}"][name] = {
                    "p50_ms": round(percentile(seconds[parts], 0.5), 2),
                    "p95_ms": round(percentile(seconds[parts], 0.95), 2),
                }
        for parts in sizes:
            figures = report.figures[f"parts_{parts}"]
            figures["search_c16"] = await throughput(engines[parts], queries, 16)
            full = [await one_search(engines[parts], SMALL, query, None) == PAGE for query in queries[:100]]
            figures["full_pages_small_namespace"] = sum(full) / len(full)
            figures["recall50"] = round(await recall(stores[parts], parts, vectors[:RECALL_QUERIES]), 4)
        report.figures["growth_per_tenfold"] = {
            name: [round(growth(by_size, small, large), 2) for small, large in pairwise(sizes)]
            for name, by_size in medians.items()
        }
        check(report, sizes, medians["search"])
    return report


def growth(medians: dict[int, list[float]], small: int, large: int) -> float:
    """How many times as long a search takes per tenfold of the corpus; the median over the rounds."""
    ratio = statistics.median(b / a for a, b in zip(medians[small], medians[large], strict=True))
    return float(ratio ** (1 / math.log10(large / small)))


def check(report: Report, sizes: list[int], search: dict[int, list[float]]) -> None:
    """The aims, for the largest size and the one before it."""
    largest = sizes[-1]
    label = {1_000_000: "1m"}.get(largest, str(largest))
    if len(sizes) > 1:
        report.checks.append(Check.of(f"growth_{label}", growth(search, sizes[-2], largest), "<=", 3.0))
    figures = report.figures[f"parts_{largest}"]
    report.checks.append(Check.of(f"recall50_{label}", figures["recall50"], ">=", 0.95))
    report.checks.append(Check.of(f"full_pages_{label}", figures["full_pages_small_namespace"], ">=", 1.0))


async def prepare_schema(dsn: str, schema: str) -> None:
    """Create the schema, and the extensions in public."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"create schema if not exists {schema}")
        for extension in ("vector", "pg_trgm", "pg_textsearch"):
            await connection.execute(f"create extension if not exists {extension} schema public")
    finally:
        await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--lexical", choices=["auto", "pg_textsearch", "portable"], default="auto")
    parser.add_argument("--home", type=Path, help="a folder to keep the database in (several GB for a million parts)")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as temporary:
        report = asyncio.run(run(sorted(arguments.parts), arguments.lexical, arguments.home or Path(temporary)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
