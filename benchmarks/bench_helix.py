"""What does the graph cost on embedded HelixDB? ``python benchmarks/bench_helix.py --nodes 5000 --json``

In one run, in a temporary directory: a bulk load in the right order (text index before, vector index after) against nodes
that are ensured one by one; two hops from a frontier of 50 against one query per node, direction and list of peers;
text and vector search through a filter that one node in a hundred passes against the same without it; and reads through
the adapter against the same requests through the SDK alone.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from helixdb import AsyncClient, AsyncQueryBuilder, Disk, NodeRef, Projection, SourcePredicate, g, read_batch
from numpy.typing import NDArray

from brain_async import Object, Scope
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.testing.corpus import vocabulary
from helixgraph import HelixGraph, queries
from helixgraph.properties import query_words
from helixgraph.request import Request
from report import Check, Report, percentile

DIMENSION = 256
SCOPE = Scope(UUID(int=1))
NAMESPACE = str(SCOPE.namespace_id)
LABEL = "about"
EDGES_PER_NODE = 2
FRONTIER = 50
LIMIT = 50
K = 40
ROUNDS = 40
SINGLE_WRITES = 60

Pair = tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[Any]]]


class CountingClient(AsyncClient):
    """An SDK client that counts its requests."""

    requests = 0

    def request_builder(self) -> AsyncQueryBuilder:
        """As the SDK's."""
        self.requests += 1
        return super().request_builder()


def make_nodes(count: int, rng: np.random.Generator) -> list[Object]:
    """Nodes of about 40 words in 64 clusters; property ``bucket`` is one of 100 values."""
    words = vocabulary()
    centres = rng.standard_normal((64, DIMENSION))
    first = datetime(2026, 1, 1, tzinfo=UTC)
    nodes = []
    for number in range(count):
        places = np.minimum(rng.zipf(1.3, 40), len(words)) - 1
        vector = centres[rng.integers(64)] + rng.standard_normal(DIMENSION)
        vector /= np.linalg.norm(vector)
        nodes.append(
            Object(
                id=UUID(bytes=rng.bytes(16), version=4),
                kind="document",
                title=f"{words[places[0]]} {number}",
                summary=" ".join(words[place] for place in places),
                properties={"bucket": number % 100},
                embedding=tuple(vector.astype(np.float32).tolist()),
                namespace_id=SCOPE.namespace_id,
                created_at=first,
                updated_at=first + timedelta(minutes=number),
            )
        )
    return nodes


