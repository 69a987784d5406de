"""What does the edge ledger cost? ``python benchmarks/bench_cortex.py --edges 1000000 --json``

In one run, in a temporary directory: the same edges into a ledger over LMDB and into SQLite (WAL, synchronous=FULL, two
indexes), a batch to each in turn; at 10^4, 10^5, ... edges and at the end single durable adds from 64 concurrent callers,
reads in a snapshot, a walk of three hops (in networkx, too, which is in memory), the update of the root, and proofs. The
sides are called in turn, and medians compared. SQLite keeps no journal, no root and no proofs. Three hops scan 1,110 edges
at every size.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import networkx as nx

from brain_async.adapters.lmdb import open_lmdb
from brain_async.cortex import (
    EdgeExpr,
    Ledger,
    LedgerView,
    NewEdge,
    Walk,
    encode_proof,
    verify_proof,
)
from brain_async.cortex.keys import edge_id
from brain_async.cortex.merkle import leaf_key, update_tree
from edge_sample import DEGREE, HUB_DEGREE, HUBS, Edges
from report import Check, Report
from sqlite_edges import QueuedSqlite, SqliteEdges, connection_per_caller

SMALLEST = 10_000
BATCH = 10_000
CALLERS, PER_CALLER = 64, 16
ROUNDS = 7
HOPS = 3

Seconds = dict[str, float]
Timed = Callable[[], Awaitable[float]]


async def medians(calls: Mapping[str, Timed], rounds: int = ROUNDS) -> Seconds:
    """The median of what each call says it took, the calls made in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        for name in calls if number % 2 else reversed(list(calls)):
            times[name].append(await calls[name]())
    return {name: statistics.median(found) for name, found in times.items()}


