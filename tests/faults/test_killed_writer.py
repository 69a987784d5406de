"""Writers killed with SIGKILL between PostgreSQL and HelixDB: nothing acknowledged is lost, and reconcile leaves no drift."""

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
from helixgraph import open_helix_embedded
from tests.faults.killed_writer import DIMENSION

ROUNDS = 20
EQUAL = Drift(compared=True)
ROOT = Path(__file__).resolve().parents[2]


class Forker:
    """The process that forks the writers."""

    def __init__(self, dsn: str, schema: str, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.killed_writer", dsn, schema, str(home)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self, namespace: UUID, seed: int, file: Path) -> int:
        """The pid of a writer that is writing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{namespace} {seed} {file}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def kill(self, pid: int) -> None:
        """Kill the writer and wait until it is dead."""
        assert self._process.stdout is not None
        os.kill(pid, signal.SIGKILL)
        assert int(self._process.stdout.readline()) == -signal.SIGKILL, "it wrote until it was killed"

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
    """All rounds share a graph, which so is killed, opened and compared again and again."""
    home, random, calls, interrupted = tmp_path / "graph", Random(30), 0, 0
    async with open_postgres(postgres_dsn, dimension=DIMENSION, search_path=f"{fresh_schema}, public") as store:
        forker = await anyio.to_thread.run_sync(Forker, postgres_dsn, fresh_schema, home)
        forkers.append(forker)
        for number in range(ROUNDS):
            namespace, file = uuid4(), tmp_path / f"acknowledged-{number}"
            scope = Scope(namespace)
            pid = await anyio.to_thread.run_sync(forker.start, namespace, number, file)
            await anyio.sleep(random.uniform(0.2, 0.6))
            await anyio.to_thread.run_sync(forker.kill, pid)
            await _server_is_done(store)
            async with open_helix_embedded(home, dimension=DIMENSION) as graph:
                engine = Engine(store, graph=graph, ledger=PostgresEdgeLedger(store))
                before = await engine.drift(scope)
                interrupted += before.differences > 0
                assert before.pending or not before.differences, f"round {number}: {before}"
                report = await engine.reconcile(scope)
                assert (report.ok, await engine.drift(scope)) == (True, EQUAL), f"round {number}: {before}"
                await _assert_searches_agree(engine, store, scope)
            calls += await _assert_nothing_lost(store, scope, await anyio.Path(file).read_text())
        async with open_helix_embedded(home, dimension=DIMENSION) as graph:
            engine = Engine(store, graph=graph, ledger=PostgresEdgeLedger(store))
            assert await engine.drift(Scope()) == EQUAL, "no round undid what an earlier one had"
    assert calls > ROUNDS * 4, "the writers wrote"
    assert interrupted > ROUNDS / 4, f"and were interrupted between store and graph: {interrupted} of {calls} calls"


async def _assert_searches_agree(engine: Engine, store: PostgresStore, scope: Scope) -> None:
    """The indexes hold what the nodes and edges say."""
    session = engine.session(scope.namespace_id)
    rows = {obj.key for obj in await store.scan(scope, first_class=True, after=None, limit=10_000)}
    page = await session.find_objects("step", limit=50)
    assert {obj.id for obj in page.objects} == rows
    edges = await PostgresEdgeLedger(store).scan_edges(scope, after=None, limit=10_000)
    links = await session.find_links("about", "kept", limit=50)
    assert len(links) == min(50, len(edges))


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
