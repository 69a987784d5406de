"""How much does the engine cost over its own statements? ``python benchmarks/bench_search.py --parts 100000 --json``

On the local Postgres, in one run and interleaved: ``Engine.search`` against the floor, which issues the same channel
statements raw through asyncpg, concurrently, and then the same hydrate statement; ``put_many`` against the bare insert
statement with the same indexes live; and a bulk load.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID
from zlib import crc32

import asyncpg
import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, Object, Scope, SearchContext, SearchRequest
from brain_async.adapters.postgres import open_postgres
from brain_async.adapters.postgres.lexical_portable import best_parts, portable_terms, postings_statement
from brain_async.adapters.postgres.lexical_textsearch import textsearch_statement
from brain_async.adapters.postgres.pool import create_pool
from brain_async.adapters.postgres.reads import hydrate_statement
from brain_async.adapters.postgres.vectors import vector_statement
from brain_async.adapters.postgres.writes import PUT_SQL, analyse, prepare, put_arguments
from brain_async.local import local_postgres
from brain_async.model.filters import Filters
from brain_async.testing.corpus import make_parts, vocabulary
from report import Check, Report, percentile

DIMENSION = 256
LARGE, MEDIUM, SMALL = (Scope(UUID(int=number)) for number in (1, 2, 3))
SHARES = {LARGE: 0.89, MEDIUM: 0.109, SMALL: 0.001}
PAGE = 10
EVIDENCE = 3
K = 40
POOL = 8
ROUNDS = 7
SEARCHES_PER_ROUND = {1: 200, 4: 160, 16: 320}
WRITE_BATCH = 500

Search = Callable[[Scope, str], Awaitable[int]]


class KnownVectors:
    """An embedder whose vectors are made before the clock starts: embedding is no part of this benchmark.

    A query that comes respelt has the vector of one of the others.
    """

    dimension = DIMENSION
    model = "known"

    def __init__(self, queries: Iterable[str]) -> None:
        rng = np.random.default_rng(7)
        self.vectors = {query: rng.standard_normal(DIMENSION).astype(np.float32) for query in queries}
        self._others = list(self.vectors.values())

    async def embed(self, text: str) -> NDArray[np.float32]:
        known = self.vectors.get(text)
        return known if known is not None else self._others[crc32(text.encode()) % len(self._others)]

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([await self.embed(text) for text in texts])


def make_queries(count: int) -> list[str]:
    """Queries of 2 to 6 words, rarer than the stop-word-like head of the vocabulary."""
    rng = random.Random(11)
    words = vocabulary()[50:4_000]
    return [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(count)]


def batches(objects: Iterator[Object], size: int) -> Iterator[list[Object]]:
    """Consecutive lists of ``size``."""
    while batch := list(islice(objects, size)):
        yield batch


def corpus(parts: int) -> Iterator[Object]:
    """The objects of all namespaces; the small one has two parts a parent, so that a full page is possible."""
    for number, (scope, share) in enumerate(SHARES.items()):
        per_parent = 2 if scope is SMALL else 10
        assert scope.namespace_id is not None
        yield from make_parts(
            max(100, int(parts * share)),
            seed=number,
            namespace_id=scope.namespace_id,
            dimension=DIMENSION,
            parts_per_parent=per_parent,
        )


async def lexical_rows(
    connection: Any, backend: str, scope: Scope, query: str, filters: Filters
) -> list[asyncpg.Record]:
    """What the lexical channel's statements give on a connection of the driver."""
    if backend == "portable":
        terms = portable_terms(query)
        sql, arguments = postings_statement(scope, terms, filters)
        rows = await connection.fetch(sql, *arguments)
        return await best_parts(connection, terms, rows, scope, filters, k=K)
    statement = textsearch_statement(scope, query, filters, k=K)
    assert statement is not None
    rows = await connection.fetch(statement[0], *statement[1])
    return list(rows)


def floor_search(pool: asyncpg.Pool[Any], backend: str, vectors: dict[str, NDArray[np.float32]]) -> Search:
    """The same statements, raw: channels concurrently, then one page of parents and their evidence."""

    async def by_words(scope: Scope, query: str) -> list[asyncpg.Record]:
        async with pool.acquire() as connection:
            return await lexical_rows(connection, backend, scope, query, Filters())

    async def search(scope: Scope, query: str) -> int:
        dense = vector_statement(scope, vectors[query], Filters(), k=K, dimension=DIMENSION)
        by_text, by_vector = await asyncio.gather(by_words(scope, query), pool.fetch(dense[0], *dense[1]))
        evidence: dict[UUID, list[UUID]] = {}
        for pair in zip(by_text, by_vector, strict=False):
            for row in pair:
                evidence.setdefault(row["parent_id"], []).append(row["id"])
        page = list(evidence)[:PAGE]
        hydrate = hydrate_statement(scope, page, [part for parent in page for part in evidence[parent][:EVIDENCE]])
        await pool.fetch(hydrate[0], *hydrate[1])
        return len(page)

    return search


def engine_search(engine: Engine) -> Search:
    """``Engine.search`` with a SearchContext of its own for every call."""

    async def search(scope: Scope, query: str) -> int:
        page = await engine.search(scope, SearchRequest(query=query, limit=PAGE), SearchContext(scope.namespace_id))
        return len(page.objects)

    return search


async def timed(search: Search, queries: Sequence[str], concurrency: int) -> tuple[list[float], float]:
    """(seconds of each search, seconds in all) of ``queries`` by ``concurrency`` callers."""
    pending = iter(queries)
    latencies: list[float] = []

    async def caller() -> None:
        for query in pending:
            began = time.perf_counter()
            await search(LARGE, query)
            latencies.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(concurrency)))
    return latencies, time.perf_counter() - began


