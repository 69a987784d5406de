"""The dual write broken at every point: what row, node, edge and outbox are then, and that reconcile makes them one again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import msgspec
import pytest

from brain_async import (
    BackendError,
    BackendTimeoutError,
    Drift,
    Edge,
    EngineConfig,
    GraphEnsureError,
    GraphRemoveError,
    Object,
    Session,
)
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryGraph, MemoryKeyValueStore
from brain_async.cortex import CortexEdgeLedger
from brain_async.model.filters import Filters
from brain_async.model.relation import EdgeKey
from helixgraph import open_helix_embedded
from tests.integration.engine.world import DIMENSION, DualWorld, FaultyGraph, Graph, Store, down, hang, put_titled

EQUAL = Drift(compared=True)


class Parts(msgspec.Struct, frozen=True):
    """What a world is made of; without a name of its own, the graph is in memory, and the ledger in the store's backend."""

    store: str
    graph: str = ""
    ledger: str = ""


WORLDS = [
    Parts("memory"),
    Parts("memory", graph="helix"),
    Parts("portable"),
    Parts("memory", ledger="memory"),
    Parts("memory", ledger="lmdb"),
]


@pytest.fixture(scope="module", params=WORLDS, ids=lambda parts: "-".join(filter(None, msgspec.structs.astuple(parts))))
def parts(request: pytest.FixtureRequest) -> Parts:
    chosen: Parts = request.param
    return chosen


@pytest.fixture(scope="module")
def backend(parts: Parts) -> str:
    return parts.store


@pytest.fixture(scope="module")
async def graph(parts: Parts) -> AsyncIterator[Graph]:
    if parts.graph == "helix":
        async with open_helix_embedded(dimension=DIMENSION) as opened:
            yield opened
    else:
        yield MemoryGraph()


@pytest.fixture(scope="module")
async def ledger(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CortexEdgeLedger | None]:
    """Cortex over the key-value store that is named."""
    match parts.ledger:
        case "memory":
            yield CortexEdgeLedger(MemoryKeyValueStore())
        case "lmdb":
            async with open_lmdb(tmp_path_factory.mktemp("ledger")) as opened:
                yield CortexEdgeLedger(opened)
        case _:
            yield None


@pytest.fixture
async def world(store: Store, graph: Graph, ledger: CortexEdgeLedger | None) -> AsyncIterator[DualWorld]:
    yield DualWorld(store, graph, ledger)
    if ledger is not None:
        await ledger.ledger.verify()


class State(msgspec.Struct, frozen=True):
    """What is there of the object ``a``, its edge to ``b``, and how many outbox entries there are.

    ``row`` and ``node`` are titles, ``recorded`` and ``edge`` notes; "" is absent.
    """

    row: str
    node: str
    recorded: str
    edge: str
    objects: int
    edges: int


class Bench:
    """A world with two linked objects, ``a`` and ``b``, all of it in the graph."""

    def __init__(self, world: DualWorld, session: Session, a: Object, b: Object) -> None:
        self.world = world
        self.session = session
        self.a = a
        self.b = b

    @classmethod
    async def made(cls, world: DualWorld) -> Bench:
        session = world.session()
        a, b = await put_titled(session, "old", "b")
        await session.link(a.id, b.id, "about", note="old")
        bench = cls(world, session, a, b)
        assert await bench.state() == State("old", "old", "old", "old", 0, 0)
        return bench

    async def state(self) -> State:
        world, key = self.world, self.a.key
        row = await world.store.get(world.scope, key)
        nodes = {hit.id: hit.title for hit in await self._hits("old") + await self._hits("new")}
        recorded = list(await self._ledger().scan_edges(world.scope, after=None, limit=9))
        held = await world.graph.scan_edges(world.scope, after=None, limit=9)
        return State(
            row="" if row is None else row.title,
            node=nodes.get(key, ""),
            recorded=next((edge.meta.note for edge in recorded if edge.from_id == key), ""),
            edge=next((edge.meta.note for edge in held if edge.from_id == key), ""),
            objects=await world.store.graph_outbox.count(world.scope),
            edges=await self._ledger().graph_outbox.count(world.scope),
        )

    async def _hits(self, word: str) -> list[Any]:
        return list(await self.world.graph.search_objects_text(self.world.scope, word, Filters(), k=9))

    def _ledger(self) -> Any:
        return self.world.faulty_ledger._inner

    # The verbs

    async def put(self) -> None:
        await self.session.put(Object(id=self.a.id, kind="thing", title="new"))

    async def soft_delete(self) -> None:
        await self.session.soft_delete(self.a.id)

    async def link(self) -> None:
        await self.session.link(self.a.id, self.b.id, "about", note="new")

    async def unlink(self) -> None:
        await self.session.unlink(self.a.id, self.b.id, "about")