async def seconds_of(call: Callable[[], Awaitable[Any]]) -> float:
    """Seconds that one call takes."""
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def interleaved(pair: Pair, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Seconds of the two calls, in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for place in (0, 1) if number % 2 else (1, 0):
            times[place].append(await seconds_of(pair[place]))
    return times


async def two_hops(graph: HelixGraph, seeds: Sequence[UUID]) -> set[UUID]:
    """What two hops from ``seeds`` reach, one request each."""
    reached, frontier = set(seeds), list(seeds)
    for _ in range(2):
        around = await graph.neighbors(SCOPE, frontier, [LABEL], direction="both", limit=LIMIT)
        found = (neighbor.object_id for neighbors in around.values() for neighbor in neighbors)
        frontier = [node for node in dict.fromkeys(found) if node not in reached]
        reached.update(frontier)
    return reached


async def two_hops_node_by_node(client: AsyncClient, seeds: Sequence[UUID]) -> set[UUID]:
    """The same with a query for each node and direction, and one for the peers that it names by internal id."""
    reached, frontier = set(seeds), list(seeds)
    for _ in range(2):
        found: dict[UUID, None] = {}
        for node in frontier:
            start = g().n_with_label_where("Object", SourcePredicate.eq("object_id", str(node)))
            for edges, end in ((start.out_e(LABEL), "$to"), (start.in_e(LABEL), "$from")):
                batch = read_batch().var_as("x", edges.limit(LIMIT).project([Projection.property(end, "peer")]))
                rows = (await client.query(batch.returning(["x"]).to_query_request()))["x"]
                if rows:
                    peers = g().n(NodeRef.ids([row["peer"] for row in rows])).value_map(["object_id"])
                    batch = read_batch().var_as("x", peers).returning(["x"])
                    rows = (await client.query(batch.to_query_request()))["x"]
                    found.update(dict.fromkeys(UUID(row["object_id"]) for row in rows))
        frontier = [node for node in found if node not in reached]
        reached.update(frontier)
    return reached


def reads(
    client: AsyncClient, graph: HelixGraph, node: Object, vector: NDArray[np.float32], text: str
) -> dict[str, Pair]:
    """By name: a read through the adapter, and its (first) request through the SDK alone."""
    conditions: tuple[queries.Condition, ...] = (("namespace_id", "any", ("c0",)),)
    limit = 2 * K + 16  # what the adapter asks for first

    def raw(request: Request) -> Callable[[], Awaitable[Any]]:
        return lambda: client.query(request)  # type: ignore[arg-type]  # all it needs is to_json_bytes

    hop = queries.frontier_edges("both", scoped=True, labelled=True, sizes=(1,))
    text_search = queries.node_search("text", conditions, within=False, tenant=False)
    vector_search = queries.node_search("vector", conditions, within=False, tenant=False)
    edge_search = queries.edge_search(LABEL, within=False, scoped=True)
    return {
        "neighbors": (
            lambda: graph.neighbors(SCOPE, [node.key], [LABEL], direction="both", limit=LIMIT),
            raw(hop.request(namespace_id=NAMESPACE, labels=[LABEL], f0_0=str(node.key), cap=4096)),
        ),
        "text": (
            lambda: graph.search_objects_text(SCOPE, text, Filters(), k=K),
            raw(text_search.request(query=query_words(text), limit=limit, c0=NAMESPACE)),
        ),
        "vector": (
            lambda: graph.search_objects_vector(SCOPE, vector, Filters(), k=K),
            raw(vector_search.request(query=vector.tolist(), limit=limit, c0=NAMESPACE)),
        ),
        "edge text": (
            lambda: graph.search_edges(SCOPE, LABEL, text, k=K),
            raw(edge_search.request(query=query_words(text), limit=limit, namespace_id=NAMESPACE)),
        ),
    }


async def loads(graph: HelixGraph, nodes: Sequence[Object], single: Sequence[Object], report: Report) -> None:
    """Fill the graph in bulk, then with single nodes beside what is there."""
    started = time.perf_counter()
    async with graph.bulk():
        await graph.ensure_objects(SCOPE, nodes)
        loaded = time.perf_counter() - started
    bulk = (time.perf_counter() - started) / len(nodes)
    one_by_one = [await seconds_of(lambda node=node: graph.ensure_objects(SCOPE, [node])) for node in single]  # type: ignore[misc]
    report.figures["bulk_load_ms_per_node"] = round(bulk * 1e3, 2)
    report.figures["bulk_load_without_vector_index_ms_per_node"] = round(loaded / len(nodes) * 1e3, 2)
    report.figures["one_by_one_ms_per_node"] = round(statistics.mean(one_by_one) * 1e3, 2)
    report.checks.append(Check.of("bulk_speedup", statistics.mean(one_by_one) / bulk, ">=", 3))


async def link(graph: HelixGraph, nodes: Sequence[Object], rng: np.random.Generator, report: Report) -> None:
    """Edges between random nodes, half of them with a note."""
    words = vocabulary()
    ends = rng.integers(len(nodes), size=(len(nodes) * EDGES_PER_NODE, 2))
    edges = [
        Edge(
            from_id=nodes[source].key,
            to_id=nodes[target].key,
            relation_type=LABEL,
            meta=EdgeMeta(note=" ".join(words[place] for place in rng.integers(3_000, size=6)) if number % 2 else ""),
        )
        for number, (source, target) in enumerate(ends)
    ]
    spent = await seconds_of(lambda: graph.add_edges(SCOPE, edges))
    report.figures["bulk_edges_ms_per_edge"] = round(spent / len(edges) * 1e3, 2)


async def hops(client: CountingClient, graph: HelixGraph, nodes: Sequence[Object], report: Report) -> None:
    """Two hops from 50 nodes, both ways."""
    seeds = [node.key for node in nodes[:: max(1, len(nodes) // FRONTIER)][:FRONTIER]]
    assert await two_hops(graph, seeds) == await two_hops_node_by_node(client, seeds)
    before = client.requests
    reached = await two_hops(graph, seeds)
    requests = client.requests - before
    pair: Pair = (lambda: two_hops(graph, seeds), lambda: two_hops_node_by_node(client, seeds))
    frontier, by_node = await interleaved(pair, 3)
    report.figures["two_hops"] = {
        "reached": len(reached),
        "ms": round(percentile(frontier, 0.5), 1),
        "node_by_node_ms": round(percentile(by_node, 0.5), 1),
    }
    report.checks.append(Check.of("requests_per_2hop", requests, "<=", 2))
    report.checks.append(Check.of("hop_speedup", statistics.median(by_node) / statistics.median(frontier), ">=", 3))


async def filtered(graph: HelixGraph, vector: NDArray[np.float32], text: str, report: Report) -> None:
    """A property that one node in a hundred has: the page must be as full as there are such nodes."""
    rare = Filters(properties=(PropertyFilter("bucket", (7,)),))
    pairs: dict[str, Pair] = {
        "text": (
            lambda: graph.search_objects_text(SCOPE, text, rare, k=K),
            lambda: graph.search_objects_text(SCOPE, text, Filters(), k=K),
        ),
        "vector": (
            lambda: graph.search_objects_vector(SCOPE, vector, rare, k=K),
            lambda: graph.search_objects_vector(SCOPE, vector, Filters(), k=K),
        ),
    }
    everything = 1_000_000
    shares = []
    for name, pair in pairs.items():
        hits = await pair[0]()
        if name == "text":
            wanted = len(await graph.search_objects_text(SCOPE, text, rare, k=everything))
        else:
            wanted = len(await graph.search_objects_vector(SCOPE, vector, rare, k=everything))
        shares.append(len(hits) / max(1, min(K, wanted)))
        few, many = await interleaved(pair, ROUNDS // 2)
        report.figures[f"{name}_filter_1pct"] = {
            "hits": len(hits),
            "there_are": wanted,
            "ms": round(percentile(few, 0.5), 1),
            "unfiltered_ms": round(percentile(many, 0.5), 1),
        }
    report.checks.append(Check.of("full_page_1pct", min(shares), ">=", 1))


async def overhead(
    client: CountingClient, graph: HelixGraph, node: Object, vector: NDArray[np.float32], text: str, report: Report
) -> None:
    """The adapter's share of a read: what it adds to the same request through the SDK."""
    ratios = []
    for name, pair in reads(client, graph, node, vector, text).items():
        before = client.requests
        await pair[0]()
        asked = client.requests - before
        through, alone = await interleaved(pair)
        report.figures[f"{name}_read"] = {
            "ms": round(percentile(through, 0.5), 2),
            "sdk_ms": round(percentile(alone, 0.5), 2),
            "requests": asked,
        }
        if asked == 1:
            ratios.append(statistics.median(through) / statistics.median(alone))
    report.checks.append(Check.of("adapter_overhead", statistics.mean(ratios) - 1, "<=", 0.15))


async def run(count: int) -> Report:
    """The whole benchmark over ``count`` nodes."""
    rng = np.random.default_rng(5)
    report = Report(benchmark="bench_helix", parameters={"nodes": count, "dimension": DIMENSION, "k": K})
    nodes = make_nodes(count + SINGLE_WRITES, rng)
    vector = np.asarray(nodes[0].embedding, np.float32)
    text = " ".join(vocabulary()[place] for place in (80, 200, 700))
    with tempfile.TemporaryDirectory() as home:
        client = await CountingClient.embedded(Disk(root=home, database="graph"))
        async with client:
            assert isinstance(client, CountingClient)
            graph = HelixGraph(client, dimension=DIMENSION, indexed_properties=("bucket",), timeout=None)
            await graph.bootstrap(bulk=True)
            await loads(graph, nodes[:count], nodes[count:], report)
            await link(graph, nodes, rng, report)
            await hops(client, graph, nodes, report)
            await filtered(graph, vector, " ".join(vocabulary()[:3]), report)
            await overhead(client, graph, nodes[3], vector, text, report)
    return report


def main() -> int:
    """Print the report; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = asyncio.run(run(arguments.nodes))
    report.print(as_json=arguments.json)
    return 0 if all(check.holds for check in report.checks) else 1


if __name__ == "__main__":
    sys.exit(main())
