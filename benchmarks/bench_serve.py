"""What does HTTP cost over the engine? ``python benchmarks/bench_serve.py --json``

`brain serve` as a process of its own, asked by 64 callers at once, in turns with ``Engine.search`` in this process, called by
64 tasks: the same home, the same Postgres, the same queries. Also whether the server's memory stays flat, and for how long
its event loop was ever held up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from brain_async import Object, Scope, SearchContext, SearchRequest
from brain_async.local import LocalEngine, open_local
from brain_async.testing.corpus import make_parts, vocabulary
from report import Check, Report, percentile

SCOPE = Scope(UUID(int=1))
CALLERS = 64
PAGE = 10
ROUNDS = 6
WARM_SECONDS = 3.0
_COMMAND = [sys.executable, "-c", "from brain_async.cli.app import main; main()"]

_HEAD = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "

Search = Callable[[int, str], Awaitable[None]]


def make_queries(count: int) -> list[str]:
    """Queries of 2 to 6 words, rarer than the stop-word-like head of the vocabulary."""
    rng = random.Random(11)
    words = vocabulary()[50:4_000]
    return [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(count)]


def batches(objects: Iterator[Object], size: int) -> Iterator[list[Object]]:
    """Consecutive lists of ``size``."""
    while batch := list(islice(objects, size)):
        yield batch


class Connections:
    """A keep-alive HTTP connection for each caller, with no more client than the answers need."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self.errors: Counter[str] = Counter()

    async def search(self, caller: int, query: str) -> None:
        """One request and its whole answer; one that is not a 200, or lacks a channel, is counted."""
        if caller not in self._streams:
            self._streams[caller] = await asyncio.open_connection(*self._address)
        reader, writer = self._streams[caller]
        body = json.dumps({"query": query, "limit": PAGE}).encode()
        writer.write(_HEAD + str(len(body)).encode() + b"\r\n\r\n" + body)
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            content = await reader.readexactly(int(length[1])) if length else b""
            if not answer.startswith(b"HTTP/1.1 200 "):
                self.errors[answer[9:12].decode()] += 1
            elif degraded := re.search(rb'"degraded":(\[[^]]*\])', content):
                self.errors[f"degraded: {degraded[1].decode()}"] += 1
        except (asyncio.IncompleteReadError, OSError) as error:
            self.errors[type(error).__name__] += 1
            del self._streams[caller]

    async def get(self, path: str) -> Any:
        """The decoded answer of a GET."""
        reader, writer = await asyncio.open_connection(*self._address)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    def close(self) -> None:
        """Close them all."""
        for _, writer in self._streams.values():
            writer.close()


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[tuple[Connections, psutil.Process]]:
    """`brain serve` over ``home``: connections to it, and its process."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        # It only reads: the graph is written by the engine in this process.
        *("serve", "--home", str(home), "--port", "0", "--namespace", str(SCOPE.namespace_id), "--read-only"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        address = re.search(r"http://([^:]+):(\d+)", line)
        if address is None:
            raise SystemExit(f"brain serve did not start: {line}")
        connections = Connections(address[1], int(address[2]))
        yield connections, psutil.Process(process.pid)
        connections.close()
    finally:
        process.terminate()
        await process.wait()


def engine_search(engine: LocalEngine) -> Search:
    """``Engine.search`` with a SearchContext of its own for every call."""

    async def search(_caller: int, query: str) -> None:
        await engine.search(SCOPE, SearchRequest(query=query, limit=PAGE), SearchContext(SCOPE.namespace_id))

    return search


async def timed(search: Search, queries: Iterator[str], seconds: float) -> list[float]:
    """The latency in seconds of each search that ``CALLERS`` callers made, one after another, for ``seconds``."""
    latencies: list[float] = []
    until = time.perf_counter() + seconds

    async def caller(number: int) -> None:
        while (began := time.perf_counter()) < until:
            await search(number, next(queries))
            latencies.append(time.perf_counter() - began)

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return latencies


def cpu_seconds(server: psutil.Process) -> dict[str, float]:
    """What the two Python processes have used so far."""
    used = server.cpu_times()
    return {"here": time.process_time(), "server": used.user + used.system}


def summary(latencies: Sequence[float], seconds: float) -> dict[str, Any]:
    """The figures of one side."""
    return {
        "searches": len(latencies),
        "per_s": round(len(latencies) / seconds, 1),
        "p50_ms": round(percentile(latencies, 0.5), 2),
        "p95_ms": round(percentile(latencies, 0.95), 2),
        "p99_ms": round(percentile(latencies, 0.99), 2),
    }


async def measure(report: Report, engine: LocalEngine, home: Path, seconds: float) -> None:
    """Both sides in turns, each for ``seconds`` in all."""
    queries = cycle(make_queries(2_000))
    async with served(home) as (connections, process):
        sides = {"engine": engine_search(engine), "serve": connections.search}
        for search in sides.values():
            await timed(search, queries, WARM_SECONDS)
        connections.errors.clear()
        rss = [process.memory_info().rss]
        latencies: dict[str, list[float]] = {name: [] for name in sides}
        p95: dict[str, list[float]] = {name: [] for name in sides}
        cpu = {name: dict.fromkeys(cpu_seconds(process), 0.0) for name in sides}
        held_up = 0.0
        for number in range(ROUNDS):
            for name in sides if number % 2 else reversed(sides):
                before = cpu_seconds(process)
                found = await timed(sides[name], queries, seconds / ROUNDS)
                for who, spent in cpu_seconds(process).items():
                    cpu[name][who] += spent - before[who]
                latencies[name] += found
                p95[name].append(percentile(found, 0.95))
            held_up = max(held_up, (await connections.get("/readyz"))["loop_held_up"])
            rss.append(process.memory_info().rss)
        errors = connections.errors
    for name, found in latencies.items():
        report.figures[name] = summary(found, seconds)
        report.figures[name]["cpu_ms"] = {who: round(spent * 1e3 / len(found), 2) for who, spent in cpu[name].items()}
    report.figures["p95_by_round_ms"] = {name: [round(value, 1) for value in each] for name, each in p95.items()}
    report.figures["rss_mb"] = [round(value / 2**20, 1) for value in rss]
    report.figures["errors"] = dict(errors)
    ratio = statistics.median(s / e for s, e in zip(p95["serve"], p95["engine"], strict=True))
    report.checks += [
        Check.of("errors", errors.total(), "<=", 0),
        Check.of("p95_vs_engine", ratio, "<=", 1.3),
        Check.of("max_loop_block_ms", held_up * 1e3, "<=", 50),
        Check.of("rss_growth_mb", (rss[-1] - rss[0]) / 2**20, "<=", 20),
    ]


async def run(parts: int, seconds: float, home: Path) -> Report:
    """Load, then measure."""
    parameters = {"parts": parts, "seconds": seconds, "callers": CALLERS, "page": PAGE, "rounds": ROUNDS}
    report = Report(benchmark="bench_serve", parameters=parameters)
    async with open_local(home) as engine:
        namespace_id = SCOPE.namespace_id
        assert namespace_id is not None
        made = make_parts(parts, seed=3, namespace_id=namespace_id, dimension=engine.store.dimension)
        await engine.store.bulk_load(batches(made, 1_000))
        await engine.reconcile()
        await measure(report, engine, home, seconds)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each side, in all")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        report = asyncio.run(run(arguments.parts, arguments.seconds, Path(home)))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
