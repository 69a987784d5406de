"""An engine whose Helix server stops, hangs and comes back, and many writers at once: what is lost is said, and healed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Literal
from uuid import uuid4

import anyio
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
    Reconciler,
    Session,
)
from brain_async.model.relation import EdgeKey
from helixgraph import HelixGraph, open_helix, open_helix_embedded
from tests.faults.helix_server import HelixServer, helix_server
from tests.integration.engine.world import (
    DIMENSION,
    DualWorld,
    Store,
    WordEmbedder,
    ids,
    outcomes,
    put_family,
    put_titled,
    until,
)

EQUAL = Drift(compared=True)
SHORT = EngineConfig(channel_timeout=0.2, graph_timeout=0.2)
EVENTUAL = EngineConfig(channel_timeout=0.2, graph_timeout=0.2, graph_writes="eventual")

Outage = Literal["down", "hanging"]


@pytest.fixture(scope="module", params=["memory", "portable"])
def backend(request: pytest.FixtureRequest) -> str:
    """The stores to put beside the graph."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[HelixServer]:
    async with helix_server() as running:
        yield running


@pytest.fixture(scope="module")
async def graph(server: HelixServer) -> AsyncIterator[HelixGraph]:
    async with open_helix(server.url, dimension=DIMENSION, timeout=0.5) as opened:
        yield opened


@pytest.fixture
async def world(store: Store, server: HelixServer, graph: HelixGraph) -> AsyncIterator[DualWorld]:
    """A world over the server, which is up before and after."""
    yield DualWorld(store, graph)
    await server.up()


@pytest.mark.parametrize("outage", ["down", "hanging"])
async def test_search_goes_on_with_the_store_and_says_what_was_lost(
    world: DualWorld, server: HelixServer, outage: Outage
) -> None:
    session = world.session(config=SHORT, embedder=WordEmbedder())
    parent, parts = await put_family(session, ["lemon pie"], title="lemon")
    (linked,) = await put_titled(session, "melon")
    await session.link(parent.id, linked.id, "about", note="lemon")
    assert outcomes(await session.search("lemon"))["graph_text"] == "ok"
    await getattr(server, outage)()

    with anyio.fail_after(5):
        page = await session.search("lemon")
        exact = await session.find_exact("lemon")
        expanded = await session.expand(parent.id, ["contains", "about"])
    status = "error" if outage == "down" else "timeout"
    assert (ids(page), ids(exact)) == ([parent.id], [parent.id])
    assert page.degraded == ("graph_text", "graph_vector")
    assert {outcomes(page)[name] for name in page.degraded} == {status}
    assert {outcomes(page)[name] for name in ("lexical", "vector")} == {"ok"}
    assert all(outcome.detail for outcome in page.outcomes if outcome.channel in page.degraded)
    assert (exact.degraded, outcomes(exact)["graph_text"]) == (("graph_text",), status)
    assert (ids(expanded), expanded.degraded, outcomes(expanded)["graph"]) == ([parts[0].id], ("graph",), status)
    assert (await session.read(parent.id)).title == "lemon"

    # What the graph alone could answer, and a search that is told to insist on it
    strict = world.session(config=EngineConfig(channel_timeout=0.2, fail_on_graph_error=True))
    for call in (
        session.find_objects("lemon"),
        session.find_links("about", "lemon"),
        session.expand(parent.id, ["about"]),
        session.expand_many([parent.key], ["about"]),
        strict.search("lemon"),
    ):
        with anyio.fail_after(5), pytest.raises(BackendError) as caught:
            await call
        assert type(caught.value) is (BackendError if outage == "down" else BackendTimeoutError)

    await server.up()
    page = await session.search("lemon")
    assert (page.degraded, outcomes(page)["graph_text"]) == ((), "ok")
    assert parent.id in ids(await session.find_objects("lemon"))
    assert ids(await session.expand(parent.id, ["about"])) == [linked.id]
    assert len(await session.find_links("about", "lemon")) == 1