class Case(msgspec.Struct, frozen=True):
    """A verb that breaks at one point: what it raises, what is there then, and what reconcile makes of it.

    ``part`` is the graph, store or ledger whose ``method`` fails, ``when`` before or after it did its work, or hangs.
    """

    verb: str
    part: str
    method: str
    when: str
    error: type[BackendError] | None
    after: State
    healed: State


def _kept(row: str, note: str) -> State:
    return State(row, row, note, note, 0, 0)


OLD, GONE = _kept("old", "old"), _kept("", "")
NEW_ROW, NEW_EDGE, NO_EDGE = _kept("new", "old"), _kept("old", "new"), _kept("old", "")
# An edge that is still recorded to a deleted object is not shown, and is removed when the graph is told of the deletion.
HALF_GONE = State("", "", "old", "", 1, 0)

# State: row, node, recorded edge, edge in the graph, outbox entries of objects and of edges.
CASES = [
    # put: the row is stored, whatever the graph does
    Case("put", "store", "put_objects", "before", BackendError, OLD, OLD),
    Case("put", "store", "put_objects", "after", BackendError, State("new", "old", "old", "old", 1, 0), NEW_ROW),
    Case("put", "outbox", "pending_for", "before", None, State("new", "new", "old", "old", 1, 0), NEW_ROW),
    Case("put", "graph", "ensure_objects", "before", GraphEnsureError, State("new", "old", "old", "old", 1, 0), NEW_ROW),
    Case("put", "graph", "ensure_objects", "after", GraphEnsureError, State("new", "new", "old", "old", 1, 0), NEW_ROW),
    Case("put", "graph", "ensure_objects", "hangs", GraphEnsureError, State("new", "old", "old", "old", 1, 0), NEW_ROW),
    Case("put", "graph", "ensure_objects", "late", GraphEnsureError, State("new", "new", "old", "old", 1, 0), NEW_ROW),
    Case("put", "outbox", "settle", "before", None, State("new", "new", "old", "old", 1, 0), NEW_ROW),
    Case("put", "outbox", "settle", "after", None, NEW_ROW, NEW_ROW),
    # soft_delete: a failing graph leaves the row; a failing store gets node and edges back
    Case("soft_delete", "outbox", "reopen", "before", BackendError, OLD, OLD),
    Case("soft_delete", "graph", "remove_objects", "before", GraphRemoveError, State("old", "old", "old", "old", 1, 0), OLD),
    Case("soft_delete", "graph", "remove_objects", "after", GraphRemoveError, State("old", "", "old", "", 1, 0), OLD),
    Case("soft_delete", "graph", "remove_objects", "hangs", GraphRemoveError, State("old", "old", "old", "old", 1, 0), OLD),
    Case("soft_delete", "graph", "remove_objects", "late", GraphRemoveError, State("old", "", "old", "", 1, 0), OLD),
    Case("soft_delete", "store", "soft_delete", "before", BackendError, State("old", "", "old", "", 1, 0), OLD),
    Case("soft_delete", "store", "soft_delete", "after", BackendError, HALF_GONE, GONE),
    Case("soft_delete", "ledger", "remove_object_edges", "before", BackendError, HALF_GONE, GONE),
    Case("soft_delete", "ledger", "remove_object_edges", "after", BackendError, State("", "", "", "", 1, 1), GONE),
    Case("soft_delete", "outbox", "settle", "before", None, State("", "", "", "", 1, 0), GONE),
    Case("soft_delete", "edge outbox", "settle", "before", None, State("", "", "", "", 0, 1), GONE),
    # link: recorded first
    Case("link", "ledger", "record_edges", "before", BackendError, OLD, OLD),
    Case("link", "ledger", "record_edges", "after", BackendError, State("old", "old", "new", "old", 0, 1), NEW_EDGE),
    Case("link", "edge outbox", "pending_for", "before", None, State("old", "old", "new", "new", 0, 1), NEW_EDGE),
    Case("link", "graph", "add_edges", "before", BackendError, State("old", "old", "new", "old", 0, 1), NEW_EDGE),
    Case("link", "graph", "add_edges", "after", BackendError, State("old", "old", "new", "new", 0, 1), NEW_EDGE),
    Case("link", "graph", "add_edges", "hangs", BackendTimeoutError, State("old", "old", "new", "old", 0, 1), NEW_EDGE),
    Case("link", "graph", "add_edges", "late", BackendTimeoutError, State("old", "old", "new", "new", 0, 1), NEW_EDGE),
    Case("link", "edge outbox", "settle", "before", None, State("old", "old", "new", "new", 0, 1), NEW_EDGE),
    # unlink: recorded as removed first
    Case("unlink", "ledger", "remove_edges", "before", BackendError, OLD, OLD),
    Case("unlink", "ledger", "remove_edges", "after", BackendError, State("old", "old", "", "old", 0, 1), NO_EDGE),
    Case("unlink", "graph", "remove_edges", "before", BackendError, State("old", "old", "", "old", 0, 1), NO_EDGE),
    Case("unlink", "graph", "remove_edges", "after", BackendError, State("old", "old", "", "", 0, 1), NO_EDGE),
    Case("unlink", "graph", "remove_edges", "hangs", BackendTimeoutError, State("old", "old", "", "old", 0, 1), NO_EDGE),
    Case("unlink", "graph", "remove_edges", "late", BackendTimeoutError, State("old", "old", "", "", 0, 1), NO_EDGE),
    Case("unlink", "edge outbox", "settle", "before", None, State("old", "old", "", "", 0, 1), NO_EDGE),
]  # fmt: skip