async def compare_searches(report: Report, engine: Search, floor: Search, queries: list[str]) -> None:
    """Engine and floor in turns, round by round; ratios are medians over the rounds."""
    for concurrency, count in SEARCHES_PER_ROUND.items():
        seconds: dict[str, list[float]] = {"engine": [], "floor": []}
        p50: dict[str, list[float]] = {"engine": [], "floor": []}
        rate: dict[str, list[float]] = {"engine": [], "floor": []}
        for number in range(ROUNDS + 1):
            chosen = [queries[(number * count + index) % len(queries)] for index in range(count)]
            turns = [("engine", engine), ("floor", floor)]
            for name, search in turns if number % 2 else reversed(turns):
                latencies, elapsed = await timed(search, chosen, concurrency)
                if number:  # the first round warms up
                    seconds[name] += latencies
                    p50[name].append(percentile(latencies, 0.5))
                    rate[name].append(count / elapsed)
        report.figures[f"search_c{concurrency}"] = {
            name: {
                "p50_ms": round(percentile(seconds[name], 0.5), 2),
                "p95_ms": round(percentile(seconds[name], 0.95), 2),
                "searches_per_s": round(statistics.median(rate[name]), 1),
            }
            for name in seconds
        }
        p50_ratio = statistics.median(e / f for e, f in zip(p50["engine"], p50["floor"], strict=True))
        rate_ratio = statistics.median(e / f for e, f in zip(rate["engine"], rate["floor"], strict=True))
        report.figures[f"search_c{concurrency}"]["ratio_p50"] = round(p50_ratio, 3)
        report.figures[f"search_c{concurrency}"]["ratio_throughput"] = round(rate_ratio, 3)
        if concurrency == 1:
            report.checks.append(Check.of("ratio_p50_c1", p50_ratio, "<=", 1.25))
        if concurrency == 16:
            report.checks.append(Check.of("ratio_throughput_c16", rate_ratio, ">=", 0.8))


async def full_pages(report: Report, engine: Search, queries: list[str]) -> None:
    """The share of full pages in the namespace that holds 0.1 % of the parts."""
    full = [await engine(SMALL, query) == PAGE for query in queries]
    report.checks.append(Check.of("full_pages_small_namespace", sum(full) / len(full), ">=", 1.0))


async def compare_writes(report: Report, pool: asyncpg.Pool[Any], engine: Engine) -> None:
    """put_many against the bare insert statement, in turns, into the same table with the same indexes live."""
    namespace_id = UUID(int=9)
    rates: dict[str, list[float]] = {"put_many": [], "raw": []}
    objects = make_parts(
        WRITE_BATCH * 13, seed=99, namespace_id=namespace_id, dimension=DIMENSION, parts_per_parent=WRITE_BATCH
    )
    for number, batch in enumerate(batches(objects, WRITE_BATCH + 1)):  # each a parent and its parts
        parent, parts = batch[0], batch[1:]
        await engine.put(Scope(namespace_id), parent)
        began = time.perf_counter()
        if number % 2:
            result = await engine.put_many(Scope(namespace_id), parts)
            assert result.ok, result.failures[:1]
            elapsed = time.perf_counter() - began
        else:
            prepared = await prepare(parts, DIMENSION)
            rows = await analyse(sorted((row for row in prepared.rows if row is not None), key=lambda row: row.id.int))
            arguments = put_arguments(rows, DIMENSION)
            began = time.perf_counter()
            async with pool.acquire() as connection, connection.transaction():
                await connection.fetch(PUT_SQL, *arguments)
            elapsed = time.perf_counter() - began
        if number > 1:
            rates["put_many" if number % 2 else "raw"].append(len(parts) / elapsed)
    medians = {name: statistics.median(rate) for name, rate in rates.items()}
    report.figures["writes_parts_per_s"] = {name: round(rate, 1) for name, rate in medians.items()}
    report.checks.append(Check.of("put_many_vs_raw", medians["put_many"] / medians["raw"], ">=", 0.8))


async def run(parts: int, lexical: str, home: Path) -> Report:
    """Load, then measure."""
    report = Report(benchmark="bench_search", parameters={"parts": parts, "dimension": DIMENSION, "k": K, "pool": POOL})
    queries = make_queries(600)
    embedder = KnownVectors(queries)
    async with local_postgres(home) as server:
        # Pools of their own: the store keeps the connections of its own between calls, as it does where it is opened.
        pool = await create_pool(
            server.dsn, pool_size=POOL, search_path=None, transaction_pooler=False, statement_timeout=600
        )
        opened = open_postgres(
            server.dsn,
            dimension=DIMENSION,
            lexical=lexical,  # type: ignore[arg-type]
            pool_size=POOL,
            statement_timeout=600,
        )
        async with pool, opened as store:
            made = list(batches(corpus(parts), 1_000))
            loaded = await store.bulk_load(made)
            del made
            seconds = loaded.load_seconds + loaded.index_seconds
            stored = sum(1 for _ in corpus(parts)) if loaded.refused else loaded.stored
            report.parameters["lexical"] = store.lexical_backend
            report.figures["bulk"] = {
                "objects": stored,
                "load_s": round(loaded.load_seconds, 1),
                "index_s": round(loaded.index_seconds, 1),
            }
            report.checks.append(Check.of("bulk_parts_per_s", parts / seconds, ">=", 1_000))
            engine = Engine(store, embedder=embedder)
            await compare_searches(
                report,
                engine_search(engine),
                floor_search(pool, store.lexical_backend or "", embedder.vectors),
                queries,
            )
            await full_pages(report, engine_search(engine), queries[:100])
            await compare_writes(report, pool, Engine(store))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=100_000)
    parser.add_argument("--lexical", choices=["auto", "pg_textsearch", "portable"], default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.parts, arguments.lexical, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