class Bench:
    """One ledger, one SQLite file and one networkx graph of the same edges."""

    def __init__(self, home: Path, ledger: Ledger) -> None:
        self.ledger = ledger
        self.file = home / "ledger" / "data.mdb"
        self.sqlite = SqliteEdges(home / "edges.sqlite")
        self.graph = nx.MultiDiGraph()
        self.edges = Edges(3)
        self.loaded = 0
        self.load_seconds: Seconds = {"ledger": 0.0, "sqlite": 0.0}

    async def load(self, count: int) -> None:
        """Add edges until there are ``count``, a batch to the one and then to the other."""
        wanted = self.edges.grow(count - self.loaded)
        wanted += self.edges.of_hubs() if not self.loaded else []
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            for name in ("ledger", "sqlite"):
                started = time.perf_counter()
                if name == "ledger":
                    await self.ledger.add_edges(batch)
                else:
                    self.sqlite.add_edges(batch)
                self.load_seconds[name] += time.perf_counter() - started
            self.graph.add_edges_from((edge.src, edge.dst, edge.type) for edge in batch)
            gc.freeze()  # or the others' times would contain the search of networkx's dictionaries for garbage
        self.loaded = count

    async def adds64(self) -> Seconds:
        """Seconds per single durable add at CALLERS callers."""
        count = CALLERS * PER_CALLER

        async def concurrently(add: Callable[[NewEdge], Awaitable[object]]) -> float:
            shares = self._shares()

            async def caller(share: Sequence[NewEdge]) -> None:
                for edge in share:
                    await add(edge)

            started = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for share in shares:
                    group.create_task(caller(share))
            return (time.perf_counter() - started) / count

        async def own_connections() -> float:
            few = [share[: PER_CALLER // 4] for share in self._shares()]  # slow, and no slower for more
            return await asyncio.to_thread(connection_per_caller, self.sqlite.path, few) / (CALLERS * len(few[0]))

        queues = {
            name: QueuedSqlite(self.sqlite.path, grouped=name == "sqlite_queue_grouped")
            for name in ("sqlite_queue", "sqlite_queue_grouped")
        }
        try:
            return await medians(
                {
                    "ledger": lambda: concurrently(
                        lambda edge: self.ledger.add_edge(edge.src, edge.type, edge.dst, edge.meta)
                    ),
                    "sqlite_connection_per_caller": own_connections,
                    **{name: partial(concurrently, queue.add_edge) for name, queue in queues.items()},
                },
                5,
            )
        finally:
            for queue in queues.values():
                queue.close()

    async def reads(self) -> dict[str, Seconds]:
        """Seconds per get, per 50 edges and per walk, on each side."""
        async with self.ledger.snapshot() as view:
            return {
                "get_edge": await self._gets(view),
                "out_50": await self._iterations(view),
                "walk3": await self._walks(view),
                **await self._root(view),
            }

    def _shares(self) -> list[list[NewEdge]]:
        fresh = self.edges.fresh(CALLERS * PER_CALLER)
        return [fresh[place::CALLERS] for place in range(CALLERS)]

    async def _gets(self, view: LedgerView) -> Seconds:
        wanted = self.edges.pick(1_000)

        async def ledger() -> float:
            started = time.perf_counter()
            for edge in wanted:
                await view.get_edge(edge.src, edge.type, edge.dst)
            return (time.perf_counter() - started) / len(wanted)

        async def sqlite() -> float:
            started = time.perf_counter()
            for edge in wanted:
                self.sqlite.get_edge(edge)
            return (time.perf_counter() - started) / len(wanted)

        return await medians({"ledger": ledger, "sqlite": sqlite})

    async def _iterations(self, view: LedgerView) -> Seconds:
        hubs = self.edges.hubs

        async def ledger() -> float:
            started = time.perf_counter()
            for hub in hubs:
                assert len([edge async for edge in view.iter_edges_out(hub)]) == HUB_DEGREE
            return (time.perf_counter() - started) / len(hubs)

        async def sqlite() -> float:
            started = time.perf_counter()
            for hub in hubs:
                assert len(self.sqlite.edges_out(hub)) == HUB_DEGREE
            return (time.perf_counter() - started) / len(hubs)

        return await medians({"ledger": ledger, "sqlite": sqlite})

    async def _walks(self, view: LedgerView) -> Seconds:
        starts = self.edges.starts(5)
        follow = EdgeExpr(max_hops=HOPS)

        async def ledger() -> float:
            started = time.perf_counter()
            for start in starts:
                [found async for found in Walk(view, start, follow).hops()]
            return (time.perf_counter() - started) / len(starts)

        async def sqlite() -> float:
            started = time.perf_counter()
            for start in starts:
                self.sqlite.walk(start, HOPS)
            return (time.perf_counter() - started) / len(starts)

        async def networkx() -> float:
            started = time.perf_counter()
            for start in starts:
                nx.single_source_shortest_path_length(self.graph, start, cutoff=HOPS)
            return (time.perf_counter() - started) / len(starts)

        reached = []
        for start in starts:
            walk = Walk(view, start, follow)
            [found async for found in walk.hops()]
            expected = set(nx.single_source_shortest_path_length(self.graph, start, cutoff=HOPS)) - {start}
            assert set(walk.came_by) == expected == self.sqlite.walk(start, HOPS)
            reached.append(len(expected))
        found = await medians({"ledger": ledger, "sqlite": sqlite, "networkx": networkx})
        return {**found, "nodes": statistics.mean(reached)}

    async def _root(self, view: LedgerView) -> dict[str, Seconds]:
        """What the root costs: computed for new leaves, and not written; and what proofs of edges in it cost."""
        head, root = await view.head(), await view.root()
        edges = self.edges.pick(200)
        proofs = [await view.prove(edge.src, edge.type, edge.dst) for edge in edges]
        sizes = [len(encode_proof(proof)) for proof in proofs]

        def update(share: int) -> Timed:
            async def timed() -> float:
                keys = [
                    leaf_key(edge_id(_raw(edge.src), int(edge.type), _raw(edge.dst))) for edge in self.edges.fresh(256)
                ]
                started = time.perf_counter()
                for start in range(0, len(keys), share):
                    reading = update_tree(dict.fromkeys(keys[start : start + share], bytes(32)), head.edges)
                    try:
                        request = next(reading)
                        while True:
                            request = reading.send(await view.reader.get_many(request.keys))
                    except StopIteration:
                        continue
                return (time.perf_counter() - started) / len(keys)

            return timed

        async def prove() -> float:
            started = time.perf_counter()
            for edge in edges:
                await view.prove(edge.src, edge.type, edge.dst)
            return (time.perf_counter() - started) / len(edges)

        async def check() -> float:
            started = time.perf_counter()
            assert all(verify_proof(root, proof) for proof in proofs)
            return (time.perf_counter() - started) / len(edges)

        calls = {"root_update": update(1), "root_update_of_64": update(64), "prove": prove, "verify_proof": check}
        found = {name: {"ledger": seconds} for name, seconds in (await medians(calls)).items()}
        return {**found, "proof_bytes": {"mean": statistics.mean(sizes), "largest": max(sizes)}}


def _raw(node: object) -> bytes:
    assert isinstance(node, bytes)
    return node


def sizes_up_to(edges: int) -> list[int]:
    """10^4, 10^5, ... below ``edges``, and ``edges``."""
    powers = [SMALLEST * 10**power for power in range(10) if SMALLEST * 10**power < edges]
    return [*powers, edges]


def growth(first: float, last: float, sizes: Sequence[int]) -> float:
    """By what a cost was multiplied when the edges were multiplied by ten."""
    tenfolds = math.log10(sizes[-1] / sizes[0])
    return (last / first) ** (1 / tenfolds) if tenfolds else 1.0


def micros(seconds: Mapping[str, Seconds]) -> dict[str, dict[str, float]]:
    """Times in microseconds, with one digit behind the point; bytes and nodes as they are."""
    return {
        name: {
            side: round(value if name == "proof_bytes" or side == "nodes" else value * 1e6, 1)
            for side, value in found.items()
        }
        for name, found in seconds.items()
    }


async def run(edges: int) -> Report:
    """The whole benchmark, up to ``edges``."""
    report = Report(
        benchmark="bench_cortex",
        parameters={"edges": edges, "batch": BATCH, "callers": CALLERS, "degree": DEGREE, "synchronous": "FULL"},
    )
    sizes = sizes_up_to(edges)
    seen: list[dict[str, Seconds]] = []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        async with open_lmdb(home / "ledger") as store:
            bench = Bench(home, Ledger(store))
            for size in sizes:
                await bench.load(size)
                seen.append({**await bench.reads(), "adds64": await bench.adds64()})
                report.figures[f"microseconds_at_{size}_edges"] = micros(seen[-1])
            rates = {side: round((edges + HUBS * HUB_DEGREE) / spent) for side, spent in bench.load_seconds.items()}
            held = (await bench.ledger.head()).edges
            per_edge = {
                "ledger": round(bench.file.stat().st_size / held),
                "sqlite": round(bench.sqlite.bytes_on_disk() / held),
            }
            bench.sqlite.close()
    report.figures |= {"batch_adds_per_s": rates, "bytes_per_edge": per_edge}
    _check(report, sizes, seen, rates, per_edge)
    return report


def _check(
    report: Report,
    sizes: Sequence[int],
    seen: Sequence[Mapping[str, Seconds]],
    rates: Mapping[str, float],
    per_edge: Mapping[str, float],
) -> None:
    last = seen[-1]
    singles = last["adds64"]
    alone = min(singles["sqlite_connection_per_caller"], singles["sqlite_queue"])
    report.figures["adds64_vs_sqlite_that_groups_by_hand"] = round(
        singles["sqlite_queue_grouped"] / singles["ledger"], 2
    )
    costs = ("get_edge", "out_50", "walk3", "root_update", "prove", "adds64")
    by_cost = {name: growth(seen[0][name]["ledger"], last[name]["ledger"], sizes) for name in costs}
    report.figures["growth_per_tenfold"] = {name: round(factor, 2) for name, factor in by_cost.items()}
    report.checks += [
        Check.of("adds64_vs_sqlite", alone / singles["ledger"], ">=", 1),
        # A million edges in less than five minutes.
        Check.of("batch_adds_per_s", rates["ledger"], ">=", 3_500),
        Check.of("get_edge_us", last["get_edge"]["ledger"] * 1e6, "<=", 10),
        Check.of("walk3_ms", last["walk3"]["ledger"] * 1e3, "<=", 10),
        # One hash of 32 bytes per level and four levels of luck, and 256 bytes for the edge and its record.
        Check.of("proof_bytes", last["proof_bytes"]["mean"], "<=", round(32 * (math.log2(sizes[-1]) + 4) + 256)),
        # The record is kept three times, forwards, backwards and in the journal, beside two hashes in each tree.
        Check.of("bytes_per_edge", per_edge["ledger"], "<=", 1_500),
        # log n grows 1.25 times from 10^4 to 10^5 and 1.2 times from there to 10^6; the rest is room for what leaves the
        # processor's caches as the file grows. The square root of n would grow 3.2 times.
        Check.of("growth_per_tenfold", max(by_cost.values()), "<=", 1.6),
    ]


def main() -> int:
    """Print the report; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.edges < SMALLEST:
        parser.error(f"--edges must be {SMALLEST} or more")
    report = asyncio.run(run(arguments.edges))
    report.print(as_json=arguments.json)
    return 0 if all(check.holds for check in report.checks) else 1


if __name__ == "__main__":
    sys.exit(main())
