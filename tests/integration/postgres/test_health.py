"""What a Postgres store says of itself, and what waiting for its pool is told to the observer."""

from __future__ import annotations

from uuid import uuid4

import anyio
import pytest

from brain_async import Engine, Object, Scope
from tests.integration.engine.world import RecordingObserver
from tests.integration.postgres.conftest import Opener


async def test_a_database_that_was_never_migrated_is_down(open_store: Opener) -> None:
    async with open_store(migrate=False) as store:
        report = await Engine(store).health()
    assert not report.ready
    assert "call migrate()" in report.backends["store"].problem


async def test_a_closed_store_is_down(open_store: Opener) -> None:
    async with open_store() as store:
        engine = Engine(store)
    report = await engine.health()
    assert report.status == "down"
    assert "closed" in report.backends["store"].problem


@pytest.mark.parametrize("pool_size", [1, 4])
async def test_health_works_with_any_pool_and_leaves_it_whole(open_store: Opener, pool_size: int) -> None:
    async with open_store(pool_size=pool_size) as store:
        engine = Engine(store)
        for _ in range(5):
            assert (await engine.health()).ready
        details = (await engine.health()).backends["store"].details
        assert details["pool_max"] == pool_size
        state = store.connections.pool_state()
        assert state["pool_open"] == state["pool_idle"]


async def test_a_pool_that_is_held_is_not_ready_and_says_so_in_time(open_store: Opener) -> None:
    async with open_store(pool_size=1) as store:
        async with store.connections.bare():
            with anyio.fail_after(10):
                report = await Engine(store).health(timeout=0.2)
        assert not report.ready
        assert report.pending_objects is None
        assert (await Engine(store).health()).ready


async def test_the_observer_hears_how_long_a_verb_waited_for_its_connection(open_store: Opener) -> None:
    observer = RecordingObserver()
    async with open_store(pool_size=1) as store:
        engine = Engine(store, observer=observer)
        scope = Scope(uuid4())
        stored = await engine.put(scope, Object(kind="thing"))
        async with anyio.create_task_group() as group, store.connections.bare():
            group.start_soon(engine.read, scope, stored.id)
            await anyio.sleep(0.2)  # the only connection is held for so long
        assert observer.ended[-1].operation == "read"
        assert observer.ended[-1].pool_wait >= 0.1
        await engine.read(scope, stored.id)
        assert observer.ended[-1].pool_wait > 0
