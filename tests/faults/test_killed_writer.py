"""Writers killed with SIGKILL between Postgres, ledger and HelixDB: nothing acknowledged is lost, and no drift is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import anyio
import pytest

from brain_async import Drift, Engine
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.postgres import PostgresStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.model.relation import EdgeKey
from brain_async.model.scope import Scope
from helixgraph import open_helix_embedded
from tests.faults.killed_writer import DIMENSION

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


@asynccontextmanager
async def opened(home: Path, store: PostgresStore) -> AsyncIterator[tuple[Engine, CortexEdgeLedger]]:
    """The engine over what the dead writer left, and its record of links."""
    async with (
        open_lmdb(home / "ledger") as kept,
        open_helix_embedded(home / "graph", dimension=DIMENSION) as graph,
    ):
        links = CortexEdgeLedger(kept)
        yield Engine(store, graph=graph, ledger=links), links


@pytest.mark.parametrize("rounds", [8, pytest.param(50, marks=pytest.mark.slow)])
async def test_writers_killed_at_any_moment(
    postgres_dsn: str, fresh_schema: str, forkers: list[Forker], tmp_path: Path, rounds: int
) -> None:
    """All rounds share a graph and a ledger, which so are killed, opened and compared again and again."""
    random, calls, interrupted = Random(30), 0, 0
    async with open_postgres(postgres_dsn, dimension=DIMENSION, search_path=f"{fresh_schema}, public") as store:
        forker = await anyio.to_thread.run_sync(Forker, postgres_dsn, fresh_schema, tmp_path)
        forkers.append(forker)
        for number in range(rounds):
            namespace, file = uuid4(), tmp_path / f"acknowledged-{number}"
            scope = Scope(namespace)
            pid = await anyio.to_thread.run_sync(forker.start, namespace, number, file)
            await anyio.sleep(random.uniform(0.2, 0.6))
            await anyio.to_thread.run_sync(forker.kill, pid)
            await _server_is_done(store)
            async with opened(tmp_path, store) as (engine, links):
                await links.ledger.verify()
                before = await engine.drift(scope)
                interrupted += before.differences > 0
                assert before.pending or not before.differences, f"round {number}: {before}"
                report = await engine.reconcile(scope)
                assert (report.ok, await engine.drift(scope)) == (True, EQUAL), f"round {number}: {before}"
                await links.ledger.verify()
                await _assert_searches_agree(engine, store, links, scope)
                calls += await _assert_nothing_lost(store, links, scope, await anyio.Path(file).read_text())
        async with opened(tmp_path, store) as (engine, _):
            assert await engine.drift(Scope()) == EQUAL, "no round undid what an earlier one had"
    assert calls > rounds * 4, "the writers wrote"
    assert interrupted > rounds / 8, f"and were interrupted between store and graph: {interrupted} of {calls} calls"


async def _assert_searches_agree(engine: Engine, store: PostgresStore, ledger: CortexEdgeLedger, scope: Scope) -> None:
    """The indexes hold what the nodes and edges say."""
    session = engine.session(scope.namespace_id)
    rows = {obj.key for obj in await store.scan(scope, first_class=True, after=None, limit=10_000)}
    page = await session.find_objects("step", limit=50)
    assert {obj.id for obj in page.objects} == rows
    edges = await ledger.scan_edges(scope, after=None, limit=10_000)
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


async def _assert_nothing_lost(store: PostgresStore, ledger: CortexEdgeLedger, scope: Scope, acknowledged: str) -> int:
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
    recorded = {edge.key for edge in await ledger.scan_edges(scope, after=None, limit=10_000)}
    for edge in recorded ^ edges:
        assert {edge.from_id, edge.to_id} & unsure
    return sum(line[0] != "begin" for line in lines)