def _case_id(case: Case) -> str:
    return f"{case.verb}-{case.part}-{case.method}-{case.when}".replace(" ", "_")


def _break(bench: Bench, case: Case, **settings: Any) -> BackendError | None:
    """Make the method fail in calls under ``settings``; returns the error that it raises, None where it hangs."""
    world = bench.world
    if case.when in ("hangs", "late"):
        settings["graph_timeout"] = 0.2 if isinstance(world.graph, MemoryGraph) else 0.3
    bench.session = world.session(config=EngineConfig(**settings))
    part = {
        "graph": world.faulty_graph,
        "store": world.faulty_store,
        "ledger": world.faulty_ledger,
        "outbox": world.faulty_store.graph_outbox,
        "edge outbox": world.faulty_ledger.graph_outbox,
    }[case.part]
    cause = None if case.when in ("hangs", "late") else down(case.part)
    (part.faults if case.when in ("before", "hangs") else part.late)[case.method] = cause or hang
    return cause


def _heal(world: DualWorld) -> None:
    world.heal()
    for part in (world.faulty_store, world.faulty_ledger):
        part.graph_outbox.faults.clear()
        part.graph_outbox.late.clear()


@pytest.mark.parametrize("case", CASES, ids=_case_id)
async def test_every_failure_point(world: DualWorld, case: Case) -> None:
    bench = await Bench.made(world)
    verb: Callable[[], Awaitable[None]] = getattr(bench, case.verb)
    cause = _break(bench, case)
    if case.error is None:
        await verb()
    else:
        with anyio.fail_after(5), pytest.raises(case.error) as caught:
            await verb()
        assert type(caught.value) is case.error
        assert cause in (None, caught.value, caught.value.__cause__), "the cause is kept"
    _heal(world)
    assert await bench.state() == case.after
    await _no_dead_finds(bench)
    report = await world.engine().reconcile(world.scope)
    assert (report.ok, report.after) == (True, Drift())
    assert await bench.state() == case.healed
    assert await world.engine().drift(world.scope) == EQUAL


async def _no_dead_finds(bench: Bench) -> None:
    """find_objects never returns what cannot be loaded."""
    for word in ("old", "new"):
        for obj in (await bench.session.find_objects(word)).objects:
            assert (await bench.session.read(obj.id)).title == obj.title


@pytest.mark.parametrize("case", [c for c in CASES if c.error is not None], ids=_case_id)
async def test_repeating_the_call_heals_what_it_can(world: DualWorld, case: Case) -> None:
    """The second identical call succeeds and leaves nothing to do, but where the row is gone already."""
    bench = await Bench.made(world)
    verb: Callable[[], Awaitable[None]] = getattr(bench, case.verb)
    _break(bench, case)
    with pytest.raises(case.error or BackendError):
        await verb()
    _heal(world)
    if case.after.row == "":
        with pytest.raises(LookupError):
            await verb()
        await bench.put()
        await world.engine().reconcile(world.scope)
    else:
        await verb()
    assert await world.engine().drift(world.scope) == EQUAL


