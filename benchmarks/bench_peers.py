"""How do we compare? ``python benchmarks/bench_peers.py --data FOLDER... --json`` (``make bench-peers`` installs the peers)

Each peer is a process in its own virtual environment, on one local Postgres (a database each), with the same documents and
the same precomputed embeddings. They are measured in one run, in turns, round by round: ingest, latency and throughput at 1, 4,
16 and 64 concurrent searches, full pages under filters, memory, and nDCG@10 on judged collections. A system is called by its
peer and the variant of searching it, as ``langchain.depth50``: reciprocal ranks of 50 candidates a leg.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import psutil

from brain_async.adapters.embed import LocalEmbedder
from brain_async.local import LocalServer, local_postgres
from peers.collection import Collection
from peers.compare import compare
from peers.judged import Judged, judged, ndcg10
from peers.process import PEERS, Worker, open_worker
from peers.rounds import Ingest, Round, full_share, ingest_summary, summary, turns
from peers.synthetic import LABELS, label_sizes, synthetic
from report import Report, percentile

DIMENSION = 256
PAGE = 10
QUERIES = 600
FILTER_QUERIES = 100
SEARCHES_PER_ROUND = {1: 60, 4: 80, 16: 160, 64: 192}
_SETTINGS = {"shared_buffers": "1GB", "max_connections": "100"}


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


@dataclass
class Bench:
    """The running peers, their systems, and the server they share."""

    report: Report
    server: LocalServer
    folder: Path
    workers: dict[str, Worker] = field(default_factory=dict)
    systems: dict[str, tuple[Worker, str]] = field(default_factory=dict)

    async def start(self, stack: AsyncExitStack, names: Sequence[str]) -> None:
        """Start the peers and learn what variants they have."""
        versions: dict[str, str] = {}
        for name in names:
            self.workers[name] = worker = await stack.enter_async_context(open_worker(name, self.folder))
            hello = await worker.ask("hello")
            self.systems |= {f"{name}.{variant}": (worker, variant) for variant in hello["variants"]}
            versions |= {f"{name} {package}": version for package, version in hello["versions"].items()}
        for name in ("vector", "pg_textsearch"):
            versions[f"server {name}"] = await self._admin(
                f"select default_version from pg_available_extensions where name = '{name}'"
            )
        versions["server postgresql"] = await self._admin("show server_version")
        self.report.figures["versions"] = versions

    @asynccontextmanager
    async def opened(self, name: str, collection: Collection) -> AsyncIterator[None]:
        """Every peer with an empty database of its own for ``collection``; the databases are dropped afterwards."""
        folder = self.folder / name
        await asyncio.to_thread(collection.save, folder)
        for peer, worker in self.workers.items():
            database = f"{peer}_{name}"
            await self._admin(f'create database "{database}"')
            await self._admin(f'alter database "{database}" set hnsw.ef_search = {PEERS[peer].ef_search}')
            await worker.ask("open", folder=str(folder), dsn=self.dsn_of(database))
        yield
        for peer, worker in self.workers.items():
            await worker.ask("close")
            await self._admin(f'drop database "{peer}_{name}" with (force)')

    def dsn_of(self, database: str) -> str:
        """The connection URL of ``database``."""
        return self.server.dsn.replace("@/postgres?", f"@/{database}?", 1)

    async def _admin(self, statement: str, database: str = "postgres") -> Any:
        connection = await asyncpg.connect(self.dsn_of(database))
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def ingest(self, name: str, number: int = 0) -> dict[str, Ingest]:
        """What each system's peer took to store the opened collection and build its indexes, in turns."""
        found: dict[str, Ingest] = {}
        for peer in turns(list(self.workers), number):
            worker, before = self.workers[peer], self.server_cpu()
            answer = await worker.ask("ingest")
            server_cpu, took = self.server_cpu() - before, answer["seconds"]
            await self._admin("vacuum analyze", f"{peer}_{name}")
            await self._admin("checkpoint")
            found |= {
                system: Ingest(took.get(variant, took[""]), answer["cpu"], server_cpu)
                for system, (owner, variant) in self.systems.items()
                if owner is worker
            }
            _say(f"{name}: {peer} ingested in {max(took.values()):.1f} s")
        return found

    async def run(
        self, system: str, queries: Sequence[int], *, concurrency: int, label: str | None = None, pages: bool = False
    ) -> dict[str, Any]:
        """One turn of one system; see ``peers.worker``."""
        worker, variant = self.systems[system]
        return await worker.ask(
            "run",
            variant=variant,
            queries=list(queries),
            concurrency=concurrency,
            k=PAGE,
            label=label,
            pages=pages,
        )

    def server_cpu(self) -> float:
        """CPU seconds that the server's processes have used so far, those that ended included."""
        postmaster = psutil.Process(self.server.pid)
        ended = postmaster.cpu_times()
        total = ended.children_user + ended.children_system
        for process in postmaster.children():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    async def disk_mb(self, name: str) -> dict[str, float]:
        """Size of each peer's database in MB of 10^6 bytes."""
        sizes = {}
        for peer in self.workers:
            size = await self._admin("select pg_database_size(current_database())", f"{peer}_{name}")
            sizes[peer] = round(size / 1e6, 1)
        return sizes


