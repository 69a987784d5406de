"""What does a filter cost? ``python benchmarks/bench_filters.py --parts 20000 --json``

On the local Postgres: filters that 0.1 %, 1 %, 10 % and 50 % of the parts pass, by kind, by a property of the part and by a
property of its parent. For each the CPU of the server in each channel's statement, the p50 of ``Engine.search`` beside that
of the same searches without a filter, in turns, and whether the pages are full.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from bench_search import DIMENSION, PAGE, K, KnownVectors, batches, lexical_rows, make_queries

from brain_async import Engine, Object, Scope, SearchContext, SearchRequest
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.adapters.postgres.trigrams import trigram_statement
from brain_async.adapters.postgres.vectors import vector_statement
from brain_async.local import local_postgres
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.testing.corpus import make_parts
from report import Check, Report, percentile

SCOPE = Scope(UUID(int=1))
SHARES = {"permille_1": 0.001, "permille_10": 0.01, "permille_100": 0.1, "permille_500": 0.5}
FILTERS = {f"{by}_{share}": {by: share} for share in SHARES for by in ("kind", "part", "parent")}


def as_filters(filters: dict[str, str]) -> Filters:
    """The same, as the channels take them."""
    kinds = (filters["kind"],) if "kind" in filters else None
    properties = tuple(PropertyFilter(key, (value,)) for key, value in filters.items() if key != "kind")
    return Filters(kinds=kinds, properties=properties)


def corpus(parts: int) -> Iterator[Object]:
    """``make_parts``, each part with a kind and a property, and each parent with a property, by ``SHARES``."""
    rng = random.Random(5)
    names = [*SHARES, "rest"]
    weights = [*SHARES.values(), 1 - sum(SHARES.values())]

    def drawn() -> str:
        return rng.choices(names, weights)[0]

    assert SCOPE.namespace_id is not None
    for obj in make_parts(parts, seed=3, namespace_id=SCOPE.namespace_id, dimension=DIMENSION):
        if obj.parent_id is None:
            yield msgspec.structs.replace(obj, properties={**obj.properties, "parent": drawn()})
        else:
            yield msgspec.structs.replace(obj, kind=drawn(), properties={**obj.properties, "part": drawn()})


def cpu_ms(pid: int) -> float:
    """The CPU time that a process of this machine has used."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6


async def server_cpu(
    connection: asyncpg.Connection[Any], lexical: str, vectors: KnownVectors, queries: list[str]
) -> dict[str, dict[str, float]]:
    """The median CPU in milliseconds of each channel's statements, without a filter and under each."""
    pid = await connection.fetchval("select pg_backend_pid()")
    figures = {}
    for name, filters in {"plain": {}, **FILTERS}.items():
        spent: dict[str, list[float]] = {"lexical": [], "vector": [], "trigram": []}
        for query in queries:
            dense = vectors.vectors[query]
            vector = vector_statement(SCOPE, dense, as_filters(filters), k=K, dimension=DIMENSION)
            by_trigram = trigram_statement(SCOPE, query, as_filters(filters), k=K)
            assert by_trigram is not None
            calls: dict[str, Callable[[], Awaitable[Any]]] = {
                "lexical": partial(lexical_rows, connection, lexical, SCOPE, query, as_filters(filters)),
                "vector": partial(connection.fetch, vector[0], *vector[1]),
                "trigram": partial(connection.fetch, by_trigram[0], *by_trigram[1]),
            }
            for channel, call in calls.items():
                before = cpu_ms(pid)
                await call()
                spent[channel].append(cpu_ms(pid) - before)
        figures[name] = {channel: round(statistics.median(times), 2) for channel, times in spent.items()}
    return figures


async def searches(report: Report, engine: Engine, queries: list[str], passing: dict[str, int]) -> None:
    """p50 of each filter over that of no filter, query by query in turns, and full pages."""
    latencies: dict[str, list[float]] = {name: [] for name in ("plain", *FILTERS)}
    full = possible = 0
    for query in queries:
        for name, filters in {"plain": {}, **FILTERS}.items():
            request = SearchRequest(query=query, limit=PAGE, filters=filters)
            began = time.perf_counter()
            page = await engine.search(SCOPE, request, SearchContext(SCOPE.namespace_id))
            latencies[name].append(time.perf_counter() - began)
            if passing.get(name, 0) >= PAGE:
                possible += 1
                full += len(page.objects) == PAGE
    p50 = {name: percentile(seconds, 0.5) for name, seconds in latencies.items()}
    report.figures["search_p50_ms"] = {name: round(figure, 2) for name, figure in p50.items()}
    for name in FILTERS:
        report.checks.append(Check.of(f"filtered_vs_plain_{name}", p50[name] / p50["plain"], "<=", 3.0))
    report.checks.append(Check.of("full_pages", full / max(1, possible), ">=", 1.0))


def parents_passing(objects: list[Object]) -> dict[str, int]:
    """How many parents have a part that passes, by the filter's name: the rows that a page can have."""
    parents = {obj.id: obj for obj in objects if obj.parent_id is None}
    found: dict[str, set[UUID]] = {name: set() for name in FILTERS}
    for obj in objects:
        if obj.parent_id is not None:
            for by, share in (
                ("kind", obj.kind),
                ("part", obj.properties["part"]),
                ("parent", parents[obj.parent_id].properties["parent"]),
            ):
                found.get(f"{by}_{share}", set()).add(obj.parent_id)
    return {name: len(each) for name, each in found.items()}


async def run(parts: int, lexical: str, count: int, home: Path) -> Report:
    """Load, then measure."""
    report = Report(benchmark="bench_filters", parameters={"parts": parts, "dimension": DIMENSION, "k": K})
    queries = make_queries(count)
    vectors = KnownVectors(queries)
    async with (
        local_postgres(home) as server,
        open_postgres(server.dsn, dimension=DIMENSION, lexical=lexical) as store,  # type: ignore[arg-type]
    ):
        assert isinstance(store, PostgresStore)
        objects = list(corpus(parts))
        passing = parents_passing(objects)
        await store.bulk_load(list(batches(iter(objects), 1_000)))
        del objects
        connection = await asyncpg.connect(server.dsn)
        try:
            await connection.execute("vacuum analyze")
            report.parameters["lexical"] = store.lexical_backend
            report.figures["parents_passing"] = passing
            await server_cpu(connection, store.lexical_backend or "", vectors, queries[:3])  # warms up
            report.figures["server_cpu_ms"] = await server_cpu(
                connection, store.lexical_backend or "", vectors, queries
            )
        finally:
            await connection.close()
        engine = Engine(store, embedder=vectors)
        await searches(Report(benchmark="", parameters={}), engine, queries[:3], passing)
        await searches(report, engine, queries, passing)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--lexical", choices=["auto", "pg_textsearch", "portable"], default="portable")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.parts, arguments.lexical, arguments.queries, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
