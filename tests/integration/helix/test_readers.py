"""Readers of a directory that another process writes: what they see, and that the writer does not notice."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from helixdb import AsyncClient, Disk

from brain_async import Engine
from brain_async.adapters.memory import MemoryStore
from brain_async.errors import (
    DimensionMismatchError,
    GraphLockedError,
    GraphMissingError,
    GraphWriterRequiredError,
    InvalidInputError,
    ObjectSearchUnavailableError,
)
from brain_async.model.filters import Filters
from brain_async.model.requests import FindObjectsRequest
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphBulkLoader, GraphReader, GraphScanner, GraphWriter
from brain_async.testing.graph_subjects import edge_between, ensure_nodes
from brain_async.testing.subjects import direction, fresh_scope, new_parent
from helixgraph import HelixGraph, HelixGraphReader, open_helix_embedded

_ROOT = Path(__file__).resolve().parents[3]
_WRITER = _ROOT / "tests" / "faults" / "helix_writer.py"


class _Writer:
    """Another process that ensures three nodes after the other, of which each batch is linked to its first."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.acknowledged: list[list[UUID]] = []

    async def write(self, batches: int) -> None:
        """Until so many more batches are acknowledged."""
        assert self.process.stdout is not None
        for _ in range(batches):
            line = await asyncio.wait_for(self.process.stdout.readline(), 30)
            self.acknowledged.append([UUID(word) for word in line.decode().split()])
            assert len(self.acknowledged[-1]) == 3, "the writer is gone"


@asynccontextmanager
async def _writing(home: Path, scope: Scope) -> AsyncIterator[_Writer]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_WRITER), str(home), str(scope.namespace_id),
        stdout=asyncio.subprocess.PIPE, cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"open\n"
        yield _Writer(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _found(graph: HelixGraphReader, scope: Scope, batches: list[list[UUID]]) -> None:
    """Every batch is there in whole, whichever way one asks."""
    nodes = {node for batch in batches for node in batch}
    assert nodes <= {node.object_id for node in await graph.scan_nodes(scope, after=None, limit=10_000)}
    assert nodes <= {hit.id for hit in await graph.search_objects_text(scope, "acknowledged", Filters(), k=10_000)}
    assert len(await graph.search_objects_vector(scope, direction(4, 0), Filters(), k=5)) == 5
    around = await graph.neighbors(scope, [batch[0] for batch in batches], (), direction="in", limit=9)
    assert all({end.object_id for end in around[first]} == set(others) for first, *others in batches)
    assert len(await graph.search_edges(scope, "about", "kept", k=10_000)) >= 2 * len(batches)
    assert len(await graph.scan_edges(scope, after=None, limit=10_000)) >= 2 * len(batches)


async def test_readers_beside_a_writer_in_another_process(tmp_path: Path) -> None:
    scope, home = fresh_scope(), tmp_path / "graph"
    async with _writing(home, scope) as writer:
        await writer.write(3)
        for _ in range(3):
            before = list(writer.acknowledged)
            async with open_helix_embedded(home, dimension=4, read_only=True) as reader:
                assert reader.ready
                await _found(reader, scope, before)
                await writer.write(2)
                await _found(reader, scope, before)
            await writer.write(2)
        with pytest.raises(GraphLockedError, match="read_only=True") as raised:
            async with open_helix_embedded(home, dimension=4):
                raise AssertionError("it must not open")
        assert raised.value.owner == writer.process.pid
        async with open_helix_embedded(home, dimension=4, read_only=True) as reader:
            writer.process.kill()
            await writer.process.wait()
            # A reader keeps the directory from nobody.
            async with open_helix_embedded(home, dimension=4) as graph:
                await _found(graph, scope, writer.acknowledged)
                await _found(reader, scope, before)
    async with open_helix_embedded(home, dimension=4, read_only=True) as reader:
        await _found(reader, scope, writer.acknowledged)


async def test_a_reader_has_no_writes(tmp_path: Path) -> None:
    scope = fresh_scope()
    async with open_helix_embedded(tmp_path, dimension=8) as graph:
        first, second = await ensure_nodes(graph, scope, 2)
        await graph.add_edges(scope, [edge_between(scope, first, second)])
    async with open_helix_embedded(tmp_path, dimension=8, read_only=True) as reader:
        assert isinstance(reader, GraphReader)
        assert isinstance(reader, GraphScanner)
        assert not isinstance(reader, GraphWriter | GraphBulkLoader)
        engine = Engine(MemoryStore(), graph=reader)
        with pytest.raises(GraphWriterRequiredError):
            await engine.link(scope, first.id, second.id, "about")
    async with await AsyncClient.embedded_reader(Disk(root=str(tmp_path), database="graph")) as client:
        with pytest.raises(GraphWriterRequiredError, match="reading only"):
            await HelixGraph(client, dimension=8).ensure_objects(scope, [first])
    async with open_helix_embedded(tmp_path, dimension=8) as graph:
        assert len(await graph.scan_nodes(scope, after=None, limit=10)) == 2


async def test_where_there_is_no_graph_to_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("something else")
    (tmp_path / "empty").mkdir()
    for place in (file, tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(GraphMissingError, match="no graph in") as raised:
            async with open_helix_embedded(place, dimension=8, read_only=True):
                raise AssertionError("it must not open")
        assert raised.value.directory == str(place)
    assert list((tmp_path / "empty").iterdir()) == []
    assert not (tmp_path / "missing").exists()
    with pytest.raises(InvalidInputError, match="path"):
        async with open_helix_embedded(None, dimension=8, read_only=True):  # type: ignore[call-overload]
            raise AssertionError("it must not open")


async def test_a_reader_asks_for_the_indexes_and_makes_none(tmp_path: Path) -> None:
    async with open_helix_embedded(tmp_path, dimension=8, bootstrap=False):
        pass
    async with open_helix_embedded(tmp_path, dimension=8, read_only=True) as reader:
        assert not reader.object_search_ready
        assert not await reader.check_indexes()
        with pytest.raises(ObjectSearchUnavailableError):
            await Engine(MemoryStore(), graph=reader).find_objects(fresh_scope(), FindObjectsRequest(query="word"))
    async with open_helix_embedded(tmp_path, dimension=8, tenants=True) as graph:
        assert await graph.check_indexes()
        await graph.ensure_objects(Scope(), [new_parent(fresh_scope(), embedding=direction(8, 3))])
    for settings, error in (
        ({"dimension": 8}, InvalidInputError),
        ({"dimension": 4, "tenants": True}, DimensionMismatchError),
    ):
        with pytest.raises(error):
            async with open_helix_embedded(tmp_path, read_only=True, **settings):  # type: ignore[call-overload]
                raise AssertionError("it must not open")
    async with open_helix_embedded(tmp_path, dimension=8, tenants=True, read_only=True) as reader:
        assert reader.ready