@pytest.mark.parametrize("outage", ["down", "hanging"])
async def test_strict_writes_are_stored_and_raise(world: DualWorld, server: HelixServer, outage: Outage) -> None:
    session = world.session(config=SHORT)
    a, b, kept = await put_titled(session, "lemon a", "lemon b", "lemon kept")
    await session.link(a.id, kept.id, "about", note="old")
    await getattr(server, outage)()
    cause = BackendError if outage == "down" else BackendTimeoutError
    new = uuid4()

    async def failing(call: Awaitable[object], error: type[BackendError]) -> None:
        with anyio.fail_after(5), pytest.raises(error) as caught:
            await call
        assert type(caught.value) is error
        assert error is cause or type(caught.value.__cause__) is cause

    await failing(session.put(Object(id=new, kind="thing", title="lemon new")), GraphEnsureError)
    await failing(session.put(Object(id=a.id, kind="thing", title="lemon a again")), GraphEnsureError)
    await failing(session.link(a.id, b.id, "about", note="new"), cause)
    await failing(session.unlink(a.id, kept.id, "about"), cause)
    await failing(session.soft_delete(kept.id), GraphRemoveError)
    assert [(await session.read(key)).title for key in (new, a.id, kept.id)] == [
        "lemon new",
        "lemon a again",
        "lemon kept",
    ]
    with anyio.fail_after(5):
        report = await world.engine(config=SHORT).reconcile(world.scope)
    assert not report.ok
    assert (report.after.pending_objects, report.after.pending_edges) == (3, 2)

    await server.up()
    report = await world.engine().reconcile(world.scope)
    assert (report.ok, report.after) == (True, Drift())
    assert await world.engine().drift(world.scope) == EQUAL
    assert set(ids(await session.find_objects("lemon"))) == {a.id, b.id, kept.id, new}
    assert ids(await session.find_objects("again")) == [a.id]
    assert ids(await session.expand(a.id, ["about"])) == [b.id]


@pytest.mark.parametrize("outage", ["down", "hanging"])
async def test_eventual_writes_wait_for_the_server(world: DualWorld, server: HelixServer, outage: Outage) -> None:
    session, engine = world.session(config=EVENTUAL), world.engine(config=EVENTUAL)
    a, b, gone = await put_titled(session, "lemon a", "lemon b", "lemon gone")
    await getattr(server, outage)()
    with anyio.fail_after(20):
        c = await session.put(Object(kind="thing", title="lemon c"))
        many = await session.put_many([Object(kind="thing", title=f"lemon {n}") for n in range(3)])
        await session.link(a.id, b.id, "about", note="lemon")
        linked = await session.link_many([Edge(from_id=b.key, to_id=c.key, relation_type="about")])
        await session.soft_delete(gone.id)
    assert (many.ok, many.waiting) == (True, tuple(obj.id for obj in many.objects))
    assert (linked.ok, linked.waiting) == (True, (EdgeKey(b.key, c.key, "about"),))
    with anyio.fail_after(20):
        async with Reconciler(engine, scope=world.scope, interval=0.01, max_backoff=0.1) as reconciler:
            await until(lambda: reconciler.last is not None and not reconciler.last.ok)
            await server.up()
            await until(lambda: reconciler.last is not None and reconciler.last.ok)
    assert await engine.drift(world.scope) == EQUAL
    assert set(ids(await session.find_objects("lemon"))) == {a.id, b.id, c.id, *(obj.id for obj in many.objects)}
    assert ids(await session.expand(a.id, ["about"], max_hops=2)) == [b.id, c.id]
    assert len(await session.find_links("about", "lemon")) == 1


async def test_a_large_load_interrupted_by_an_outage_loses_nothing(world: DualWorld, server: HelixServer) -> None:
    """The vector index is left for the end of such a load; where an outage prevents that, the next write asks for it."""
    objects = [Object(kind="thing", title=f"lemon {n}") for n in range(2000)]
    async with open_helix(server.url, dimension=DIMENSION) as graph, anyio.create_task_group() as group:
        engine = world.engine(graph=graph, config=EngineConfig(graph_writes="eventual"), embedder=WordEmbedder())
        session = engine.session(world.namespace)
        with anyio.fail_after(60):
            result = await session.put_many(objects, progress=lambda *_: group.start_soon(server.down))
        assert result.ok
        assert 0 < len(result.waiting) < len(objects)
        await server.up()
        assert (await engine.reconcile(world.scope)).ok
        assert await engine.drift(world.scope) == EQUAL
        with anyio.fail_after(60):
            while not await graph.check_indexes():  # noqa: ASYNC110
                await anyio.sleep(0.1)
        page = await session.find_objects("lemon 7", filters={"title": "lemon 7"})
        assert (len(page.objects), outcomes(page)) == (1, {"graph_text": "ok", "graph_vector": "ok"})


