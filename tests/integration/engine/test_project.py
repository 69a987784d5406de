"""project: the graph filled again from the store and the ledger."""

from __future__ import annotations

import pytest

from brain_async import BackendError, BackendTimeoutError, EngineConfig, GraphWriterRequiredError, Object
from brain_async.adapters.memory import MemoryGraph
from tests.integration.engine.world import FaultyGraph, RecordingObserver, World, hang, ids, put_family, put_titled

pytestmark = pytest.mark.on_helix


async def test_an_empty_graph_is_made_equal_to_store_and_ledger(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    a, b = await put_titled(session, "lemon a", "lemon b")
    parent, _ = await put_family(session, ["a part is no node"])
    await session.link(a.id, b.id, "about", note="renewal")
    await session.soft_delete(parent.id)
    observer = RecordingObserver()
    engine = engine_world.engine(graph=MemoryGraph(), ledger=engine_world.ledger, observer=observer)
    assert await engine.project(session.scope) == (2, 1)
    assert observer.last() == ("project", 3, "none", None)
    again = engine.session(engine_world.namespace)
    assert set(ids(await again.find_objects("lemon"))) == {a.id, b.id}
    assert ids(await again.expand(a.id, ["about"])) == [b.id]
    assert len(await again.find_links("about", "renewal")) == 1
    assert await engine.project(session.scope) == (2, 1), "repeating changes nothing"
    assert len(await again.find_links("about", "renewal")) == 1


async def test_batches_follow_each_other_to_the_end(engine_world: World) -> None:
    session = engine_world.session(graph=None)
    await session.put_many([Object(kind="thing", title=f"lemon {number}") for number in range(1203)])
    seen: list[tuple[int, int]] = []
    engine = engine_world.engine()
    nodes, edges = await engine.project(session.scope, progress=lambda *done: seen.append(done))
    assert (nodes, edges, seen) == (1203, 0, [(500, 0), (1000, 0), (1203, 0)])


async def test_only_the_scopes_own_objects_are_projected(engine_world: World) -> None:
    await put_titled(engine_world.stranger().session(), "foreign")
    assert await engine_world.engine().project(engine_world.scope) == (0, 0)


async def test_a_graph_that_fails_or_hangs_is_an_error_of_this_library(engine_world: World) -> None:
    await put_titled(engine_world.session(), "a")
    graph = FaultyGraph(engine_world.graph)
    engine = engine_world.engine(graph=graph, config=EngineConfig(graph_timeout=0.3))
    for fault, error in ((RuntimeError("driver"), BackendError), (hang, BackendTimeoutError)):
        graph.faults["ensure_objects"] = fault
        with pytest.raises(error):
            await engine.project(engine_world.scope)


async def test_a_graph_that_can_write_is_required(engine_world: World) -> None:
    with pytest.raises(GraphWriterRequiredError):
        await engine_world.engine(graph=None).project(engine_world.scope)
