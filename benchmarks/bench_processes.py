"""Several engine processes on one Postgres and one Helix server. ``python benchmarks/bench_processes.py --json``

Each process (engine_process.py) has its own pool and four callers; the Helix server is the tests' double in a process of its
own, over HTTP. As many processes as the largest number asks for are started once, and in each round the first 1, 2 and 4 of
them work in turns: all callers search; then one of each four puts documents with their parts and links them while the others
search; then all record links in the ledger alone, whose journal is one for all. In the end all deliver the outboxes at once,
and each looks for everything that any of them acknowledged, and verifies the ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from engine_process import CALLERS, PHASES, open_process
from scale_corpus import DIMENSION, objects

from brain_async import Object
from brain_async.adapters.postgres import open_postgres
from brain_async.local import local_postgres
from report import Check, Report, percentile

_ROOT = Path(__file__).resolve().parent.parent
_LINE = 1 << 26
ROUNDS = 3
BATCH = 1_000


class Running:
    """A process that answers orders."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> Any:
        """The next line of its output, decoded. Raises SystemExit when it ended."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise SystemExit(f"an engine process ended with {await self._process.wait()}")
        return json.loads(line)

    async def ask(self, do: str, **order: Any) -> Any:
        """Give one order and wait for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **order}).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.line()


@asynccontextmanager
async def started(*arguments: str, cwd: Path | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process, terminated with the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@asynccontextmanager
async def helix_double() -> AsyncIterator[str]:
    """The URL of a Helix server double in a process of its own."""
    async with started("-m", "tests.helix_double", cwd=_ROOT) as process:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()


async def load(dsn: str, helix_url: str, parts: int) -> None:
    """Fill store and graph."""

    async with open_postgres(dsn, dimension=DIMENSION, statement_timeout=600) as store:
        made = objects(parts)

        def batches() -> Any:
            while batch := list[Object](islice(made, BATCH)):
                yield batch

        result = await store.bulk_load(batches())
        if result.refused:
            raise SystemExit(f"the corpus was refused: {result.refused[0]}")
    async with open_process(dsn, helix_url, 0) as process:
        report = await process.engine.reconcile()
        if not report.ok:
            raise SystemExit(f"the graph was not filled: {report.failures}")


async def measure(processes: Sequence[Running], numbers: Sequence[int], seconds: float) -> dict[int, dict[str, Any]]:
    """The answers of each phase by number of processes; the numbers take turns, round by round."""
    found: dict[int, dict[str, list[list[Any]]]] = {number: {what: [] for what in PHASES} for number in numbers}
    for what in PHASES:  # connections and caches
        await asyncio.gather(*(process.ask("run", what=what, seconds=0.5) for process in processes))
    for round_number in range(ROUNDS):
        for number in numbers if round_number % 2 else reversed(numbers):
            for what in PHASES:
                answers = await asyncio.gather(
                    *(process.ask("run", what=what, seconds=seconds) for process in processes[:number])
                )
                found[number][what].append(answers)
    return {number: {what: summary(rounds) for what, rounds in phases.items()} for number, phases in found.items()}


def summary(rounds: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """Rates of all processes together (median over the rounds), latencies over all searches, and errors."""
    made: dict[str, Any] = {}
    for name in ("searches", "puts", "links"):
        rates = [sum(_count(answer[name]) / answer["elapsed"] for answer in answers) for answers in rounds]
        if any(rates):
            made[f"{name}_per_s"] = round(statistics.median(rates), 1)
    if searches := [taken for answers in rounds for answer in answers for taken in answer["searches"]]:
        made |= {"p50_ms": round(percentile(searches, 0.5), 2), "p95_ms": round(percentile(searches, 0.95), 2)}
    errors: Counter[str] = Counter()
    for answers in rounds:
        for answer in answers:
            errors.update(answer["errors"])
    return {**made, "errors": dict(errors)}


def _count(made: Any) -> int:
    return len(made) if isinstance(made, list) else int(made)


async def verify(processes: Sequence[Running]) -> dict[str, Any]:
    """Everything acknowledged anywhere, looked for in every process after all have delivered the outboxes at once."""
    acknowledged = [await process.ask("acknowledged") for process in processes]
    wanted = {name: [each for answer in acknowledged for each in answer[name]] for name in ("objects", "links")}
    delivered = await asyncio.gather(*(process.ask("reconcile") for process in processes))
    # What two processes told the graph at the same moment may have left entries for another run.
    again = await processes[0].ask("reconcile")
    seen = await asyncio.gather(*(process.ask("verify", **wanted) for process in processes))
    return {
        "objects_acknowledged": len(wanted["objects"]),
        "links_acknowledged": len({tuple(link) for link in wanted["links"]}),
        "objects_lost": sum(each["objects_lost"] for each in seen),
        "links_lost": sum(each["links_not_recorded"] + each["links_not_in_graph"] for each in seen),
        "edges_delivered_by_each": [each["edges"] for each in delivered],
        "reconciled": all(each["ok"] for each in [*delivered, again]),
        "drift": max(abs(each["drift"]) for each in seen),
        "roots": len({each["root"] for each in seen}),
    }


async def run(numbers: Sequence[int], parts: int, seconds: float) -> Report:
    """The whole benchmark."""
    report = Report(
        benchmark="bench_processes",
        parameters={
            "processes": list(numbers),
            "callers": CALLERS,
            "parts": parts,
            "seconds": seconds,
            "rounds": ROUNDS,
        },
    )
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as home:
        async with local_postgres(home) as server, helix_double() as helix_url, AsyncExitStack() as stack:
            await load(server.dsn, helix_url, parts)
            script = str(Path(__file__).with_name("engine_process.py"))
            processes = [
                Running(await stack.enter_async_context(started(script, server.dsn, helix_url, str(number))))
                for number in range(1, max(numbers) + 1)
            ]
            await asyncio.gather(*(process.line() for process in processes))
            phases = await measure(processes, numbers, seconds)
            afterwards = await verify(processes)
    for what in PHASES:
        report.figures[what] = {f"{number}": phases[number][what] for number in numbers}
    report.figures["afterwards"] = afterwards
    check(report, phases, numbers)
    return report


def check(report: Report, phases: dict[int, dict[str, Any]], numbers: Sequence[int]) -> None:
    """No error, nothing lost, one ledger; and how much a second process brings, which has no aim of its own."""
    errors = sum(sum(phase["errors"].values()) for by_phase in phases.values() for phase in by_phase.values())
    after = report.figures["afterwards"]
    report.checks += [
        Check.of("errors", errors, "<=", 0),
        Check.of("lost", after["objects_lost"] + after["links_lost"], "<=", 0),
        Check.of("drift", after["drift"], "<=", 0),
        Check.of("ledger_roots", after["roots"], "<=", 1),
    ]
    if {1, 2} <= set(numbers):
        rates = {number: phases[number]["search"]["searches_per_s"] for number in (1, 2)}
        report.checks.append(Check.of("throughput_2_vs_1", rates[2] / rates[1], ">=", 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--parts", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each phase in each of the rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    if min(arguments.processes) < 1:
        parser.error("--processes must be 1 or more")
    asyncio.run(run(sorted(set(arguments.processes)), arguments.parts, arguments.seconds)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