@pytest.mark.parametrize("case", [c for c in CASES if c.part == "graph"], ids=_case_id)
async def test_eventual_writes_take_the_graphs_failure_for_a_delay(world: DualWorld, case: Case) -> None:
    bench = await Bench.made(world)
    _break(bench, case, graph_writes="eventual")
    with anyio.fail_after(5):
        await getattr(bench, case.verb)()
    _heal(world)
    state = await bench.state()
    assert state.objects + state.edges > 0
    assert (await world.engine().reconcile(world.scope)).ok
    healed = GONE if case.verb == "soft_delete" else case.healed
    assert await bench.state() == healed
    assert await world.engine().drift(world.scope) == EQUAL


async def test_a_deleted_object_put_again_after_half_a_deletion_has_no_edges(world: DualWorld) -> None:
    bench = await Bench.made(world)
    world.faulty_ledger.faults["remove_object_edges"] = down("ledger")
    with pytest.raises(BackendError):
        await bench.soft_delete()
    _heal(world)
    await world.engine().reconcile(world.scope)
    await bench.put()
    assert await bench.state() == _kept("new", "")
    assert await world.engine().drift(world.scope) == EQUAL


async def test_an_object_that_became_a_part_keeps_its_recorded_edges(world: DualWorld) -> None:
    """They are not shown as long as it is one."""
    bench = await Bench.made(world)
    await bench.session.put(Object(id=bench.a.id, kind="thing", title="new", parent_id=bench.b.key))
    assert await bench.state() == State("new", "", "old", "", 0, 0)
    await bench.put()
    assert await bench.state() == NEW_ROW
    assert await world.engine().drift(world.scope) == EQUAL


async def test_a_write_that_the_graph_applies_late_does_not_undo_a_newer_one(world: DualWorld) -> None:
    """The first put's node write is held up until the second put is done: it must not win."""
    bench = await Bench.made(world)
    held, go = anyio.Event(), anyio.Event()

    async def hold_the_first() -> None:
        if not held.is_set():
            held.set()
            await go.wait()

    world.faulty_graph.faults["ensure_objects"] = hold_the_first
    patient = world.session()
    async with anyio.create_task_group() as group:
        group.start_soon(patient.put, Object(id=bench.a.id, kind="thing", title="old old"))
        await held.wait()
        await bench.put()
        go.set()
    assert await bench.state() == NEW_ROW
    assert await world.engine().drift(world.scope) == EQUAL


async def test_deliveries_that_go_on_overtaking_each_other_come_to_an_end(world: DualWorld) -> None:
    bench = await Bench.made(world)
    key, outbox = EdgeKey(bench.a.key, bench.b.key, "about"), bench.world.faulty_ledger.graph_outbox

    async def another_delivery() -> None:
        await outbox.reopen(world.scope, [key])

    world.faulty_graph.faults["remove_edges"] = another_delivery
    with anyio.fail_after(10):
        await bench.soft_delete()
    assert world.faulty_graph.calls.count("remove_edges") <= 3
    _heal(world)
    assert await bench.state() == State("", "", "", "", 0, 1), "what could not be settled is left to reconcile"
    assert (await world.engine().reconcile(world.scope)).ok
    assert await bench.state() == GONE


async def test_a_cancelled_write_is_told_of_later(world: DualWorld) -> None:
    bench = await Bench.made(world)
    entered = anyio.Event()

    async def enter_and_hang() -> None:
        entered.set()
        await hang()

    world.faulty_graph.faults["ensure_objects"] = enter_and_hang
    async with anyio.create_task_group() as group:
        group.start_soon(world.session().put, Object(id=bench.a.id, kind="thing", title="new"))
        await entered.wait()
        group.cancel_scope.cancel()
    _heal(world)
    assert await bench.state() == State("new", "old", "old", "old", 1, 0)
    assert (await world.engine().reconcile(world.scope)).nodes == 1
    assert await bench.state() == NEW_ROW


async def test_a_hub_is_deleted_with_all_its_edges(world: DualWorld) -> None:
    session = world.session()
    hub, *leaves = (await session.put_many([Object(kind="thing", title=f"n {n}") for n in range(91)])).objects
    edges = [Edge(from_id=hub.key, to_id=leaf.key, relation_type=f"r{n}") for n in range(8) for leaf in leaves]
    assert (await session.link_many(edges)).ok
    await session.soft_delete(hub.id)
    assert await world.engine().drift(world.scope) == EQUAL


def test_the_table_breaks_every_write_of_the_graph() -> None:
    broken = {case.method for case in CASES if case.part == "graph"}
    assert broken == {"ensure_objects", "remove_objects", "add_edges", "remove_edges"}
    assert all(hasattr(FaultyGraph, method) for method in broken)