async def speed(
    bench: Bench, documents: int, rounds: int, ingest_rounds: int
) -> tuple[dict[str, list[Ingest]], dict[int, dict[str, list[Round]]]]:
    """Ingest, memory, searches and filters on the synthetic documents; returns all rounds of ingest and of searches."""
    collection = synthetic(documents, QUERIES, dimension=DIMENSION, k=PAGE)
    figures = bench.report.figures
    ingests: dict[str, list[Ingest]] = {}

    async def ingest(number: int) -> None:
        for system, took in (await bench.ingest("synthetic", number)).items():
            ingests.setdefault(system, []).append(took)

    for number in range(1, ingest_rounds):
        async with bench.opened("synthetic", collection):
            await ingest(number)
    async with bench.opened("synthetic", collection):
        opened = {peer: worker.resident_mb() for peer, worker in bench.workers.items()}
        await ingest(0)
        figures["ingest"] = {system: ingest_summary(took, documents) for system, took in ingests.items()}
        found = await searches(bench, rounds)
        figures["filters"] = await filters(bench)
        sizes = await bench.disk_mb("synthetic")
        figures["memory"] = {
            peer: {"opened_mb": opened[peer], "after_mb": worker.resident_mb(), "database_mb": sizes[peer]}
            for peer, worker in bench.workers.items()
        }
    return ingests, found


async def searches(bench: Bench, rounds: int) -> dict[int, dict[str, list[Round]]]:
    """All rounds by concurrency and system; a first one warms up and is not kept."""
    found: dict[int, dict[str, list[Round]]] = {}
    for concurrency, count in SEARCHES_PER_ROUND.items():
        found[concurrency] = {system: [] for system in bench.systems}
        for number in range(rounds + 1):
            queries = [(number * count + place) % QUERIES for place in range(count)]
            for system in turns(list(bench.systems), number):
                before = bench.server_cpu()
                answer = await bench.run(system, queries, concurrency=concurrency)
                server_cpu = bench.server_cpu() - before
                if number:
                    found[concurrency][system].append(
                        Round(answer["latencies"], answer["elapsed"], answer["cpu"], server_cpu)
                    )
        summaries = {system: summary(done) for system, done in found[concurrency].items()}
        bench.report.figures[f"search_c{concurrency}"] = summaries
        _say(f"{concurrency} concurrent: done")
    return found


async def filters(bench: Bench) -> dict[str, dict[str, Any]]:
    """By label and system: share of full pages, mean rows, and p50; ``all`` is without a filter."""
    measured: dict[str, dict[str, Any]] = {}
    for label in (None, *LABELS):
        measured[label or "all"] = shares = {}
        for system in bench.systems:
            answer = await bench.run(system, range(FILTER_QUERIES), concurrency=1, label=label)
            p50 = round(percentile(answer["latencies"], 0.5), 2)
            shares[system] = {**full_share(answer["rows"], PAGE), "p50_ms": p50}
    _say("filters: done")
    return measured


async def quality(bench: Bench, one: Judged) -> dict[str, float]:
    """nDCG@10 of every system on one judged collection."""
    async with bench.opened(one.name, one.collection):
        await bench.ingest(one.name)
        measured = {}
        for system in bench.systems:
            answer = await bench.run(system, range(len(one.collection.queries)), concurrency=4, pages=True)
            measured[system] = round(ndcg10(one.qrels, answer["pages"]), 4)
    return measured


async def run(arguments: argparse.Namespace, home: Path) -> Report:
    """Start everything, measure, compare."""
    report = Report(
        benchmark="bench_peers",
        parameters={
            "documents": arguments.documents,
            "rounds": arguments.rounds,
            "ingest_rounds": arguments.ingest_rounds,
            "dimension": DIMENSION,
            "k": PAGE,
            "labels": label_sizes(arguments.documents, PAGE),
            **_SETTINGS,
        },
    )
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(local_postgres(home / "home", settings=_SETTINGS))
        bench = Bench(report, server, home)
        await bench.start(stack, arguments.peers)
        ingests, rounds = await speed(bench, arguments.documents, arguments.rounds, arguments.ingest_rounds)
        embedder = await LocalEmbedder.load()
        ndcg: dict[str, Mapping[str, float]] = {}
        for folder in arguments.data:
            ndcg[folder.name] = await quality(bench, await judged(folder, embedder))
        compare(report, arguments.subject, arguments.judged_subject, rounds, ingests, ndcg)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ingest-rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders in the BEIR layout")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--subject", default="ours.depth50", help="the system whose speed is compared")
    parser.add_argument("--judged-subject", default="ours.default", help="the system whose answers are compared")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-peers-") as home:
        report = asyncio.run(run(arguments, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
