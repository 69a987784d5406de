"""reconcile and drift: the graph made equal to store and ledger again, beside whatever else goes on."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from datetime import timedelta
from random import Random
from uuid import uuid4

import anyio
import msgspec
import pytest

from brain_async import (
    BackendError,
    Drift,
    EngineConfig,
    GraphWriterRequiredError,
    InvalidInputError,
    Object,
    Reconciler,
    ReconcileReport,
)
from brain_async.model.filters import Filters
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from tests.integration.engine.world import (
    DualWorld,
    Graph,
    RecordingObserver,
    World,
    down,
    hang,
    ids,
    put_titled,
    until,
)

pytestmark = pytest.mark.on_helix

EVENTUAL = EngineConfig(graph_writes="eventual", graph_timeout=0.5)
EQUAL = Drift(compared=True)


@pytest.fixture
def world(engine_world: World) -> DualWorld:
    return DualWorld(engine_world.store, engine_world.graph)


# Without faults


async def test_writes_that_succeed_leave_nothing_to_do(world: DualWorld) -> None:
    session, engine = world.session(), world.engine()
    a, b, c = await put_titled(session, "a", "b", "c")
    await session.put(Object(kind="thing", title="a again", id=a.id))
    await session.put(Object(kind="section", content="a part", parent_id=a.id))
    await session.link(a.id, b.id, "about", note="one")
    await session.link(a.id, b.id, "about", note="two")
    await session.link_many([Edge(from_id=b.key, to_id=c.key, relation_type="about")])
    await session.unlink(a.id, b.id, "about")
    await session.soft_delete(c.id)
    assert await engine.drift(world.scope) == EQUAL
    world.faulty_graph.calls.clear()
    report = await engine.reconcile(world.scope)
    assert (report.ok, report.nodes, report.edges, report.before, report.after) == (True, 0, 0, Drift(), Drift())
    assert world.faulty_graph.calls == [], "nothing is asked of the graph when nothing is pending"
    report = await engine.reconcile(world.scope, full=True)
    assert (report.nodes, report.edges, report.before, report.after) == (0, 0, EQUAL, EQUAL)


async def test_links_from_before_a_deletion_that_the_ledger_missed_do_not_come_back(world: DualWorld) -> None:
    session, engine = world.session(), world.engine()
    a, b, c = await put_titled(session, "a", "b", "c")
    await session.link(a.id, b.id, "about", note="before")
    await session.link(c.id, a.id, "about", note="before")
    world.faulty_ledger.faults["remove_object_edges"] = down("ledger")
    with pytest.raises(BackendError):
        await session.soft_delete(a.id)
    # Put again by a process that tells neither graph nor ledger, before anybody has told them of the deletion.
    await world.session(graph=None, ledger=None).put(Object(kind="thing", title="a", id=a.id))
    world.faulty_ledger.faults.clear()
    await session.link(a.id, c.id, "about", note="after")
    report = await engine.reconcile(world.scope)
    assert report.ok
    assert await engine.drift(world.scope) == EQUAL
    assert [edge.key for edge in await world.faulty_ledger.scan_edges(world.scope, after=None, limit=10)] == [
        EdgeKey(a.key, c.key, "about")
    ]


async def test_an_object_that_becomes_a_part_loses_its_node_and_gets_it_back_with_its_edges(world: DualWorld) -> None:
    session, engine = world.session(), world.engine()
    a, b = await put_titled(session, "lemon a", "lemon b")
    await session.link(a.id, b.id, "about")
    await session.put(Object(kind="thing", title="lemon b", id=b.id, parent_id=a.id))
    assert ids(await session.find_objects("lemon")) == [a.id]
    assert await engine.drift(world.scope) == EQUAL
    await session.put(Object(kind="thing", title="lemon b", id=b.id))
    assert set(ids(await session.find_objects("lemon"))) == {a.id, b.id}
    assert await engine.drift(world.scope) == EQUAL
    assert ids(await session.expand(a.id, ["about"])) == [b.id]


async def test_a_graph_attached_later_is_filled_by_what_is_pending(world: DualWorld) -> None:
    session = world.session(graph=None)
    await session.put_many([Object(kind="thing", title=f"lemon {number}") for number in range(1203)])
    seen: list[tuple[int, int]] = []
    engine = world.engine()
    assert (await engine.drift(world.scope)).pending_objects == 1203
    report = await engine.reconcile(world.scope, progress=lambda *done: seen.append(done))
    assert (report.nodes, report.before.pending_objects, report.after) == (1203, 1203, Drift())
    assert seen == [(500, 0), (1000, 0), (1203, 0)]
    assert await engine.drift(world.scope) == EQUAL


async def test_project_settles_what_it_wrote(world: DualWorld) -> None:
    plain = world.session(graph=None)
    a, b, gone = await put_titled(plain, "a", "b", "gone")
    await world.faulty_ledger.record_edges(
        world.scope, [Edge(from_id=a.key, to_id=end.key, relation_type="about") for end in (b, gone)]
    )
    await plain.soft_delete(gone.id)
    engine = world.engine()
    assert await engine.project(world.scope) == (2, 1)
    assert await engine.drift(world.scope) == EQUAL


# Eventual writes


async def test_eventual_writes_succeed_without_the_graph_and_say_so(world: DualWorld) -> None:
    observer = RecordingObserver()
    session = world.session(config=EVENTUAL, observer=observer)
    a, b, gone = await put_titled(session, "lemon a", "lemon b", "lemon gone")
    for method in ("ensure_objects", "remove_objects", "add_edges", "remove_edges"):
        world.faulty_graph.faults[method] = down("graph")
    c = await session.put(Object(kind="thing", title="lemon c"))
    assert (observer.ended[-1].degraded, observer.ended[-1].error) == (("graph",), None)
    result = await session.put_many([Object(kind="thing", title="lemon d"), Object(kind="part", parent_id=a.id)])
    assert result.ok
    assert result.waiting == (result.objects[0].id,)
    await session.link(a.id, b.id, "about")
    linked = await session.link_many([Edge(from_id=b.key, to_id=c.key, relation_type="about")])
    assert (linked.ok, linked.waiting) == (True, (EdgeKey(b.key, c.key, "about"),))
    await session.unlink(a.id, b.id, "about")
    await session.soft_delete(gone.id)
    assert [end.degraded for end in observer.ended[-5:]] == [("graph",)] * 5
    assert gone.id not in ids(await session.find_objects("lemon")), "the store has the last word"
    drift = await world.engine().drift(world.scope)
    assert (drift.pending_objects, drift.pending_edges) == (3, 2)
    assert (drift.missing_nodes, drift.orphan_nodes, drift.missing_edges) == (2, 1, 1)
    world.heal()
    report = await world.engine().reconcile(world.scope)
    assert (report.ok, report.after) == (True, Drift())
    assert await world.engine().drift(world.scope) == EQUAL
    assert ids(await session.expand(b.id, ["about"])) == [c.id]


async def test_without_an_outbox_eventual_writes_are_strict(world: DualWorld) -> None:
    class Bare:
        def __init__(self, inner: object) -> None:
            for name in ("get", "get_many", "hydrate", "list_children", "scan", "put_objects", "soft_delete"):
                setattr(self, name, getattr(inner, name))

    session = world.session(store=Bare(world.store), config=EVENTUAL)
    world.faulty_graph.faults["ensure_objects"] = down("graph")
    with pytest.raises(BackendError):
        await session.put(Object(kind="thing", title="a"))
    world.heal()
    engine = world.engine(store=Bare(world.store))
    assert (await engine.reconcile(world.scope)).nodes == 0, "there is nothing to drain"
    report = await engine.reconcile(world.scope, full=True)
    assert (report.nodes, report.before.missing_nodes, report.after.differences) == (1, 1, 0)


# Full


async def tampered(world: DualWorld) -> Drift:
    """Make the graph wrong in every way behind the engine's back; returns what must be found."""
    session, graph, scope = world.session(), world.graph, world.scope
    a, b, c, d = await put_titled(session, "lemon a", "lemon b", "lemon c", "lemon d")
    for source, target in ((a, b), (b, c), (c, d), (d, a)):
        await session.link(source.id, target.id, "about", note="kept")
    stale = msgspec.structs.replace(a, title="sour", updated_at=a.updated_at and a.updated_at - timedelta(days=1))
    stranger = Object(id=uuid4(), kind="thing", title="stranger", namespace_id=world.namespace, updated_at=a.updated_at)
    await graph.ensure_objects(scope, [stale, stranger])
    await graph.remove_objects(scope, [b.key])  # and with it two edges
    await graph.add_edges(scope, [Edge(from_id=a.key, to_id=c.key, relation_type="extra")])
    await graph.add_edges(scope, [Edge(from_id=c.key, to_id=d.key, relation_type="about", meta=EdgeMeta(note="x"))])
    return Drift(
        compared=True, missing_nodes=1, stale_nodes=1, orphan_nodes=1, missing_edges=2, stale_edges=1, orphan_edges=1
    )


