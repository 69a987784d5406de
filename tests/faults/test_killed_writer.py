"""Writers killed with SIGKILL between store and graph: nothing acknowledged is lost, and reconcile leaves no drift."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import anyio
import pytest

from brain_async import Drift, Engine
from brain_async.adapters.postgres import PostgresEdgeLedger, PostgresStore, open_postgres
from brain_async.model.relation import EdgeKey
from brain_async.model.scope import Scope
from tests.faults.journal_graph import JournalGraph

ROUNDS = 20
ROOT = Path(__file__).resolve().parents[2]


class Forker:
    """The process that forks the writers."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.killed_writer", dsn, schema],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self, namespace: UUID, seed: int, folder: Path) -> int:
        """The pid of a writer that is writing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{namespace} {seed} {folder}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=10)


@pytest.fixture
def forkers() -> Iterator[list[Forker]]:
    made: list[Forker] = []
    yield made
    for forker in made:
        forker.close()


async def test_writers_killed_at_any_moment(
    postgres_dsn: str, fresh_schema: str, forkers: list[Forker], tmp_path: Path
) -> None:
    async with open_postgres(postgres_dsn, dimension=4, search_path=f"{fresh_schema}, public") as store:
        forker = await anyio.to_thread.run_sync(Forker, postgres_dsn, fresh_schema)
        forkers.append(forker)
        random, calls, interrupted = Random(30), 0, 0
        for number in range(ROUNDS):
            namespace, folder = uuid4(), tmp_path / str(number)
            await anyio.Path(folder).mkdir()
            pid = await anyio.to_thread.run_sync(forker.start, namespace, number, folder)
            await anyio.sleep(random.uniform(0.1, 0.3))
            os.kill(pid, signal.SIGKILL)
            scope = Scope(namespace)
            engine = Engine(store, graph=(graph := JournalGraph(folder / "graph")), ledger=PostgresEdgeLedger(store))
            await graph.replay()
            await _server_is_done(store)
            before = await engine.drift(scope)
            interrupted += not before.is_zero
            report = await engine.reconcile(scope)
            assert (report.ok, await engine.drift(scope)) == (True, Drift(compared=True)), f"round {number}: {before}"
            graph.close()
            calls += await _assert_nothing_lost(store, scope, await anyio.Path(folder / "acknowledged").read_text())
    assert calls > ROUNDS * 10, "the writers wrote"
    assert interrupted > ROUNDS / 4, f"and were interrupted between store and graph: {interrupted} of {calls} calls"


async def _server_is_done(store: PostgresStore) -> None:
    """The server may still be at work on what the dead writer sent last."""
    async with store.connections.session() as connection:
        while await connection.fetchval(  # noqa: ASYNC110
            "select count(*) from pg_stat_activity where application_name = 'brain_async' and state <> 'idle'"
            " and pid <> pg_backend_pid() and datname = current_database()"
        ):
            await anyio.sleep(0.005)


async def _assert_nothing_lost(store: PostgresStore, scope: Scope, acknowledged: str) -> int:
    """Compare rows and recorded edges with the last acknowledged word on each; returns the number of calls.

    What a call had begun on and not returned from may be in either state.
    """
    titles: dict[UUID, str] = {}
    edges: set[EdgeKey] = set()
    unsure: set[UUID] = set()
    lines = [line.split() for line in acknowledged.splitlines()]
    for verb, first, *rest in lines:
        one = UUID(first)
        match verb:
            case "begin":
                unsure |= {one, *map(UUID, rest)}
                continue
            case "put":
                titles[one] = f"step {rest[0]}"
            case "delete":
                titles.pop(one)
                edges = {key for key in edges if one not in (key.from_id, key.to_id)}
            case "link":
                edges.add(EdgeKey(one, UUID(rest[0]), "about"))
            case "unlink":
                edges.discard(EdgeKey(one, UUID(rest[0]), "about"))
        unsure -= {one, *(UUID(word) for word in rest if verb in ("link", "unlink"))}
    found = {obj.key: obj.title for obj in await store.scan(scope, first_class=True, after=None, limit=10_000)}
    for key in {*titles, *found} - unsure:
        assert found.get(key) == titles.get(key)
    recorded = {edge.key for edge in await PostgresEdgeLedger(store).scan_edges(scope, after=None, limit=10_000)}
    for edge in recorded ^ edges:
        assert {edge.from_id, edge.to_id} & unsure
    return sum(line[0] != "begin" for line in lines)
