"""Any sequence of writes, failures and reconciles against a model: nothing acknowledged is lost, and the graph catches up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from brain_async import BackendError, Drift, EngineConfig, GraphRemoveError, Object
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryGraph, MemoryKeyValueStore, MemoryStore
from brain_async.cortex import CortexEdgeLedger
from brain_async.model.relation import EdgeKey
from helixgraph import open_helix_embedded
from tests.integration.engine.world import DIMENSION, DualWorld, Graph, down

KEYS = [UUID(int=number) for number in range(1, 4)]
GRAPH_METHODS = ("ensure_objects", "remove_objects", "add_edges", "remove_edges")

keys = st.sampled_from(KEYS)
texts = st.sampled_from(["lemon", "melon", "salt"])
troubles = st.sampled_from(["", "before", "after"])


class DualWrite(RuleBasedStateMachine):
    """Titles of live objects and notes of edges, as every acknowledged call left them."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.closing = AsyncExitStack()
        graph = self.run(self.closing.enter_async_context(self.graph()))
        self.ledger = self.run(self.closing.enter_async_context(self.kept()))
        self.world = DualWorld(MemoryStore(dimension=DIMENSION), graph, self.ledger)
        self.titles: dict[UUID, str] = {}
        self.notes: dict[EdgeKey, str] = {}
        self.eventual = False

    def teardown(self) -> None:
        report = self.run(self.world.engine().reconcile())
        assert report.ok
        assert self.run(self.world.engine().drift()) == Drift(compared=True)
        if self.ledger is not None:
            self.run(self.ledger.ledger.verify())
        self.run(self.closing.aclose())
        self.loop.close()

    def graph(self) -> AbstractAsyncContextManager[Graph]:
        """An empty graph."""
        return nullcontext(MemoryGraph())

    def kept(self) -> AbstractAsyncContextManager[CortexEdgeLedger | None]:
        """An empty ledger; None for that of the store's backend."""
        return nullcontext()

    def run(self, call: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(call)  # type: ignore[arg-type]

    def session(self) -> Any:
        return self.world.session(config=EngineConfig(graph_writes="eventual" if self.eventual else "strict"))

    def told(self, trouble: str, call: Callable[[], Awaitable[Any]]) -> BackendError | None:
        """The graph's failure, which an eventual write never raises; ``trouble`` is when the graph fails in this call."""
        graph = self.world.faulty_graph
        for method in GRAPH_METHODS if trouble else ():
            (graph.faults if trouble == "before" else graph.late)[method] = down("graph")
        try:
            self.run(call())
        except BackendError as error:
            assert not self.eventual
            return error
        finally:
            self.world.heal()
        return None

    @initialize(eventual=st.booleans())
    def begin(self, eventual: bool) -> None:
        """Everything there, and linked in a circle."""
        self.eventual = eventual
        for key in KEYS:
            self.put(key, "lemon", "")
        for source, other in zip(KEYS, [*KEYS[1:], KEYS[0]], strict=True):
            self.link(source, other, "salt", "")

    @rule(key=keys, title=texts, trouble=troubles)
    def put(self, key: UUID, title: str, trouble: str) -> None:
        self.told(trouble, lambda: self.session().put(Object(id=key, kind="thing", title=title)))
        self.titles[key] = title

    @rule(key=keys, trouble=troubles)
    def soft_delete(self, key: UUID, trouble: str) -> None:
        if key in self.titles:
            error = self.told(trouble, lambda: self.session().soft_delete(key))
            if error is None:
                del self.titles[key]
                self.notes = {edge: n for edge, n in self.notes.items() if key not in (edge.from_id, edge.to_id)}
            else:
                assert isinstance(error, GraphRemoveError)

    @rule(source=keys, other=keys, note=texts, trouble=troubles)
    def link(self, source: UUID, other: UUID, note: str, trouble: str) -> None:
        if self.ledger is not None and source == other:
            return  # that ledger joins no object to itself
        if source in self.titles and other in self.titles:
            self.told(trouble, lambda: self.session().link(source, other, "about", note=note))
            self.notes[EdgeKey(source, other, "about")] = note

    @rule(source=keys, other=keys, trouble=troubles)
    def unlink(self, source: UUID, other: UUID, trouble: str) -> None:
        self.told(trouble, lambda: self.session().unlink(source, other, "about"))
        self.notes.pop(EdgeKey(source, other, "about"), None)

    @rule(full=st.booleans())
    def reconcile(self, full: bool) -> None:
        report = self.run(self.world.engine().reconcile(full=full))
        assert report.ok
        assert self.run(self.world.engine().drift()) == Drift(compared=True)

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        rows = self.run(self.world.store.scan(self.world.scope, first_class=True, after=None, limit=99))
        assert {row.key: row.title for row in rows} == self.titles
        recorded = self.run(self.world.faulty_ledger.scan_edges(self.world.scope, after=None, limit=99))
        assert {edge.key: edge.meta.note for edge in recorded} == self.notes

    @invariant()
    def whatever_differs_is_pending(self) -> None:
        drift = self.run(self.world.engine().drift())
        assert drift.pending or not drift.differences


DualWrite.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestDualWrite = DualWrite.TestCase


class DualWriteOverHelix(DualWrite):
    """The same over HelixDB, where a step takes twenty times as long."""

    def graph(self) -> AbstractAsyncContextManager[Graph]:
        return open_helix_embedded(dimension=DIMENSION)


DualWriteOverHelix.TestCase.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
TestDualWriteOverHelix = DualWriteOverHelix.TestCase


class DualWriteWithCortex(DualWrite):
    """The same with the tamper-evident ledger, which is whole at the end."""

    def kept(self) -> AbstractAsyncContextManager[CortexEdgeLedger | None]:
        return nullcontext(CortexEdgeLedger(MemoryKeyValueStore()))


DualWriteWithCortex.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestDualWriteWithCortex = DualWriteWithCortex.TestCase


class DualWriteWithCortexInFiles(DualWrite):
    """The same with its ledger in LMDB."""

    def kept(self) -> AbstractAsyncContextManager[CortexEdgeLedger | None]:
        return _in_files()


@asynccontextmanager
async def _in_files() -> AsyncIterator[CortexEdgeLedger | None]:
    with TemporaryDirectory() as home:
        async with open_lmdb(home) as opened:
            yield CortexEdgeLedger(opened)


DualWriteWithCortexInFiles.TestCase.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
TestDualWriteWithCortexInFiles = DualWriteWithCortexInFiles.TestCase
