"""HelixGraph when writes collide, callers go away, processes die, servers hang and directories are taken."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from helixdb import AsyncClient, InMemory

from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    ClosedError,
    GraphLockedError,
    InvalidInputError,
    SearchIndexNotReadyError,
)
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import edge_between, text_hits
from brain_async.testing.subjects import direction, fresh_scope, new_parent
from helixgraph import HelixGraph, open_helix, open_helix_embedded
from tests.helix_double import Envelope, HelixDouble

_ROOT = Path(__file__).resolve().parents[2]
_WRITER = Path(__file__).with_name("helix_writer.py")


@asynccontextmanager
async def _server(envelope: Envelope = "code and message") -> AsyncIterator[HelixDouble]:
    async with await AsyncClient.embedded(InMemory("double")) as engine:
        yield HelixDouble(engine, envelope)


def _client(double: HelixDouble) -> AsyncClient:
    return AsyncClient("http://double", transport=httpx.ASGITransport(double))


@asynccontextmanager
async def _child(home: Path, scope: Scope) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_WRITER), str(home), str(scope.namespace_id),
        stdout=asyncio.subprocess.PIPE, cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"open\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_storm_of_writes_through_one_client() -> None:
    scope = fresh_scope()
    async with open_helix_embedded(dimension=8) as graph:
        nodes = [new_parent(scope, title="storm", embedding=direction(8, n)) for n in range(50)]
        await asyncio.gather(*(graph.ensure_objects(scope, [node]) for node in nodes))
        await asyncio.gather(*(graph.add_edges(scope, [edge_between(scope, nodes[0], node)]) for node in nodes))
        assert set(await text_hits(graph, scope, "storm")) == {node.id for node in nodes}
        around = await graph.neighbors(scope, [nodes[0].key], (), direction="out", limit=100)
        assert len(around[nodes[0].key]) == 49


@pytest.mark.parametrize("envelope", ["code and message", "text"])
async def test_a_storm_of_writes_from_processes_that_do_not_take_turns(envelope: Envelope) -> None:
    """Every client has its own turn-taking, as every process has: only repeating saves these writes."""
    scope = fresh_scope()
    async with _server(envelope) as double:
        clients = [_client(double) for _ in range(8)]
        graphs = [HelixGraph(client, dimension=8) for client in clients]
        await asyncio.gather(*(graph.bootstrap() for graph in graphs))
        same = new_parent(scope, title="same", embedding=direction(8, 1))
        nodes = [new_parent(scope, title="storm", embedding=direction(8, n)) for n in range(48)]
        writers = [graphs[n % len(graphs)] for n in range(len(nodes))]
        await asyncio.gather(
            *(graph.ensure_objects(scope, [same, node]) for graph, node in zip(writers, nodes, strict=True))
        )
        await asyncio.gather(
            *(
                graph.add_edges(scope, [edge_between(scope, same, nodes[0], note=f"n{n}")])
                for n, graph in enumerate(graphs)
            )
        )
        assert set(await text_hits(graphs[0], scope, "storm")) == {node.id for node in nodes}
        assert await text_hits(graphs[0], scope, "same") == [same.id], "one id is one node"
        around = await graphs[0].neighbors(scope, [same.key], (), direction="both", limit=10)
        assert [neighbor.object_id for neighbor in around[same.key]] == [nodes[0].key]
        await graphs[0].remove_edges(scope, [edge_between(scope, same, nodes[0]).key])
        around = await graphs[0].neighbors(scope, [same.key], (), direction="both", limit=10)
        assert around[same.key] == [], "one key is one edge"
        for client in clients:
            await client.close()


async def test_a_cancelled_write_does_not_race_the_next_one() -> None:
    scope = fresh_scope()
    async with open_helix_embedded(dimension=8) as graph:
        nodes = [new_parent(scope, title="first", embedding=direction(8, n)) for n in range(200)]
        for delay in (0.0, 0.001, 0.01, 0.03):
            await graph.remove_objects(scope, [node.key for node in nodes[:5]])
            started = time.perf_counter()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(delay):
                    await graph.ensure_objects(scope, nodes)
            assert time.perf_counter() - started < delay + 0.5, "the caller is not held back by the write"
            second = new_parent(scope, title="second", id=nodes[0].id)
            await graph.ensure_objects(scope, [second])
            assert nodes[0].id in await text_hits(graph, scope, "second")
            await asyncio.sleep(0.2)
            assert nodes[0].id in await text_hits(graph, scope, "second"), "nothing overtook the later write"
            assert nodes[0].id not in await text_hits(graph, scope, "first", Filters(scope_ids=(nodes[0].key,)))


async def test_a_write_that_waits_for_its_turn_can_be_cancelled_and_passed() -> None:
    scope = fresh_scope()
    async with (
        _server() as double,
        open_helix("http://double", dimension=8, transport=httpx.ASGITransport(double)) as graph,
    ):
        gate = asyncio.Event()

        async def wait_at_the_gate() -> None:
            await gate.wait()

        double.before = wait_at_the_gate
        first = asyncio.create_task(graph.ensure_objects(scope, [new_parent(scope, title="first")]))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(graph.ensure_objects(scope, [new_parent(scope, title="waiting")]))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        double.before = None
        assert await text_hits(graph, scope, "first") == [], "a read does not wait for the write that hangs"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        third = asyncio.create_task(graph.ensure_objects(scope, [new_parent(scope, title="third")]))
        await asyncio.sleep(0.1)
        assert not third.done(), "the abandoned write still has the turn"
        gate.set()
        await third
        assert len(await text_hits(graph, scope, "first third waiting")) == 2


@pytest.mark.parametrize("round_", range(4))
async def test_kill_in_mid_write(round_: int, tmp_path: Path) -> None:
    """No acknowledged node or edge is lost, none is half there, and the directory opens again at once."""
    scope = fresh_scope()
    home = tmp_path / "graph"
    acknowledged: list[list[UUID]] = []
    async with _child(home, scope) as process:
        assert process.stdout is not None
        for _ in range(5 + 3 * round_):
            line = await asyncio.wait_for(process.stdout.readline(), 30)
            acknowledged.append([UUID(word) for word in line.decode().split()])
        process.send_signal(signal.SIGKILL)
        rest = await process.stdout.read()
        acknowledged += [[UUID(word) for word in line.split()] for line in rest.decode().splitlines()]
    started = time.perf_counter()
    async with open_helix_embedded(home, dimension=4) as graph:
        assert time.perf_counter() - started < 10
        hits = await graph.search_objects_text(scope, "acknowledged", Filters(), k=10_000)
        found = {hit.id for hit in hits}
        assert {node for batch in acknowledged for node in batch} <= found
        assert len(found) % 3 == 0, "a batch is there entirely or not at all"
        vectors = await graph.search_objects_vector(scope, direction(4, 0), Filters(), k=10_000)
        assert {hit.id for hit in vectors} == found
        around = await graph.neighbors(scope, [batch[0] for batch in acknowledged], ["about"], direction="in", limit=9)
        for first, *others in acknowledged:
            assert {neighbor.object_id for neighbor in around[first]} == set(others)
        notes = await graph.search_edges(scope, "about", "kept", k=10_000)
        assert len(notes) >= 2 * len(acknowledged)
        await graph.ensure_objects(scope, [new_parent(scope, title="afterwards")])
        assert len(await text_hits(graph, scope, "afterwards")) == 1


async def test_a_directory_is_open_in_one_process(tmp_path: Path) -> None:
    scope = fresh_scope()
    home = tmp_path / "graph"
    async with _child(home, scope) as process:
        with pytest.raises(
            GraphLockedError, match=rf"already open, by process {process.pid}: .*read_only=True.*open_helix\(url="
        ) as raised:
            async with open_helix_embedded(home, dimension=4):
                raise AssertionError("it must not open")
        assert raised.value.owner == process.pid
        process.kill()
        await process.wait()
        async with open_helix_embedded(home, dimension=4) as graph:
            assert await text_hits(graph, scope, "acknowledged") is not None
            with pytest.raises(GraphLockedError, match=f"by process {os.getpid()}"):
                async with open_helix_embedded(home / "." / "", dimension=4):
                    raise AssertionError("it must not open")
            await graph.ensure_objects(scope, [new_parent(scope, title="unharmed")])
    async with open_helix_embedded(home, dimension=4) as graph:
        assert len(await text_hits(graph, scope, "unharmed")) == 1


async def test_a_file_is_no_directory(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_text("something else")
    with pytest.raises(BackendError, match="cannot be used"):
        async with open_helix_embedded(path, dimension=4):
            raise AssertionError("it must not open")
    assert path.read_text() == "something else"


async def test_a_hanging_server_costs_the_deadline() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    scope = fresh_scope()
    async with server, AsyncClient(f"http://127.0.0.1:{port}") as client:
        graph = HelixGraph(client, dimension=8, timeout=0.3)
        started = time.perf_counter()
        with pytest.raises(BackendTimeoutError):
            await graph.neighbors(scope, [uuid4()], (), direction="both", limit=5)
        with pytest.raises(BackendTimeoutError, match="may or may not have happened"):
            await graph.ensure_objects(scope, [new_parent(scope)])
        with pytest.raises(BackendTimeoutError):
            await graph.bootstrap()
        assert not graph.ready
        assert time.perf_counter() - started < 3
        with pytest.raises(BackendTimeoutError):
            async with open_helix(f"http://127.0.0.1:{port}", dimension=8, timeout=0.3):
                raise AssertionError("it must not open")


async def test_no_server_and_no_address() -> None:
    with pytest.raises(BackendError, match="cannot be reached"):
        async with open_helix("http://127.0.0.1:9", dimension=8):
            raise AssertionError("it must not open")
    with pytest.raises(InvalidInputError):
        async with open_helix("localhost", dimension=8):
            raise AssertionError("it must not open")


async def test_after_closing() -> None:
    async with open_helix_embedded(dimension=8) as graph:
        pass
    with pytest.raises(ClosedError):
        await graph.ensure_objects(Scope(), [new_parent(Scope())])
    with pytest.raises(ClosedError):
        await graph.neighbors(Scope(), [uuid4()], (), direction="both", limit=5)


async def test_searches_say_that_their_index_is_missing_or_being_built() -> None:
    scope = fresh_scope()
    async with open_helix_embedded(dimension=8, bootstrap=False) as graph:
        assert not graph.object_search_ready
        with pytest.raises(SearchIndexNotReadyError):
            await graph.search_objects_text(scope, "word", Filters(), k=5)
        async with graph.bulk():
            await graph.ensure_objects(scope, [new_parent(scope, title="word", embedding=direction(8, 3))])
            assert len(await text_hits(graph, scope, "word")) == 1
            assert not graph.ready
            with pytest.raises(SearchIndexNotReadyError):
                await graph.search_objects_vector(scope, direction(8, 0), Filters(), k=5)
        assert graph.ready
        assert len(await graph.search_objects_vector(scope, direction(8, 0), Filters(), k=5)) == 1


async def test_another_dimension_or_tenant_setting_is_refused_until_the_indexes_are_rebuilt(tmp_path: Path) -> None:
    scope = fresh_scope()
    async with open_helix_embedded(tmp_path, dimension=8) as graph:
        await graph.ensure_objects(scope, [new_parent(scope, title="word", embedding=direction(8, 3))])
    for settings in ({"dimension": 4}, {"dimension": 8, "tenants": True}):
        with pytest.raises(SearchIndexNotReadyError, match="rebuild_indexes"):
            async with open_helix_embedded(tmp_path, **settings):  # type: ignore[arg-type]
                raise AssertionError("it must not open")
    async with open_helix_embedded(tmp_path, dimension=4, bootstrap=False) as graph:
        await graph.rebuild_indexes(dimension=4, tenants=True)
        assert (graph.ready, graph.dimension, graph.tenants) == (True, 4, True)
        assert list(await graph.search_objects_vector(scope, direction(4, 0), Filters(), k=5)) == []
        await graph.ensure_objects(scope, [new_parent(scope, title="word", embedding=direction(4, 3))])
        assert len(await text_hits(graph, scope, "word")) == 2
        assert len(await graph.search_objects_vector(scope, direction(4, 0), Filters(), k=5)) == 1


async def test_several_boots_at_once() -> None:
    async with _server() as double:
        clients = [_client(double) for _ in range(4)]
        graphs = [HelixGraph(client, dimension=8) for client in clients]
        await asyncio.gather(*(graph.bootstrap() for graph in graphs))
        await asyncio.gather(*(graph.ensure_edge_text_index(" Refers To ") for graph in graphs))
        assert all(graph.ready for graph in graphs)
        assert list(await graphs[0].search_edges(fresh_scope(), "refers to", "word", k=5)) == []
        for client in clients:
            await client.close()


async def test_a_hub_of_noted_edges_is_removed_and_leaves_what_others_linked_to_it() -> None:
    scope, other = fresh_scope(), fresh_scope()
    async with open_helix_embedded(dimension=8) as graph:
        hub, end = new_parent(scope, title="hub"), new_parent(other, title="end")
        await graph.ensure_objects(scope, [hub])
        await graph.ensure_objects(other, [end])
        edges = [edge_between(scope, hub, uuid4(), note="zebra") for _ in range(1_500)]
        await graph.add_edges(scope, edges)
        await graph.add_edges(other, [edge_between(other, end, hub, note="zebra")])
        await graph.remove_objects(scope, [hub.key])
        assert await text_hits(graph, scope, "hub") == []
        assert list(await graph.search_edges(scope, "about", "zebra", k=5)) == []
        around = await graph.neighbors(scope, [hub.key], (), direction="both", limit=5)
        assert around[hub.key] == []
        theirs = await graph.neighbors(other, [end.key], (), direction="both", limit=5)
        assert [neighbor.object_id for neighbor in theirs[end.key]] == [hub.key]
        await graph.remove_objects(Scope(), [hub.key])
        theirs = await graph.neighbors(other, [end.key], (), direction="both", limit=5)
        assert theirs[end.key] == []
