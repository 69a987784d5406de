"""continue_: the next page of a result set."""

from __future__ import annotations

from uuid import uuid4

import anyio
import pytest

from brain_async import (
    InvalidInputError,
    Object,
    ResultSetIdRequiredError,
    ResultSetNotFoundError,
    ResultSetStoreRequiredError,
    SearchContext,
    Session,
)
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import FaultyStore, RecordingObserver, World, all_pages, ids, put_titled


async def found(session: Session, count: int = 25, limit: int = 10) -> list[Object]:
    """``count`` entities, all matching, of which the first ``limit`` are served."""
    stored = await put_titled(session, *(f"lemon {number}" for number in range(count)))
    await session.find_objects("lemon", limit=limit)
    return stored


async def test_pages_follow_each_other_without_gap_or_repeat(engine_world: World) -> None:
    session = engine_world.session()
    stored = await found(session)
    assert session.context.active is not None
    order = session.context.active.object_ids
    second, third = await session.continue_(), await session.continue_()
    assert (ids(second), ids(third)) == (list(order[10:20]), list(order[20:]))
    assert (second.has_more, third.has_more, second.total) == (True, False, 25)
    assert sorted(order) == sorted(obj.key for obj in stored)


async def test_past_the_end_the_page_is_empty(engine_world: World) -> None:
    session = engine_world.session()
    await found(session, count=3)
    for _ in range(2):
        page = await session.continue_()
        assert (page.objects, page.has_more, page.total) == ((), False, 3)


async def test_scores_and_evidence_are_on_first_pages_only(engine_world: World) -> None:
    session = engine_world.session()
    await found(session)
    page = await session.continue_()
    assert all(obj.score is None and obj.evidence == () and obj.content == "" for obj in page.objects)


async def test_each_page_may_have_its_own_limit(engine_world: World) -> None:
    session = engine_world.session()
    await found(session, limit=1)
    sizes = [len((await session.continue_(limit=limit)).objects) for limit in (2, 0, -1, 99)]
    assert sizes == [2, 10, 10, 2]


async def test_deleted_objects_are_left_out_and_the_page_filled(engine_world: World) -> None:
    session = engine_world.session()
    await found(session)
    assert session.context.active is not None
    order = session.context.active.object_ids
    for object_id in order[10:14]:
        await session.soft_delete(object_id)
    page = await session.continue_()
    assert ids(page) == list(order[14:24])
    assert page.has_more


async def test_another_scope_sees_nothing_of_it(engine_world: World) -> None:
    session = engine_world.session()
    await found(session)
    session.context.set_namespace(uuid4())
    page = await session.continue_()
    assert (page.objects, page.has_more) == ((), False)


async def test_it_resumes_in_another_process(engine_world: World) -> None:
    session = engine_world.session()
    await found(session)
    exported = session.context.export()
    expected = ids(await session.continue_())
    context = SearchContext()
    context.restore(exported)
    other = engine_world.engine().session(context=context)
    assert other.scope == session.scope
    page = await other.continue_(session.context.active.id if session.context.active else None)
    assert ids(page) == expected
    assert len(await all_pages(other, page)) == 15


async def test_a_search_that_ends_meanwhile_stays_the_active_one(engine_world: World) -> None:
    store, started, go = FaultyStore(engine_world.store), anyio.Event(), anyio.Event()
    session = engine_world.session(store=store)
    await found(session)
    pages = []

    async def wait() -> None:
        started.set()
        await go.wait()

    async def resume() -> None:
        pages.append(await session.continue_())

    store.faults["hydrate"] = wait
    async with anyio.create_task_group() as group:
        group.start_soon(resume)
        await started.wait()
        newer = await session.find_objects("lemon", limit=3)
        go.set()
    assert len(pages[0].objects) == 10
    assert session.context.active is not None
    assert session.context.active.id == newer.result_set_id
    assert len((await session.continue_(newer.result_set_id)).objects) == 10


async def test_an_id_is_required(engine_world: World) -> None:
    session = engine_world.session()
    for missing in (None, NIL_UUID):
        with pytest.raises(ResultSetIdRequiredError):
            await session.continue_(missing)
    with pytest.raises(InvalidInputError) as caught:
        await session.continue_("abc")  # type: ignore[arg-type]
    assert caught.value.field == "result_set_id"


async def test_an_unknown_or_replaced_id_is_not_found(engine_world: World) -> None:
    session = engine_world.session()
    await found(session)
    replaced = session.context.active
    assert replaced is not None
    await session.find_objects("lemon")
    for result_set_id in (uuid4(), replaced.id):
        with pytest.raises(ResultSetNotFoundError):
            await session.continue_(result_set_id)


async def test_a_result_set_store_is_required(engine_world: World) -> None:
    with pytest.raises(ResultSetStoreRequiredError):
        await engine_world.engine().continue_(engine_world.scope, uuid4())


async def test_the_observer_hears_of_it(engine_world: World) -> None:
    observer = RecordingObserver()
    session = engine_world.session(observer=observer)
    await found(session)
    await session.continue_()
    assert observer.last() == ("continue", 10, "none", None)
    with pytest.raises(ResultSetNotFoundError):
        await session.continue_(uuid4())
    assert observer.last() == ("continue", 0, "none", ResultSetNotFoundError)
