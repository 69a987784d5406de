"""put_many: batches in which one bad object never takes its neighbours along."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import anyio
import pytest

from brain_async import (
    BackendError,
    EngineConfig,
    InvalidInputError,
    Object,
    ObjectNotFoundError,
    PutManyResult,
)
from brain_async.ops import write
from tests.integration.engine.world import (
    FaultyGraph,
    FaultyStore,
    RecordingObserver,
    WordEmbedder,
    World,
    down,
    hang,
    ids,
    put_titled,
    suffer,
)


def things(count: int, title: str = "lemon") -> list[Object]:
    return [Object(id=uuid4(), kind="thing", title=f"{title} {number}") for number in range(count)]


def failures(result: PutManyResult) -> dict[int, tuple[str, str, bool]]:
    return {failure.index: (failure.code, failure.field, failure.stored) for failure in result.failures}


async def test_all_are_stored_in_the_order_given(engine_world: World) -> None:
    observer = RecordingObserver()
    session = engine_world.session(observer=observer)
    objects = things(1203)
    result = await session.put_many(objects)
    assert result.ok
    assert ids(result.objects) == [obj.id for obj in objects]
    assert observer.last() == ("put_many", 1203, "none", None)
    assert all(obj.embedding is None for obj in result.objects)
    assert len((await session.find_objects("1202")).objects) == 1


async def test_nothing_is_nothing(engine_world: World) -> None:
    assert await engine_world.session().put_many([]) == PutManyResult()


async def test_parents_may_come_after_their_parts(engine_world: World) -> None:
    session = engine_world.session()
    parents = [Object(id=uuid4(), kind="document", title="D") for _ in range(300)]
    parts = [Object(kind="section", content="x", parent_id=parent.key) for parent in parents for _ in range(2)]
    result = await session.put_many(parts + parents)
    assert result.ok
    assert [obj.kind for obj in result.objects] == ["section"] * 600 + ["document"] * 300


async def test_each_bad_object_is_named_and_the_others_stored(engine_world: World) -> None:
    session = engine_world.session()
    (foreign,) = await put_titled(engine_world.stranger().session(), "foreign")
    good = things(5)
    bad: list[object] = [
        Object(kind="thing", title="a\x00b"),
        Object(kind="thing", properties={"score": float("nan")}),
        Object(kind=" "),
        Object(kind="section", parent_id=uuid4()),
        Object(id=foreign.id, kind="thing"),
        Object(kind="thing", namespace_id=uuid4()),
        "not an object",
        Object(kind="thing", embedding=(1.0, 2.0)),
        Object(id=good[0].id, kind="thing", title="again"),
    ]
    mixed = [item for pair in zip(good, bad[:5], strict=True) for item in pair] + bad[5:]
    result = await session.put_many(mixed)  # type: ignore[arg-type]
    assert ids(result.objects) == [obj.id for obj in good]
    assert failures(result) == {
        1: ("invalid_value", "title", False),
        3: ("invalid_value", "properties.score", False),
        5: ("invalid_object", "kind", False),
        7: ("parent_not_first_class", "parent_id", False),
        9: ("namespace_mismatch", "id", False),
        10: ("namespace_mismatch", "namespace_id", False),
        11: ("invalid_input", "object", False),
        12: ("dimension_mismatch", "embedding", False),
        13: ("invalid_value", "id", False),
    }
    assert (await session.read(good[0].id)).title == "lemon 0"


async def test_a_repeated_id_is_refused_wherever_it_stands(engine_world: World) -> None:
    session = engine_world.session()
    objects = things(write.WRITE_BATCH + 10)
    result = await session.put_many([*objects, Object(id=objects[0].id, kind="thing", title="again")])
    assert failures(result) == {len(objects): ("invalid_value", "id", False)}
    assert (await session.read(objects[0].id)).title == "lemon 0"


async def test_puts_running_at_once_do_not_take_each_other_along(engine_world: World) -> None:
    session = engine_world.session()
    objects = [*things(9), Object(kind="thing", title="a\x00b")]
    outcomes: list[bool] = []

    async def put(obj: Object) -> None:
        try:
            await session.put(obj)
            outcomes.append(True)
        except InvalidInputError:
            outcomes.append(False)

    async with anyio.create_task_group() as group:
        for obj in objects:
            group.start_soon(put, obj)
    assert sorted(outcomes) == [False, *[True] * 9]
    for obj in objects[:9]:
        assert (await session.read(obj.id)).id == obj.id


# Embedding


async def test_an_embedder_that_fails_for_one_text_costs_that_object_only(engine_world: World) -> None:
    async def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise RuntimeError("cannot embed this")

    session = engine_world.session(embedder=WordEmbedder(refuse))
    objects = things(200)
    objects[77] = Object(id=uuid4(), kind="thing", title="poison")
    result = await session.put_many(objects)
    assert failures(result) == {77: ("embedder_error", "", False)}
    assert len(result.objects) == 199


async def test_an_embedder_that_is_down_is_given_up_on(engine_world: World) -> None:
    async def fail(texts: Sequence[str]) -> None:
        raise RuntimeError("no model")

    embedder = WordEmbedder(fail)
    session = engine_world.session(embedder=embedder)
    result = await session.put_many(things(128))
    assert (len(result.objects), {failure.code for failure in result.failures}) == (0, {"embedder_error"})
    assert len(result.failures) == 128
    assert len(embedder.texts) < 128 * 8, "not every object is tried alone"


async def test_an_embedder_that_hangs_is_waited_for_once_a_batch(engine_world: World) -> None:
    async def wait(texts: Sequence[str]) -> None:
        await hang()

    embedder = WordEmbedder(wait)
    session = engine_world.session(embedder=embedder, config=EngineConfig(embed_batch_timeout=0.05))
    with anyio.fail_after(5):
        result = await session.put_many(things(100))
    assert {failure.code for failure in result.failures} == {"backend_timeout"}
    assert len(embedder.texts) == 100


async def test_parts_are_embedded_under_the_title_of_a_parent_of_the_same_call(engine_world: World) -> None:
    embedder = WordEmbedder()
    session = engine_world.session(embedder=embedder)
    parent = Object(id=uuid4(), kind="document", title="Title")
    parts = [Object(kind="section", content=f"part {n}", parent_id=parent.key) for n in range(write.WRITE_BATCH + 50)]
    assert (await session.put_many([*parts, parent])).ok
    embedded = [text for text in embedder.texts if "part" in text]
    assert len(embedded) == len(parts)
    assert all(text.startswith("Title\n") for text in embedded), "also where the parent is of an earlier batch"


async def test_titles_of_parents_that_cannot_be_read_fail_only_the_parts_that_need_them(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store, embedder=WordEmbedder())
    parent = await session.put(Object(kind="document", title="Title"))
    store.faults["get_many"] = down("store")
    result = await session.put_many([*things(3), Object(kind="section", content="x", parent_id=parent.key)])
    assert failures(result) == {3: ("backend_error", "", False)}


# Store and graph


async def test_a_backend_error_for_one_object_costs_that_object_only(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    objects = things(60)
    poison = objects[13].id

    original = engine_world.store.put_objects

    async def put_objects(scope: object, batch: Sequence[Object]) -> object:
        if any(obj.id == poison for obj in batch):
            raise BackendError("a row the backend chokes on")
        return await original(scope, batch)  # type: ignore[arg-type]

    store._inner = _Replaced(engine_world.store, put_objects=put_objects)
    result = await session.put_many(objects)
    assert failures(result) == {13: ("backend_error", "", False)}
    assert len(result.objects) == 59


async def test_a_store_that_is_down_is_given_up_on(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    store.faults["put_objects"] = down("store")
    result = await session.put_many(things(400))
    assert len(result.failures) == 400
    assert len(store.calls) < 60


@pytest.mark.on_helix
async def test_a_failing_graph_says_stored_and_putting_again_heals(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    graph.faults["ensure_objects"] = down("graph")
    objects = things(3)
    result = await session.put_many(objects)
    assert set(failures(result).values()) == {("graph_ensure", "", True)}
    assert (await session.read(objects[0].id)).title == "lemon 0"
    graph.faults.clear()
    assert (await session.put_many(objects)).ok
    assert len((await session.find_objects("lemon")).objects) == 3


async def test_a_graph_that_hangs_is_waited_for_once_a_batch(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(graph_timeout=0.3))
    graph.faults["ensure_objects"] = hang
    with anyio.fail_after(10):
        result = await session.put_many(things(300))
    assert {failure.code for failure in result.failures} == {"graph_ensure"}
    assert len(graph.calls) == 1


async def test_a_graph_that_goes_on_hanging_is_given_up_on_but_the_rows_are_stored(engine_world: World) -> None:
    graph = FaultyGraph(engine_world.graph)
    session = engine_world.session(graph=graph, config=EngineConfig(graph_timeout=0.3))
    graph.faults["ensure_objects"] = hang
    objects = things(write.WRITE_BATCH * 5)
    with anyio.fail_after(20):
        result = await session.put_many(objects)
    assert len(graph.calls) == 3
    assert set(failures(result).values()) == {("graph_ensure", "", True)}
    assert len(result.failures) == len(objects)
    assert (await session.read(objects[-1].id)).id == objects[-1].id


class LoadingGraph(FaultyGraph):
    """A graph that prepares for many nodes; ``bulk`` fails before or after."""

    def __init__(self, inner: object) -> None:
        super().__init__(inner)
        self.loads: list[tuple[int, bool]] = []

    @asynccontextmanager
    async def bulk(self, nodes: int) -> AsyncIterator[None]:
        await suffer(self.faults.get("bulk"))
        self.loads.append((nodes, False))
        try:
            yield
        finally:
            self.loads.append((nodes, True))
            await suffer(self.late.get("bulk"))


async def test_a_graph_is_told_how_many_nodes_to_prepare_for(engine_world: World) -> None:
    graph = LoadingGraph(engine_world.graph)
    session = engine_world.session(graph=graph)
    parent, *_ = (await session.put_many(things(3))).objects
    await session.put_many([Object(kind="section", content="x", parent_id=parent.key)])
    assert graph.loads == [(3, False), (3, True)]


@pytest.mark.parametrize("when", ["faults", "late"])
async def test_a_graph_that_cannot_prepare_is_written_all_the_same(engine_world: World, when: str) -> None:
    graph = LoadingGraph(engine_world.graph)
    getattr(graph, when)["bulk"] = down("graph")
    session = engine_world.session(graph=graph)
    assert (await session.put_many(things(3))).ok
    assert len((await session.find_objects("lemon")).objects) == 3


@pytest.mark.parametrize("fault", [None, down("graph")])
async def test_what_ends_a_load_reaches_the_caller_as_itself(engine_world: World, fault: BackendError | None) -> None:
    graph = LoadingGraph(engine_world.graph)
    if fault is not None:
        graph.late["bulk"] = fault
    session = engine_world.session(graph=graph)

    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await session.put_many(things(3), progress=stop)
    with anyio.CancelScope() as scope:
        await session.put_many(things(3), progress=lambda *_: scope.cancel())
    assert scope.cancelled_caught
    assert graph.loads == [(3, False), (3, True)] * 2


async def test_an_outage_that_passes_costs_its_batches_only(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    session = engine_world.session(store=store)
    store.faults["put_objects"] = down("store")

    def recover(done: int, total: int) -> None:
        store.faults.clear()

    result = await session.put_many(things(write.WRITE_BATCH * 2), progress=recover)
    assert (len(result.failures), len(result.objects)) == (write.WRITE_BATCH, write.WRITE_BATCH)


# Progress and cancellation


async def test_progress_counts_up_to_all(engine_world: World) -> None:
    seen: list[tuple[int, int]] = []
    await engine_world.session().put_many(things(1100), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(500, 1100), (1000, 1100), (1100, 1100)]


async def test_what_progress_raises_reaches_the_caller_as_itself(engine_world: World) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await engine_world.session().put_many(things(3), progress=stop)


async def test_cancelling_keeps_the_batches_already_written(engine_world: World) -> None:
    session = engine_world.session()
    objects = things(1200)
    with anyio.CancelScope() as scope:
        await session.put_many(objects, progress=lambda done, total: scope.cancel())
    assert scope.cancelled_caught
    read: list[UUID] = [obj.key for obj in await engine_world.store.get_many(session.scope, [o.key for o in objects])]
    assert read == [obj.id for obj in objects[: write.WRITE_BATCH]]


@pytest.mark.on_helix
async def test_an_object_that_failed_is_nowhere(engine_world: World) -> None:
    session = engine_world.session()
    bad = Object(id=uuid4(), kind="thing", title="lemon", summary="\ud800")
    assert not (await session.put_many([bad])).ok
    with pytest.raises(ObjectNotFoundError):
        await session.read(bad.id)
    assert ids(await session.find_objects("lemon")) == []


@pytest.mark.parametrize("objects", [None, 3, "text", {"a": 1}])
async def test_objects_must_be_a_list(engine_world: World, objects: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await engine_world.session().put_many(objects)  # type: ignore[arg-type]
    assert caught.value.field == "objects"


class _Replaced:
    """``inner`` with some of its methods replaced."""

    def __init__(self, inner: object, **methods: object) -> None:
        self._inner = inner
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)