async def test_a_write_that_the_server_does_long_after_it_was_given_up_is_found_by_a_full_reconcile(
    world: DualWorld, server: HelixServer
) -> None:
    """Nobody can call it back, and the newer write that it undoes has been settled: the outbox knows nothing of it."""
    session = world.session(config=SHORT)
    (obj,) = await put_titled(session, "first")
    held, go, done = anyio.Event(), anyio.Event(), anyio.Event()

    async def hold_the_first() -> None:
        if not held.is_set():
            held.set()
            await go.wait()
            done.set()

    server.app.before = hold_the_first
    try:
        with anyio.fail_after(5), pytest.raises(GraphEnsureError):
            await session.put(Object(id=obj.id, kind="thing", title="second"))
        await world.session().put(Object(id=obj.id, kind="thing", title="third"))
        engine = world.engine()
        assert await engine.drift(world.scope) == EQUAL
        go.set()
        await done.wait()
        with anyio.fail_after(30):
            while (await engine.drift(world.scope)).is_zero:  # noqa: ASYNC110
                await anyio.sleep(0.01)
    finally:
        server.app.before = None
    assert await engine.drift(world.scope) == Drift(compared=True, stale_nodes=1)
    assert (await session.read(obj.id)).title == "third"
    report = await engine.reconcile(world.scope, full=True)
    assert (report.ok, report.after) == (True, EQUAL)
    assert ids(await session.find_objects("third")) == [obj.id]
    assert ids(await session.find_objects("second")) == []


# Many writers at once


async def test_a_storm_of_puts_through_one_engine(store: Store) -> None:
    async with open_helix_embedded(dimension=DIMENSION) as graph:
        world = DualWorld(store, graph)
        await _storm(world, [world.session(embedder=WordEmbedder())])


async def test_a_storm_of_puts_through_engines_that_do_not_take_turns(store: Store, server: HelixServer) -> None:
    """Each has a client of its own, as each process has, so that their writes conflict in the server."""
    await server.up()
    async with AsyncExitStack() as stack:
        graphs = [await stack.enter_async_context(open_helix(server.url, dimension=DIMENSION)) for _ in range(5)]
        world = DualWorld(store, graphs[0])
        await _storm(world, [world.session(graph=graph, embedder=WordEmbedder()) for graph in graphs])


async def _storm(world: DualWorld, sessions: list[Session]) -> None:
    same = await put_titled(sessions[0], *(f"start {n}" for n in range(5)))
    calls: list[Callable[[], Awaitable[Any]]] = []
    for n in range(50):
        session = sessions[n % len(sessions)]
        fresh = Object(id=uuid4(), kind="thing", title=f"fresh {n}")
        again = Object(id=same[n // 10].id, kind="thing", title=f"again {n}")
        calls.append(lambda session=session, obj=fresh: session.put(obj))  # type: ignore[misc]
        calls.append(lambda session=session, obj=again: session.put(obj))  # type: ignore[misc]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(call)
    # Puts that go on overtaking each other leave what they cannot settle to the outbox.
    assert (await world.engine().reconcile(world.scope)).ok
    assert await world.engine().drift(world.scope) == EQUAL, "every node is of its row's version"
    rows = await world.store.scan(world.scope, first_class=True, after=None, limit=100)
    assert len(rows) == 55
    reader = world.session(embedder=WordEmbedder())
    for row in rows:
        page = await reader.find_objects(row.title, filters={"title": row.title})
        assert ids(page) == [row.key]
    assert outcomes(page) == {"graph_text": "ok", "graph_vector": "ok"}
    assert len((await reader.find_objects("start fresh again", limit=50)).objects) == 50
    assert (await reader.find_objects("start", filters={"title": "start 0"})).objects == ()
