"""An engine whose links and graph are one ledger: durable, deleted with their objects, and never written twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest

from brain_async import Engine, Object
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryStore
from brain_async.cortex import CortexEdgeLedger, CortexGraph, Ledger
from brain_async.errors import NamespaceMismatchError, ObjectSearchUnavailableError
from brain_async.model.relation import Edge
from brain_async.model.scope import Scope

_NAMESPACE = UUID(int=7)


@asynccontextmanager
async def _opened(path: Path, objects: MemoryStore) -> AsyncIterator[tuple[Engine, Ledger]]:
    async with open_lmdb(path) as store:
        links = CortexEdgeLedger(store)
        yield Engine(objects, graph=CortexGraph(links.ledger), ledger=links), links.ledger


async def _titles(engine: Engine, start: UUID, hops: int = 1) -> list[str]:
    page = await engine.session(_NAMESPACE).expand(start, ["works_on", "references"], max_hops=hops)
    return sorted(hit.title for hit in page.objects)


async def test_links_outlive_the_process(tmp_path: Path) -> None:
    objects = MemoryStore()
    async with _opened(tmp_path, objects) as (engine, ledger):
        session = engine.session(_NAMESPACE)
        ada, machine, paper = [
            (await session.put(Object(kind="thing", title=title))).key for title in ("Ada", "Machine", "Paper")
        ]
        await session.link(ada, machine, "works_on", note="since the first sketch")
        await session.link(machine, paper, "references", note="a sketch")
        assert (await ledger.head()).seq == 3, "a label and two edges: telling the graph writes nothing more"
    async with _opened(tmp_path, objects) as (engine, ledger):
        session = engine.session(_NAMESPACE)
        assert await _titles(engine, ada) == ["Machine"]
        assert await _titles(engine, ada, hops=2) == ["Machine", "Paper"]
        (hit,) = await session.find_links("works_on", "sketch")
        assert (hit.source.title, hit.target.title) == ("Ada", "Machine")
        assert await engine.session(UUID(int=8)).find_links("works_on", "sketch") == []
        await session.unlink(ada, machine, "works_on")
        assert await _titles(engine, ada) == []
        await session.link(ada, machine, "works_on")
        await session.soft_delete(machine)
        assert await _titles(engine, ada, hops=2) == []
        assert (await ledger.get_edge(machine, "references", paper)).tombstoned
        seq = (await ledger.head()).seq
        assert (await engine.reconcile(full=True)).ok
        assert (await ledger.head()).seq == seq, "there is nothing to repair"
        await ledger.verify()


async def test_what_the_graph_cannot_do(tmp_path: Path) -> None:
    async with _opened(tmp_path, MemoryStore()) as (engine, ledger):
        assert engine.has_edge_search
        assert engine.has_graph_writer
        assert not engine.has_object_search
        with pytest.raises(ObjectSearchUnavailableError):
            await engine.session(_NAMESPACE).find_objects("anything", kinds=["thing"])
        graph, edge = CortexGraph(ledger), Edge(from_id=UUID(int=1), to_id=UUID(int=2), relation_type="references")
        await graph.add_edges(Scope(UUID(int=8)), [edge])
        with pytest.raises(NamespaceMismatchError):
            await graph.add_edges(Scope(_NAMESPACE), [edge])
