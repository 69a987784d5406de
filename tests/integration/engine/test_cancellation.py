"""Cancellation: before any work nothing happens, in the middle of it everything stops and the store stays usable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

import anyio
import pytest

from brain_async import Object, Session
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyLedger,
    FaultyStore,
    RecordingObserver,
    WordEmbedder,
    World,
    ids,
    put_family,
    put_titled,
)

VERBS: dict[str, Callable[[Session], Awaitable[object]]] = {
    "search": lambda s: s.search("x"),
    "find_exact": lambda s: s.find_exact("x"),
    "find_objects": lambda s: s.find_objects("x"),
    "find_links": lambda s: s.find_links("x", "x"),
    "continue": lambda s: s.continue_(uuid4()),
    "expand": lambda s: s.expand(uuid4()),
    "expand_many": lambda s: s.expand_many([uuid4()]),
    "read": lambda s: s.read(uuid4()),
    "list_children": lambda s: s.list_children(uuid4()),
    "put": lambda s: s.put(Object(kind="thing", title="x")),
    "put_many": lambda s: s.put_many([Object(kind="thing", title="x")]),
    "soft_delete": lambda s: s.soft_delete(uuid4()),
    "link": lambda s: s.link(uuid4(), uuid4(), "x"),
    "unlink": lambda s: s.unlink(uuid4(), uuid4(), "x"),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_an_already_cancelled_call_does_no_work(engine_world: World, verb: str) -> None:
    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    ledger, embedder, observer = FaultyLedger(engine_world.ledger), WordEmbedder(), RecordingObserver()
    session = engine_world.session(store=store, graph=graph, ledger=ledger, embedder=embedder, observer=observer)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await VERBS[verb](session)
    assert scope.cancelled_caught
    assert store.calls == graph.calls == ledger.calls == embedder.texts == observer.started == []


async def test_a_cancelled_search_stops_every_channel_and_tells_the_observer(engine_world: World) -> None:
    store, graph, observer = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph), RecordingObserver()
    running = {name: anyio.Event() for name in ("search_lexical", "search_objects_text", "embed")}
    stopped: list[str] = []

    def waiting(name: str) -> Callable[..., Awaitable[None]]:
        async def wait(*_: object) -> None:
            running[name].set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.append(name)

        return wait

    store.faults["search_lexical"] = waiting("search_lexical")
    graph.faults["search_objects_text"] = waiting("search_objects_text")
    session = engine_world.session(store=store, graph=graph, embedder=WordEmbedder(waiting("embed")), observer=observer)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(session.search, "lemon")
            for event in running.values():
                await event.wait()
            group.cancel_scope.cancel()
    assert sorted(stopped) == sorted(running)
    operation, items, _, error = observer.last()
    assert (operation, items) == ("search", 0)
    assert error is anyio.get_cancelled_exc_class()
    assert session.context.active is None


@pytest.mark.on_helix
async def test_searches_cancelled_anywhere_leave_the_store_whole(engine_world: World) -> None:
    session = engine_world.session(embedder=WordEmbedder())
    parent, _ = await put_family(session, [f"lemon {number}" for number in range(30)])
    for steps in range(60):
        async with anyio.create_task_group() as group:
            group.start_soon(session.search, "lemon")
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    with anyio.fail_after(20):
        for _ in range(30):
            assert ids(await session.search("lemon")) == [parent.id]


@pytest.mark.on_helix
async def test_writes_cancelled_anywhere_happened_entirely_or_not_at_all(engine_world: World) -> None:
    session = engine_world.session()
    (anchor,) = await put_titled(session, "anchor")
    written = []
    for steps in range(40):
        obj = Object(id=uuid4(), kind="thing", title="lemon", content="whole")
        async with anyio.create_task_group() as group:
            group.start_soon(session.put, obj)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        written.append(obj)
    stored = {obj.id for obj in await engine_world.store.get_many(session.scope, [obj.key for obj in written])}
    for obj in written:
        if obj.id in stored:
            read = await session.read(obj.id)
            assert (read.title, read.content) == ("lemon", "whole")
        assert (await session.put(obj)).id == obj.id, "putting it again always works"
    await session.link(anchor.id, written[0].id, "about")
    assert ids(await session.expand(anchor.id, ["about"])) == [written[0].id]


async def test_a_cancelled_expand_stops_both_sides(engine_world: World) -> None:
    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    session = engine_world.session(store=store, graph=graph)
    parent, _ = await put_family(session, ["a"])
    running, stopped = [anyio.Event(), anyio.Event()], []

    def waiting(index: int) -> Callable[[], Awaitable[None]]:
        async def wait() -> None:
            running[index].set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.append(index)

        return wait

    store.faults["list_children"] = waiting(0)
    graph.faults["neighbors"] = waiting(1)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(session.expand, parent.id, ["contains", "about"])
            for event in running:
                await event.wait()
            group.cancel_scope.cancel()
    assert sorted(stopped) == [0, 1]
