"""Engine.health: every backend by itself, one failing one hides no other."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest

from brain_async import BackendHealth, Engine, EngineConfig, InvalidInputError, Object
from brain_async.adapters.embed import CachedEmbedder, LocalEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryStore
from tests.integration.engine.world import (
    DIMENSION,
    DualWorld,
    FaultyGraph,
    FaultyLedger,
    FaultyStore,
    WordEmbedder,
    World,
    down,
    hang,
)


class FaultyProbe:
    """A probe around a store that fails on demand."""

    def __init__(self, inner: Any, failure: BaseException) -> None:
        self._inner = inner
        self._failure = failure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def health(self) -> BackendHealth:
        raise self._failure


async def test_all_that_is_attached_is_up_and_says_what_it_is(engine_world: World) -> None:
    engine = engine_world.engine(ledger=engine_world.ledger)
    report = await engine.health()
    assert report.status == "up"
    assert report.ready
    assert sorted(report.backends) == ["graph", "ledger", "store"]
    assert all(backend.up and not backend.problem for backend in report.backends.values())
    assert 0 < max(backend.seconds for backend in report.backends.values()) <= report.seconds < 2
    details = report.backends["store"].details
    assert details["dimension"] == DIMENSION
    if isinstance(engine_world.store, MemoryStore):
        assert details["rows"] == 0
    else:
        assert int(report.backends["store"].version.split(".")[0]) >= 15
        assert details["migration"] == (await engine_world.store.describe()).migration
        assert details["lexical_backend"] == engine_world.store.lexical_backend
        assert details["lexical_state"] == "ready"
        assert isinstance(details["pool_max"], int)
        assert details["pool_max"] >= details["pool_open"] >= 1  # type: ignore[operator]


async def test_what_the_graph_has_still_to_be_told_is_counted(engine_world: World) -> None:
    world = DualWorld(MemoryStore(dimension=DIMENSION))
    session = world.session(config=EngineConfig(graph_writes="eventual"))
    one, two = [await session.put(Object(kind="thing", title=title)) for title in "ab"]
    assert ((await world.engine().health()).pending_objects, (await world.engine().health()).pending_edges) == (0, 0)
    world.faulty_graph.faults = {"ensure_objects": down("graph"), "add_edges": down("graph")}
    await session.put(Object(kind="thing", title="c"))
    await session.link(one.id, two.id, "about")
    report = await world.engine().health()
    assert (report.pending_objects, report.pending_edges) == (1, 1)


async def test_without_an_outbox_nothing_is_counted(engine_world: World) -> None:
    world = DualWorld(engine_world.store)
    world.faulty_store.graph_outbox.faults["count"] = down("outbox")
    report = await world.engine().health()
    assert report.pending_objects is None
    assert report.pending_edges is not None
    assert report.status == "up"


@pytest.mark.parametrize("name", ["store", "graph", "ledger"])
@pytest.mark.parametrize("fault", [down(), RuntimeError("boom"), hang], ids=["error", "bug", "hang"])
async def test_one_that_fails_or_hangs_hides_no_other(engine_world: World, name: str, fault: Any) -> None:
    faulty: dict[str, Any] = {
        "store": FaultyStore(engine_world.store),
        "graph": FaultyGraph(engine_world.graph),
        "ledger": FaultyLedger(engine_world.ledger),
    }
    method = {"store": "get_many", "graph": "neighbors", "ledger": "scan_edges"}[name]
    faulty[name].faults[method] = fault
    began = time.perf_counter()
    report = await engine_world.engine(**faulty).health(timeout=0.3)
    assert time.perf_counter() - began < 5
    assert [other for other, backend in report.backends.items() if not backend.up] == [name]
    assert report.backends[name].problem
    assert report.ready is (name != "store")
    assert report.status == ("down" if name == "store" else "degraded")


async def test_a_probe_that_raises_is_down_with_its_reason(engine_world: World) -> None:
    report = await engine_world.engine(store=FaultyProbe(engine_world.store, down("store"))).health()
    assert report.backends["store"].problem == "store is down"
    assert not report.ready


async def test_what_may_not_degrade_has_to_be_up(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    graph.faults["neighbors"] = down("graph")
    config = EngineConfig(fail_on_graph_error=True)
    assert not (await engine_world.engine(graph=graph, config=config).health()).ready
    assert (await engine_world.engine(graph=None, config=config).health()).ready


async def test_an_embedder_that_cannot_say_is_left_out(engine_world: World) -> None:
    for embedder in (WordEmbedder(), CachedEmbedder(WordEmbedder())):
        assert "embedder" not in (await engine_world.engine(embedder=embedder).health()).backends


async def test_the_local_embedder_names_its_model() -> None:
    async with open_local_embedder() as embedder:
        assert isinstance(embedder, LocalEmbedder)
        report = await Engine(MemoryStore(), embedder=CachedEmbedder(embedder)).health()
    assert report.backends["embedder"].version == embedder.model


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "2"])
async def test_a_timeout_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(InvalidInputError, match="timeout"):
        await Engine(MemoryStore()).health(timeout=timeout)


async def test_a_cancelled_caller_gets_no_report(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    store.faults["get_many"] = hang
    with anyio.move_on_after(0.05) as scope:
        await engine_world.engine(store=store).health(timeout=60)
    assert scope.cancelled_caught
