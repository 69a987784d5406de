"""soft_delete: the graph first, so that a failure leaves the row readable."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import (
    BackendError,
    BackendTimeoutError,
    EngineConfig,
    GraphRemoveError,
    Object,
    ObjectIdRequiredError,
    ObjectNotFoundError,
)
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyStore,
    RecordingObserver,
    World,
    down,
    hang,
    ids,
    put_family,
    put_titled,
)

pytestmark = pytest.mark.on_helix


async def test_it_is_gone_from_everywhere(engine_world: World) -> None:
    session = engine_world.session(ledger=engine_world.ledger)
    gone, kept = await put_titled(session, "lemon gone", "lemon kept")
    await session.link(kept.id, gone.id, "about", note="renewal")
    await session.soft_delete(gone.id)
    with pytest.raises(ObjectNotFoundError):
        await session.read(gone.id)
    assert ids(await session.find_objects("lemon")) == [kept.id]
    assert ids(await session.expand(kept.id, ["about"])) == []
    assert await session.find_links("about", "renewal") == []
    assert await engine_world.ledger.scan_edges(session.scope, after=None, limit=9) == []


async def test_parts_of_a_deleted_parent_stay_readable_by_id_only(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["lemon"])
    await session.soft_delete(parent.id)
    assert (await session.read(parts[0].id)).content == "lemon"
    assert ids(await session.search("lemon")) == []
    await session.put(Object(id=parent.id, kind="document", title="back"))
    assert ids(await session.search("lemon")) == [parent.id]


async def test_deleting_a_part_leaves_the_graph_alone(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    parent, parts = await put_family(session, ["a", "b"])
    graph.calls.clear()
    await session.soft_delete(parts[0].id)
    assert graph.calls == []
    assert ids(await session.list_children(parent.id)) == [parts[1].id]


async def test_missing_foreign_and_deleted_are_not_found(engine_world: World) -> None:
    session = engine_world.session()
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    (gone,) = await put_titled(session, "gone")
    await session.soft_delete(gone.id)
    for object_id in (uuid4(), foreign.id, gone.id):
        with pytest.raises(ObjectNotFoundError):
            await session.soft_delete(object_id)
    for missing in (None, NIL_UUID):
        with pytest.raises(ObjectIdRequiredError):
            await session.soft_delete(missing)


@pytest.mark.parametrize("cause", [down("graph"), RuntimeError("driver")])
async def test_a_failing_graph_leaves_the_row_readable(engine_world: World, cause: Exception) -> None:
    graph, observer = FaultyGraph(engine_world.graph), RecordingObserver()
    session = engine_world.session(graph=graph, observer=observer)
    (obj,) = await put_titled(session, "lemon")
    graph.faults["remove_objects"] = cause
    with pytest.raises(GraphRemoveError) as caught:
        await session.soft_delete(obj.id)
    root = caught.value.__cause__
    assert cause in (root, None if root is None else root.__cause__)
    assert observer.last() == ("soft_delete", 0, "none", GraphRemoveError)
    assert (await session.read(obj.id)).title == "lemon"
    graph.faults.clear()
    await session.soft_delete(obj.id)


async def test_a_hanging_graph_is_bounded(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(graph_timeout=0.3))
    (obj,) = await put_titled(session, "lemon")
    graph.faults["remove_objects"] = hang
    with pytest.raises(GraphRemoveError) as caught:
        await session.soft_delete(obj.id)
    assert isinstance(caught.value.__cause__, BackendTimeoutError)
    assert (await session.read(obj.id)).title == "lemon"


async def test_a_store_that_fails_after_the_node_is_gone_is_healed_by_putting_again(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    (obj,) = await put_titled(session, "lemon")
    store.faults["soft_delete"] = down("store")
    with pytest.raises(BackendError, match="store is down"):
        await session.soft_delete(obj.id)
    assert (await session.read(obj.id)).title == "lemon"
    assert ids(await session.find_objects("lemon")) == []
    await session.put(Object(id=obj.id, kind="thing", title="lemon"))
    assert ids(await session.find_objects("lemon")) == [obj.id]
    store.faults.clear()
    await session.soft_delete(obj.id)