async def test_a_tampered_graph_is_found_out_and_repaired(world: DualWorld) -> None:
    wrong, engine = await tampered(world), world.engine()
    assert await engine.drift(world.scope) == wrong
    assert (await engine.reconcile(world.scope)).after == Drift(), "the outbox knows nothing of it"
    assert await engine.drift(world.scope) == wrong
    report = await engine.reconcile(world.scope, full=True)
    assert (report.ok, report.before, report.after) == (True, wrong, EQUAL)
    session = world.session()
    found = await session.find_objects("lemon sour stranger")
    assert sorted(obj.title for obj in found.objects) == ["lemon a", "lemon b", "lemon c", "lemon d"]
    assert await world.graph.search_objects_text(world.scope, "sour", Filters(), k=5) == []
    assert len(await session.find_links("about", "kept")) == 4
    again = await engine.reconcile(world.scope, full=True)
    assert (again.nodes, again.edges, again.before) == (0, 0, EQUAL), "repeating changes nothing"


async def test_differences_are_found_over_many_pages(world: DualWorld) -> None:
    session = world.session()
    stored = (await session.put_many([Object(kind="thing", title=f"n {n}") for n in range(1300)])).objects
    hub = stored[0]
    await session.link_many([Edge(from_id=hub.key, to_id=obj.key, relation_type="about") for obj in stored])
    victims = Random(1).sample(stored[1:], 700)
    await world.graph.remove_objects(world.scope, [obj.key for obj in victims])
    engine = world.engine()
    report = await engine.reconcile(world.scope, full=True)
    assert (report.before.missing_nodes, report.before.missing_edges) == (700, 700)
    assert (report.nodes, report.edges, report.after) == (700, 700, EQUAL)


