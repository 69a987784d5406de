"""Checks of ObjectWriter: what is put is stored whole, and nothing else is touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import anyio
import msgspec

from brain_async.errors import (
    BrainError,
    DimensionMismatchError,
    InvalidValueError,
    NamespaceMismatchError,
    ObjectNotFoundError,
    ParentNotFirstClassError,
)
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedStore,
    dimension_of,
    direction,
    family,
    fresh_scope,
    new_parent,
    new_part,
    put_all,
    raises,
)

__all__ = ["CHECKS"]

_PROPERTIES = {
    "text": "Grüße, 世界 \U0001f600",
    "int": 2**53 + 1,
    "negative": -(2**63),
    "float": 0.1,
    "million": 1000000.0,
    "yes": True,
    "nothing": None,
    "list": [1, "a", False, None, {"deep": [1.5]}],
    "dict": {"a": {"b": "c"}},
    "": "empty key",
}


async def check_put_and_get_round_trip(store: CheckedStore) -> None:
    """Every field but the embedding is read back as it was put; times are aware UTC with microseconds."""
    scope = fresh_scope()
    parent = new_parent(
        scope,
        title='Title\'s "quotes" \\ %_ $1',
        summary="summary",
        content="line one\n  line two\t'; drop table objects; --",
        content_type="text/markdown",
        properties=_PROPERTIES,
        embedding=direction(dimension_of(store), 30),
        embedding_model="a-model",
        created_at=datetime(2026, 8, 9, 23, 30, 0, 123456, tzinfo=timezone(timedelta(hours=-5))),
        updated_at=datetime(2026, 8, 10, 5, 0, 0, 1, tzinfo=UTC),
    )
    part = new_part(scope, parent, position=-3, title="part", content="text")
    stored = await put_all(store, scope, parent, part)
    for given, returned in zip((parent, part), stored, strict=True):
        read = await store.get(scope, given.key)
        expected = msgspec.structs.replace(given, embedding=None)
        assert read == expected, f"get returned {read}, put was given {expected}"
        assert returned == expected, f"put_objects returned {returned}, was given {expected}"
    read = await store.get(scope, parent.key)
    assert read is not None
    assert read.created_at is not None
    assert read.created_at.utcoffset() == timedelta(0), "times are returned in UTC"
    assert type(read.properties["int"]) is int, "an int property stays an int"
    assert type(read.properties["yes"]) is bool, "a bool property stays a bool"


async def check_put_refusals_leave_neighbours_stored(store: CheckedStore) -> None:
    """Each refused object gets its own error in its place, and every other one of the batch is stored."""
    scope, other = fresh_scope(), fresh_scope()
    foreign = new_parent(other, title="theirs")
    with_parts, (its_part,) = family(scope, [{"title": "its part"}])
    deleted = new_parent(scope)
    await put_all(store, other, foreign)
    await put_all(store, scope, with_parts, its_part, deleted)
    await store.soft_delete(scope, deleted.key, at=BASE_TIME)

    fine = [new_parent(scope, title=f"fine {n}") for n in range(4)]
    twice = new_parent(scope, title="first of two")
    self_parent = uuid4()
    cases: list[tuple[Object, type[BrainError] | None]] = [
        (fine[0], None),
        (new_parent(scope, id=foreign.id, title="taken over"), NamespaceMismatchError),
        (new_parent(other, title="namespace of another scope"), NamespaceMismatchError),
        (fine[1], None),
        (new_part(scope, uuid4()), ParentNotFirstClassError),
        (new_part(scope, its_part), ParentNotFirstClassError),
        (new_part(scope, foreign), ParentNotFirstClassError),
        (new_part(scope, deleted), ParentNotFirstClassError),
        (new_part(scope, self_parent, id=self_parent), ParentNotFirstClassError),
        (new_part(scope, fine[0], id=with_parts.id), ParentNotFirstClassError),
        (twice, None),
        (fine[2], None),
        (new_parent(scope, id=twice.id, title="second of two"), InvalidValueError),
        (new_part(scope, fine[3], title="its parent comes later in the batch"), None),
        (fine[3], None),
    ]
    results = await store.put_objects(scope, [obj for obj, _ in cases])
    assert len(results) == len(cases)
    for (obj, error), result in zip(cases, results, strict=True):
        if error is None:
            assert isinstance(result, Object), f"a valid neighbour was refused: {result!r}"
            assert await store.get(scope, obj.key) == result
        else:
            assert type(result) is error, f"expected {error.__name__} for {obj}, got {result!r}"
    theirs = await store.get(other, foreign.key)
    assert theirs is not None
    assert theirs.title == "theirs", "an id owned by another namespace is never overwritten"
    first = await store.get(scope, twice.key)
    assert first is not None
    assert first.title == "first of two", "of two objects with one id the first is stored"
    still = await store.get(scope, with_parts.key)
    assert still is not None
    assert not still.is_part


async def check_a_part_may_become_first_class_and_move(store: CheckedStore) -> None:
    """A part can move to another parent and become first-class; the lists of children follow."""
    scope = fresh_scope()
    one, (part,) = family(scope, [{"title": "wanderer"}])
    two = new_parent(scope)
    await put_all(store, scope, one, two, part)
    await put_all(store, scope, msgspec.structs.replace(part, parent_id=two.id))
    children = await store.list_children(scope, [one.key, two.key])
    assert [[child.id for child in children[key]] for key in (one.key, two.key)] == [[], [part.id]]
    await put_all(store, scope, msgspec.structs.replace(part, parent_id=None))
    assert (await store.list_children(scope, [two.key]))[two.key] == []
    await put_all(store, scope, msgspec.structs.replace(two, parent_id=one.id))
    assert [child.id for child in (await store.list_children(scope, [one.key]))[one.key]] == [two.id]


async def check_put_keeps_created_at_and_clears_fields(store: CheckedStore) -> None:
    """A second put replaces every field, also by nothing, and keeps the first created_at, even over a deletion."""
    scope = fresh_scope()
    first = new_parent(
        scope, title="t", summary="s", content="c", content_type="text/plain", properties={"a": 1}, position=4
    )
    await put_all(store, scope, first)
    later = BASE_TIME + timedelta(days=3)
    bare = Object(
        id=first.id, kind="note", namespace_id=scope.namespace_id, created_at=later, updated_at=later, properties={}
    )
    (stored,) = await put_all(store, scope, bare)
    expected = msgspec.structs.replace(bare, created_at=first.created_at)
    assert stored == expected, "put_objects returns the first created_at"
    assert await store.get(scope, first.key) == expected, "cleared fields are cleared"
    await store.soft_delete(scope, first.key, at=later)
    (again,) = await put_all(store, scope, bare)
    assert again == expected, "a put after a deletion makes the object live again, with its first created_at"


async def check_soft_delete(store: CheckedStore) -> None:
    """A deleted object is gone from every read; deleting it again, a stranger or a foreign one is not found."""
    scope, other = fresh_scope(), fresh_scope()
    parent, parts = family(scope, [{"title": "a"}, {"title": "b"}])
    await put_all(store, scope, parent, *parts)
    for wrong_scope, object_id in ((other, parent.key), (scope, uuid4())):
        await raises(ObjectNotFoundError, store.soft_delete(wrong_scope, object_id, at=BASE_TIME))
    await store.soft_delete(scope, parent.key, at=BASE_TIME)
    assert await store.get(scope, parent.key) is None
    assert await store.get(Scope(), parent.key) is None
    assert (await store.hydrate(scope, [parent.key])).objects == {}
    assert [obj.id for obj in await store.get_many(scope, [part.key for part in parts])] == [part.id for part in parts]
    assert len((await store.list_children(scope, [parent.key]))[parent.key]) == 2, "its parts stay readable"
    await raises(ObjectNotFoundError, store.soft_delete(scope, parent.key, at=BASE_TIME))


async def check_dimension_mismatch_writes_nothing(store: CheckedStore) -> None:
    """An embedding of another length is refused before anything of the batch is written."""
    scope = fresh_scope()
    dimension = dimension_of(store)
    await put_all(store, scope, new_parent(scope, embedding=direction(dimension, 0)))
    assert store.dimension == dimension
    fine, wrong = new_parent(scope), new_parent(scope, embedding=direction(dimension + 1, 0))
    error = await raises(DimensionMismatchError, store.put_objects(scope, [fine, wrong]))
    assert (error.expected, error.got) == (dimension, dimension + 1)
    assert await store.get_many(scope, [fine.key, wrong.key]) == [], "nothing of the batch is written"


async def check_concurrent_batches_in_opposite_order(store: CheckedStore) -> None:
    """Batches over the same ids, ascending and descending at once, all finish; each object is one of the two writes."""
    scope = fresh_scope()
    parents = sorted((new_parent(scope) for _ in range(60)), key=lambda obj: obj.key.int)
    await put_all(store, scope, *parents)

    async def write(title: str, order: list[Object]) -> None:
        await put_all(store, scope, *(msgspec.structs.replace(obj, title=title, content=title) for obj in order))

    with anyio.fail_after(60):
        for _ in range(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write, "up", parents)
                tasks.start_soon(write, "down", parents[::-1])
    for parent in parents:
        read = await store.get(scope, parent.key)
        assert read is not None
        assert read.title in ("up", "down")
        assert read.title == read.content, "an object is one of the two writes, never a mixture"


async def check_concurrent_namespaces_stay_apart(store: CheckedStore) -> None:
    """Writes and reads of two namespaces at once never end up under the other one."""
    scopes = [fresh_scope(), fresh_scope()]
    written: dict[Scope, list[Object]] = {scope: [] for scope in scopes}

    async def work(scope: Scope, number: int) -> None:
        parent, parts = family(scope, [{"title": f"{number}", "content": "shared words everywhere"}])
        await put_all(store, scope, parent, *parts)
        written[scope] += [parent, *parts]
        read = await store.get_many(scope, [obj.key for obj in (parent, *parts)])
        assert [obj.namespace_id for obj in read] == [scope.namespace_id] * 2

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            for scope in scopes:
                tasks.start_soon(work, scope, number)
    for scope, stranger in (scopes, scopes[::-1]):
        keys = [obj.key for obj in written[scope]]
        assert len(await store.get_many(scope, keys)) == 40
        assert await store.get_many(stranger, keys) == []


async def check_large_content(store: CheckedStore) -> None:
    """A part of 1.6 million characters is stored whole."""
    scope = fresh_scope()
    body = "lorem ipsum dolor " * 90_000
    parent, (part,) = family(scope, [{"title": "long", "content": body}])
    await put_all(store, scope, parent, part)
    read = await store.get(scope, part.key)
    assert read is not None
    assert read.content == body


CHECKS = (
    check_put_and_get_round_trip,
    check_put_refusals_leave_neighbours_stored,
    check_a_part_may_become_first_class_and_move,
    check_put_keeps_created_at_and_clears_fields,
    check_soft_delete,
    check_dimension_mismatch_writes_nothing,
    check_concurrent_batches_in_opposite_order,
    check_concurrent_namespaces_stay_apart,
    check_large_content,
)
