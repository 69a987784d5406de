"""Many calls at once: each sees its own scope, none waits for another for ever."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import anyio
import asyncpg
import pytest

from brain_async import EngineConfig, Object, PoolExhaustedError, SearchContext
from brain_async.adapters.postgres import PostgresStore
from tests.integration.engine.world import (
    DIMENSION,
    FaultyGraph,
    FaultyStore,
    WordEmbedder,
    World,
    ids,
    put_family,
    put_titled,
)


async def test_sixteen_searches_and_expands_with_their_own_contexts(engine_world: World) -> None:
    setup = engine_world.session(embedder=WordEmbedder())
    parents = []
    for number in range(16):
        parent, _ = await put_family(setup, [f"lemon number{number}"] * 25, title=f"D{number}")
        parents.append(parent)
    engine = engine_world.engine(embedder=WordEmbedder())
    done = []

    async def run(number: int) -> None:
        session = engine.session(context=SearchContext(engine_world.namespace))
        page = await session.search(f"number{number}", limit=1)
        assert page.objects[0].id == parents[number].id
        children = await session.expand(parents[number].id)
        assert (len(children.objects), children.total) == (10, 25)
        rest = await session.continue_(children.result_set_id)
        assert len(rest.objects) == 10
        done.append(number)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(run, number)
    assert sorted(done) == list(range(16))


@pytest.mark.on_helix
@pytest.mark.parametrize("seed", range(20))
async def test_two_namespaces_at_once_never_mix(engine_world: World, seed: int) -> None:
    random = Random(seed)

    async def dawdle(*_: object) -> None:
        for _ in range(random.randrange(4)):
            await anyio.lowlevel.checkpoint()

    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    for adapter in (store, graph):
        adapter.faults |= dict.fromkeys(
            ("put_objects", "hydrate", "search_lexical", "ensure_objects", "search_objects_text"), dawdle
        )
    worlds = [engine_world, engine_world.stranger()]
    engine = engine_world.engine(store=store, graph=graph, embedder=WordEmbedder(dawdle))
    written: list[set[Any]] = [set(), set()]

    async def put(side: int) -> None:
        stored = await engine.session(worlds[side].namespace).put(Object(kind="thing", title="lemon"))
        written[side].add(stored.id)

    async def search(side: int) -> None:
        page = await engine.session(worlds[side].namespace).search("lemon", limit=50)
        assert {obj.namespace_id for obj in page.objects} <= {worlds[side].namespace}

    calls = [(put, side) for side in (0, 1)] * 10 + [(search, side) for side in (0, 1)] * 10
    random.shuffle(calls)
    async with anyio.create_task_group() as group:
        for call, side in calls:
            group.start_soon(call, side)
    for side in (0, 1):
        session = engine.session(worlds[side].namespace)
        assert {obj.id for obj in (await session.find_objects("lemon", limit=50)).objects} == written[side]
        other = written[1 - side]
        assert await engine_world.store.get_many(session.scope, sorted(other)) == []


async def test_changing_the_namespace_does_not_touch_a_running_call(engine_world: World) -> None:
    store, started, go = FaultyStore(engine_world.store), anyio.Event(), anyio.Event()
    session = engine_world.session(store=store)
    parent, _ = await put_family(session, ["lemon"])
    stranger = engine_world.stranger()
    await put_family(stranger.session(), ["lemon"], title="theirs")

    async def wait() -> None:
        started.set()
        await go.wait()

    store.faults["search_lexical"] = wait
    found: list[Any] = []

    async def search() -> None:
        found.extend(ids(await session.search("lemon")))

    async with anyio.create_task_group() as group:
        group.start_soon(search)
        await started.wait()
        session.context.set_namespace(stranger.namespace)
        go.set()
    assert found == [parent.id]
    store.faults.clear()
    assert (await session.continue_()).objects == (), "the result set of one namespace shows nothing in another"


@pytest.mark.on_helix
async def test_two_conversations_used_alternately(engine_world: World) -> None:
    engine = engine_world.engine()
    stranger = engine_world.stranger()
    ours, theirs = engine.session(engine_world.namespace), engine.session(stranger.namespace)
    for session in (ours, theirs):
        await put_titled(session, *(f"lemon {number}" for number in range(15)))
    pages = [await ours.find_objects("lemon"), await theirs.find_objects("lemon")]
    rest = [await ours.continue_(pages[0].result_set_id), await theirs.continue_(pages[1].result_set_id)]
    for session, first, following in zip((ours, theirs), pages, rest, strict=True):
        assert len({*ids(first), *ids(following)}) == 15
        assert {obj.namespace_id for obj in (*first.objects, *following.objects)} == {session.scope.namespace_id}


@pytest.mark.on_helix
async def test_concurrent_puts_of_one_object_leave_one_of_them(engine_world: World) -> None:
    session = engine_world.session()
    (obj,) = await put_titled(session, "start")

    async def put(number: int) -> None:
        await session.put(Object(id=obj.id, kind="thing", title=f"t{number}", content=f"t{number}"))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(put, number)
    read = await session.read(obj.id)
    assert read.title == read.content != "start"


async def test_batches_over_the_same_ids_in_opposite_order_never_deadlock(engine_world: World) -> None:
    engine = engine_world.engine(graph=None)
    stored = (await engine.session(engine_world.namespace).put_many([Object(kind="thing") for _ in range(500)])).objects

    async def write(title: str, order: Sequence[Object]) -> None:
        batch = [Object(id=obj.id, kind="thing", title=title, content=title) for obj in order]
        assert (await engine.session(engine_world.namespace).put_many(batch)).ok

    with anyio.fail_after(60):
        for _ in range(5):
            async with anyio.create_task_group() as group:
                group.start_soon(write, "up", stored)
                group.start_soon(write, "down", stored[::-1])
    for obj in stored[::50]:
        read = await engine.read(engine_world.scope, obj.id)
        assert read.title == read.content in ("up", "down")


# A pool smaller than the load


@pytest.mark.parametrize("size", [1, 2])
async def test_more_searches_than_connections_all_finish(
    engine_world: World, backend: tuple[str, str], size: int
) -> None:
    parent, _ = await put_family(engine_world.session(embedder=WordEmbedder()), ["lemon pie"])
    async with small_pool(backend, size) as pool:
        store = engine_world.store if pool is None else PostgresStore(pool, dimension=DIMENSION)
        engine = engine_world.engine(store=store, embedder=WordEmbedder(), config=EngineConfig(channel_timeout=10))
        found: list[Any] = []

        async def search() -> None:
            found.append(ids(await engine.session(engine_world.namespace).search("lemon")))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(search)
        assert found == [[parent.id]] * 50
        if pool is not None:
            assert pool.get_idle_size() == pool.get_size()


async def test_a_pool_that_others_hold_is_an_error_within_its_bound(
    engine_world: World, backend: tuple[str, str]
) -> None:
    async with small_pool(backend, 1) as pool:
        if pool is None:
            return
        store = PostgresStore(pool, dimension=DIMENSION, acquire_timeout=0.2)
        session = engine_world.session(store=store)
        await session.search("lemon")
        async with pool.acquire():
            with anyio.fail_after(3), pytest.raises(PoolExhaustedError):
                await session.search("lemon")
            with anyio.fail_after(3), pytest.raises(PoolExhaustedError):
                await session.put(Object(kind="thing"))
        assert (await session.put(Object(kind="thing"))).id is not None
        assert pool.get_idle_size() == 1


def small_pool(backend: tuple[str, str], size: int) -> Any:
    """A pool of ``size`` connections to the backend's schema; None in memory."""
    lexical, dsn = backend
    if not dsn:
        return _NoPool()
    settings = {"search_path": f"engine_{lexical}, public"}
    return asyncpg.create_pool(dsn, min_size=size, max_size=size, server_settings=settings)


class _NoPool:
    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        return None