async def test_a_graph_that_cannot_be_scanned_is_told_everything_again(world: DualWorld) -> None:
    class Unscannable:
        def __init__(self, inner: Graph) -> None:
            for name in ("neighbors", "ensure_objects", "remove_objects", "add_edges", "remove_edges"):
                setattr(self, name, getattr(inner, name))

    wrong = await tampered(world)
    report = await world.engine(graph=Unscannable(world.graph)).reconcile(world.scope, full=True)
    assert (report.nodes, report.edges, report.before, report.after) == (4, 4, Drift(), Drift())
    left = await world.engine().drift(world.scope)
    assert left == Drift(compared=True, orphan_nodes=wrong.orphan_nodes, orphan_edges=wrong.orphan_edges)


async def test_other_namespaces_are_left_alone(world: DualWorld) -> None:
    other = DualWorld(world.store, world.graph)
    (theirs,) = await put_titled(other.session(), "theirs")
    await tampered(world)
    before = await world.graph.scan_nodes(other.scope, after=None, limit=10)
    report = await world.engine().reconcile(world.scope, full=True)
    assert report.after == EQUAL
    assert await world.graph.scan_nodes(other.scope, after=None, limit=10) == before
    assert [node.object_id for node in before] == [theirs.id]
    await world.graph.remove_objects(other.scope, [theirs.key])
    assert (await world.engine().drift(world.scope)) == EQUAL
    assert (await world.engine().drift(other.scope)).missing_nodes == 1


