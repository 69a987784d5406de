"""Checks of ResultSetStore. A store may keep one set only, the newest, as a session does."""

from __future__ import annotations

from uuid import uuid4

import msgspec

from brain_async.errors import ResultSetNotFoundError
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import ResultSet
from brain_async.ports.paging import ResultSetStore
from brain_async.testing.subjects import BASE_TIME, raises

__all__ = ["CHECKS"]


def _result_set(size: int = 3) -> ResultSet:
    ids = tuple(uuid4() for _ in range(size))
    relation = Relation(
        type="about", direction="out", depth=2, source_id=uuid4(), meta=EdgeMeta(note="why", confidence=0.5)
    )
    return ResultSet(id=uuid4(), object_ids=ids, relations=dict.fromkeys(ids[:1], relation), created_at=BASE_TIME)


async def check_result_set_round_trip(store: ResultSetStore) -> None:
    """A set is read back as it was put, also when it is empty."""
    for size in (3, 0):
        result_set = _result_set(size)
        await store.put_result_set(result_set)
        assert await store.get_result_set(result_set.id) == result_set


async def check_result_set_offset_is_replaced(store: ResultSetStore) -> None:
    """A set put again under its id replaces the old one: paging moves the offset."""
    result_set = _result_set()
    await store.put_result_set(result_set)
    moved = msgspec.structs.replace(result_set, offset=2)
    await store.put_result_set(moved)
    assert await store.get_result_set(result_set.id) == moved


async def check_unknown_result_set(store: ResultSetStore) -> None:
    """An id that was never put raises ResultSetNotFoundError, and the newest set is still there afterwards."""
    result_set = _result_set()
    await store.put_result_set(result_set)
    await raises(ResultSetNotFoundError, store.get_result_set(uuid4()))
    assert await store.get_result_set(result_set.id) == result_set


CHECKS = (check_result_set_round_trip, check_result_set_offset_is_replaced, check_unknown_result_set)
