"""Plug-ins and backends that fail or hang cost their deadline at most, and the answer says what was lost."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest

from brain_async import (
    BackendError,
    BackendTimeoutError,
    EmbedderError,
    EngineConfig,
    Object,
    observe,
)
from brain_async.ports.host import OperationStart
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyStore,
    RecordingObserver,
    WordEmbedder,
    World,
    down,
    hang,
    ids,
    outcomes,
    put_family,
    put_titled,
)

SHORT = EngineConfig(channel_timeout=0.3, embed_timeout=0.3, rerank_timeout=0.3)


def breaking(fault: BaseException | Callable[[], Awaitable[object]]) -> WordEmbedder:
    """An embedder that raises or hangs."""

    async def suffer(texts: Sequence[str]) -> None:
        if isinstance(fault, BaseException):
            raise fault
        await fault()

    return WordEmbedder(suffer)


# The embedder


@pytest.mark.on_helix
@pytest.mark.parametrize(
    "fault", [RuntimeError("no model"), EmbedderError("no model"), hang], ids=["raw", "own", "hangs"]
)
async def test_a_lost_embedder_leaves_the_text_channels(
    engine_world: World, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    parent, _ = await put_family(engine_world.session(), ["lemon"])
    observer = RecordingObserver()
    session = engine_world.session(embedder=breaking(fault), observer=observer, config=SHORT)
    with anyio.fail_after(5), caplog.at_level(logging.WARNING, "brain_async"):
        page = await session.search("lemon")
    assert ids(page) == [parent.id]
    assert (page.degrade_mode, page.degraded) == ("lexical_only", ("vector", "graph_vector"))
    status = "timeout" if fault is hang else "error"
    assert {outcomes(page)[name] for name in page.degraded} == {status}
    assert observer.last() == ("search", 1, "lexical_only", None)
    assert {outcome.channel for _, outcome in observer.channels if outcome.status == status} == set(page.degraded)
    assert "channel vector" in caplog.text
    if fault is not hang:
        assert "no model" in caplog.text


async def test_a_lost_embedder_raises_where_configured_with_its_cause(engine_world: World) -> None:
    await put_family(engine_world.session(), ["lemon"])
    cause = RuntimeError("no model")
    config = EngineConfig(fail_on_embedder_error=True, channel_timeout=0.1)
    observer = RecordingObserver()
    session = engine_world.session(embedder=breaking(cause), config=config, observer=observer)
    with pytest.raises(EmbedderError) as caught:
        await session.search("lemon")
    assert caught.value.__cause__ is cause
    assert observer.last() == ("search", 0, "none", EmbedderError)
    slow = engine_world.session(embedder=breaking(hang), config=config)
    with anyio.fail_after(5), pytest.raises(BackendTimeoutError):
        await slow.search("lemon")


@pytest.mark.parametrize("fault", [RuntimeError("no model"), hang], ids=["fails", "hangs"])
async def test_a_lost_embedder_is_not_the_graphs_failure(engine_world: World, fault: Any) -> None:
    parent, _ = await put_family(engine_world.session(), ["lemon"])
    config = EngineConfig(fail_on_graph_error=True, channel_timeout=0.1, embed_timeout=0.1)
    session = engine_world.session(embedder=breaking(fault), config=config)
    assert ids(await session.search("lemon")) == [parent.id]


@pytest.mark.on_helix
async def test_find_objects_degrades_as_search_does(engine_world: World) -> None:
    (entity,) = await put_titled(engine_world.session(), "lemon")
    session = engine_world.session(embedder=breaking(hang), config=SHORT)
    with anyio.fail_after(5):
        page = await session.find_objects("lemon")
    assert (ids(page), page.degrade_mode, page.degraded) == ([entity.id], "lexical_only", ("graph_vector",))


async def test_where_only_dense_channels_ran_their_loss_is_an_error(engine_world: World) -> None:
    session = engine_world.session(embedder=breaking(RuntimeError("no model")))
    with pytest.raises(EmbedderError):
        await session.search("lemon", channels=["vector", "graph_vector"])


# The store's channels


@pytest.mark.parametrize("fault", [down("index"), hang], ids=["fails", "hangs"])
async def test_a_failing_lexical_channel_is_never_shown_as_no_hits(engine_world: World, fault: Any) -> None:
    store, observer = FaultyStore(engine_world.store), RecordingObserver()
    session = engine_world.session(store=store, config=SHORT, observer=observer)
    store.faults["search_lexical"] = fault
    with anyio.fail_after(5), pytest.raises(BackendError):
        await session.search("lemon")
    assert observer.last()[:3] == ("search", 0, "none")


async def test_a_failing_lexical_channel_degrades_where_configured_and_another_answered(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    parent, _ = await put_family(engine_world.session(embedder=WordEmbedder()), ["lemon"])
    config = EngineConfig(fail_on_lexical_error=False)
    store.faults["search_lexical"] = down("index")
    session = engine_world.session(store=store, config=config, embedder=WordEmbedder())
    page = await session.search("lemon")
    assert (ids(page), page.degraded, page.degrade_mode) == ([parent.id], ("lexical",), "none")
    alone = engine_world.session(store=store, config=config, graph=None)
    with pytest.raises(BackendError, match="index is down"):
        await alone.search("lemon")


async def test_a_failing_vector_search_degrades_like_a_failing_embedder(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    parent, _ = await put_family(engine_world.session(), ["lemon"])
    store.faults["search_vector"] = down("vectors")
    session = engine_world.session(store=store, embedder=WordEmbedder())
    page = await session.search("lemon")
    assert (ids(page), page.degraded, page.degrade_mode) == ([parent.id], ("vector",), "lexical_only")


async def test_a_failing_hydrate_is_an_error_and_keeps_the_old_result_set(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    await put_family(session, ["lemon"])
    await session.search("lemon")
    before = session.context.active
    store.faults["hydrate"] = down("store")
    with pytest.raises(BackendError, match="store is down"):
        await session.search("lemon")
    assert session.context.active is before


# The graph


@pytest.mark.parametrize("fault", [RuntimeError("driver"), down("graph"), hang], ids=["raw", "own", "hangs"])
async def test_a_lost_graph_leaves_the_parts(engine_world: World, fault: Any) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=SHORT)
    parent, _ = await put_family(session, ["lemon"])
    graph.faults["search_objects_text"] = fault
    with anyio.fail_after(5):
        page = await session.search("lemon")
    assert (ids(page), page.degraded, page.degrade_mode) == ([parent.id], ("graph_text",), "none")
    strict = engine_world.session(graph=graph, config=EngineConfig(fail_on_graph_error=True, channel_timeout=0.1))
    with anyio.fail_after(5), pytest.raises(BackendError) as caught:
        await strict.search("lemon")
    if isinstance(fault, RuntimeError):
        assert caught.value.__cause__ is fault


async def test_a_hanging_walk_and_edge_search_are_bounded(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=SHORT)
    parent, parts = await put_family(session, ["lemon"])
    graph.faults |= {"neighbors": hang, "search_edges": hang}
    with anyio.fail_after(5):
        page = await session.expand(parent.id, ["contains", "about"])
        assert (ids(page), outcomes(page)["graph"], page.degraded) == ([parts[0].id], "timeout", ("graph",))
        with pytest.raises(BackendTimeoutError):
            await session.expand(parent.id, ["about"])
        with pytest.raises(BackendTimeoutError):
            await session.expand_many([parent.key], ["about"])
        with pytest.raises(BackendTimeoutError):
            await session.find_links("about", "x")


# The observer


class BrokenObserver(RecordingObserver):
    """Raises on every event, also before it can be awaited."""

    async def operation_started(self, event: OperationStart) -> None:
        raise RuntimeError("observer")

    def channel_ended(self, span: int, outcome: Any) -> Any:
        raise RuntimeError("observer")

    async def operation_ended(self, event: Any) -> None:
        raise RuntimeError("observer")


async def test_a_failing_observer_is_logged_and_ignored(engine_world: World, caplog: pytest.LogCaptureFixture) -> None:
    session = engine_world.session(observer=BrokenObserver())
    parent, _ = await put_family(session, ["lemon"])
    assert ids(await session.search("lemon")) == [parent.id]
    assert "the observer failed during search" in caplog.text


async def test_a_hanging_observer_costs_its_grace_once_a_call(
    engine_world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Hanging(RecordingObserver):
        async def channel_ended(self, span: int, outcome: Any) -> None:
            self.channels.append((span, outcome))
            await hang()

    monkeypatch.setattr(observe, "OBSERVER_GRACE", 0.05)
    observer = Hanging()
    session = engine_world.session(observer=observer)
    parent, _ = await put_family(session, ["lemon"])
    observer.ended.clear()
    with anyio.fail_after(5):
        assert ids(await session.search("lemon")) == [parent.id]
        assert ids(await session.search("lemon")) == [parent.id]
    assert len(observer.channels) == 2, "one event a call was waited for"
    assert observer.ended == []
    assert "the observer did not return during search" in caplog.text


async def test_the_observer_hears_of_errors_of_every_kind(engine_world: World) -> None:
    observer = RecordingObserver()
    session = engine_world.session(observer=observer)
    with pytest.raises(ValueError):
        await session.search("")
    assert observer.last()[0] == "search"
    assert observer.ended[-1].error is not None
    assert observer.ended[-1].seconds >= 0
    await session.put(Object(kind="thing"))
    assert observer.last() == ("put", 1, "none", None)