# Failures


async def test_a_graph_that_is_down_costs_one_page_and_keeps_the_entries(world: DualWorld) -> None:
    await world.session(graph=None).put_many([Object(kind="thing", title=f"n {n}") for n in range(1200)])
    world.faulty_graph.faults["ensure_objects"] = down("graph")
    observer = RecordingObserver()
    engine = world.engine(observer=observer)
    report = await engine.reconcile(world.scope)
    assert (report.ok, report.nodes, report.after.pending_objects) == (False, 0, 1200)
    assert {failure.code for failure in report.failures} == {"backend_error"}
    assert len(report.failures) == 100
    assert len(world.faulty_graph.calls) < 50
    assert observer.ended[-1].degraded == ("graph",)
    world.faulty_graph.faults["ensure_objects"] = hang
    with anyio.fail_after(10):
        report = await world.engine(config=EngineConfig(graph_timeout=0.3)).reconcile(world.scope)
    assert {failure.code for failure in report.failures} == {"backend_timeout"}
    world.heal()
    assert (await engine.reconcile(world.scope)).after == Drift()


async def test_one_poisoned_entry_keeps_no_other_back(world: DualWorld) -> None:
    bad, *good = await put_titled(world.session(graph=None), *(f"n {n}" for n in range(20)))

    class Picky:
        def __init__(self, inner: Graph) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        async def ensure_objects(self, scope: Scope, objects: list[Object]) -> None:
            if bad.id in {obj.id for obj in objects}:
                raise RuntimeError("this one never works")
            await self._inner.ensure_objects(scope, objects)

    report = await world.engine(graph=Picky(world.graph)).reconcile(world.scope)
    assert [failure.object_id for failure in report.failures] == [bad.id]
    assert (report.nodes, report.after.pending_objects) == (len(good), 1)


async def test_interrupted_in_the_middle_it_goes_on_where_it_was(world: DualWorld) -> None:
    await world.session(graph=None).put_many([Object(kind="thing", title=f"n {n}") for n in range(1200)])
    engine = world.engine()
    with anyio.CancelScope() as cancelling:
        await engine.reconcile(world.scope, progress=lambda *_: cancelling.cancel())
    left = await engine.drift(world.scope)
    assert 0 < left.pending_objects < 1200
    await engine.reconcile(world.scope)
    assert await engine.drift(world.scope) == EQUAL


async def test_a_graph_that_can_write_is_required(world: DualWorld) -> None:
    with pytest.raises(GraphWriterRequiredError):
        await world.engine(graph=None).reconcile(world.scope)
    assert not (await world.engine(graph=None).drift(world.scope)).compared


# Beside others


async def test_two_at_once(world: DualWorld) -> None:
    stored = (
        await world.session(graph=None).put_many([Object(kind="thing", title=f"n {n}") for n in range(600)])
    ).objects
    edges = [Edge(from_id=stored[0].key, to_id=obj.key, relation_type="about") for obj in stored[1:]]
    await world.faulty_ledger.record_edges(world.scope, edges)
    reports: list[ReconcileReport] = []

    async def run(full: bool) -> None:
        reports.append(await world.engine().reconcile(world.scope, full=full))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for full in (False, False, True):
                group.start_soon(run, full)
    assert all(report.ok for report in reports)
    await world.engine().reconcile(world.scope)
    assert await world.engine().drift(world.scope) == EQUAL


@pytest.mark.parametrize("seed", range(3))
async def test_beside_live_writes_of_the_same_objects(world: DualWorld, seed: int) -> None:
    """Graph writes are delayed at random, so that they overtake each other; the newest row wins all the same."""
    random = Random(seed)

    async def dawdle() -> None:
        await anyio.sleep(random.choice((0, 0, 0.001, 0.004)))

    for method in ("ensure_objects", "remove_objects", "add_edges", "remove_edges"):
        world.faulty_graph.faults[method] = dawdle
    stored = await put_titled(world.session(), *(f"thing {n}" for n in range(6)))
    done = anyio.Event()

    async def write(number: int) -> None:
        session, own = world.session(config=EVENTUAL), Random(f"{seed} {number}")
        for step in range(12):
            a, b = own.sample(stored, 2)
            match own.randrange(6):
                case 0:
                    await _tolerant(session.soft_delete(a.id))
                case 1:
                    await _tolerant(session.unlink(a.id, b.id, "about"))
                case 2:
                    await _tolerant(session.link(a.id, b.id, "about", note=f"{number} {step}"))
                case _:
                    await session.put(Object(kind="thing", title=f"{number} {step}", id=a.id))

    async def keep_reconciling() -> None:
        turn = 0
        while not done.is_set():
            await world.engine().reconcile(world.scope, full=turn % 3 == 2)
            turn += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(keep_reconciling)
            async with anyio.create_task_group() as writers:
                for number in range(4):
                    writers.start_soon(write, number)
            done.set()
    report = await world.engine().reconcile(world.scope)
    drift = await world.engine().drift(world.scope)
    assert (report.ok, drift) == (True, EQUAL)
    live = {obj.id: obj.title for obj in await world.store.get_many(world.scope, [obj.key for obj in stored])}
    for object_id, title in live.items():
        assert await _titles(world, title) == {object_id}, "the node has the title of the row"


async def _tolerant(call: Awaitable[object]) -> None:
    """An object that another writer has just deleted is no failure here."""
    with suppress(LookupError):
        await call


async def _titles(world: DualWorld, title: str) -> set[object]:
    hits = await world.graph.search_objects_text(world.scope, title, Filters(titles=(title,)), k=50)
    return {hit.id for hit in hits}


# The background task


async def test_the_reconciler_tells_the_graph_by_itself(world: DualWorld) -> None:
    session = world.session(config=EVENTUAL)
    world.faulty_graph.faults["ensure_objects"] = down("graph")
    engine = world.engine()
    with anyio.fail_after(20):
        async with Reconciler(engine, scope=world.scope, interval=0.01, max_backoff=0.05) as reconciler:
            await session.put(Object(kind="thing", title="lemon"))
            await until(lambda: reconciler.last is not None and not reconciler.last.ok)
            world.heal()
            await until(lambda: reconciler.last is not None and reconciler.last.ok)
            assert await engine.drift(world.scope) == EQUAL


async def test_the_reconciler_outlives_failing_backends_and_is_cancelled_in_a_hanging_one(world: DualWorld) -> None:
    await put_titled(world.session(graph=None), "lemon")
    world.faulty_store.graph_outbox.faults["count"] = down("store")
    with anyio.fail_after(10):
        async with Reconciler(world.engine(), scope=world.scope, interval=0.01, max_backoff=0.02) as reconciler:
            await anyio.sleep(0.1)
            assert reconciler.last is None
            world.faulty_store.graph_outbox.faults.clear()
            world.faulty_graph.faults["ensure_objects"] = hang
            await until(lambda: "ensure_objects" in world.faulty_graph.calls)
    world.heal()
    assert (await world.engine().reconcile(world.scope)).nodes == 1


async def test_a_reconciler_runs_once_and_wants_sensible_pauses(world: DualWorld) -> None:
    for interval, most in ((0, 1), (-1, 1), (2, 1)):
        with pytest.raises(InvalidInputError):
            Reconciler(world.engine(), interval=interval, max_backoff=most)
    reconciler = Reconciler(world.engine(), scope=world.scope)
    with pytest.raises(ZeroDivisionError):
        async with reconciler:
            raise ZeroDivisionError
    with pytest.raises(InvalidInputError):
        async with reconciler:
            pass
