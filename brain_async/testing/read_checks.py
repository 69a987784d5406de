"""Checks of ObjectReader: what is there is read, in order, and nothing else."""

from __future__ import annotations

from random import Random
from uuid import UUID, uuid4

import msgspec

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
    put_all,
)

__all__ = ["CHECKS"]


async def check_returned_values_are_copies(store: CheckedStore) -> None:
    """Changing what was put or read does not change what is stored."""
    scope = fresh_scope()
    given = {"list": [1], "dict": {"a": 1}}
    parent = new_parent(scope, properties=given)
    (stored,) = await put_all(store, scope, parent)
    given["list"].append(2)  # type: ignore[attr-defined]
    stored.properties["dict"]["a"] = 2
    first = await store.get(scope, parent.key)
    assert first is not None
    first.properties["new"] = 1
    second = await store.get(scope, parent.key)
    assert second is not None
    assert second.properties == {"list": [1], "dict": {"a": 1}}, "a caller's dict must not be the stored one"


async def check_get_many_order(store: CheckedStore) -> None:
    """The order asked, each once; missing, deleted and foreign ids are absent; no content, no embedding."""
    scope, other = fresh_scope(), fresh_scope()
    parents = [new_parent(scope, title=f"p{n}", content="c" * n) for n in range(8)]
    foreign = new_parent(other)
    await put_all(store, scope, *parents)
    await put_all(store, other, foreign)
    await store.soft_delete(scope, parents[3].key, at=BASE_TIME)
    asked = [parents[n].key for n in (5, 0, 3, 5, 7, 0, 1)] + [foreign.key, uuid4(), UUID(int=0)]
    got = await store.get_many(scope, asked)
    assert [obj.id for obj in got] == [parents[n].id for n in (5, 0, 7, 1)], "order asked, each once, unseen ids absent"
    assert all(obj.content == "" and obj.embedding is None for obj in got), "get_many leaves content and embedding out"
    assert await store.get_many(scope, []) == []
    assert [obj.id for obj in await store.get_many(Scope(), [foreign.key, parents[0].key])] == [
        foreign.id,
        parents[0].id,
    ]


async def check_get_many_of_40000_ids(store: CheckedStore) -> None:
    """Any number of ids, with strangers and duplicates, in one call."""
    scope = fresh_scope()
    parents = [new_parent(scope, title=str(n)) for n in range(10)]
    await put_all(store, scope, *parents)
    asked = [uuid4() for _ in range(40_000)]
    for n, parent in enumerate(parents):
        asked[n * 4_000] = asked[n * 4_000 + 1] = parent.key
    got = await store.get_many(scope, asked)
    assert [obj.id for obj in got] == [parent.id for parent in parents]
    hydration = await store.hydrate(scope, asked, asked)
    assert set(hydration.objects) == {parent.id for parent in parents}
    children = await store.list_children(scope, asked)
    assert len(children) == len(set(asked)), "a parent without parts has an empty sequence"


async def check_list_children_order_and_limit(store: CheckedStore) -> None:
    """Position ascending, None last, then id; at most ``limit`` each; deleted and foreign parts absent."""
    scope = fresh_scope()
    positions = [3, None, 0, -1, 3, 3, None, 2]
    parent, parts = family(scope, [{"position": position, "content": "text"} for position in positions])
    lone, (gone,) = family(scope, [{}])
    shuffled = [*parts, gone]
    Random(7).shuffle(shuffled)
    await put_all(store, scope, parent, lone, *shuffled)
    await store.soft_delete(scope, gone.key, at=BASE_TIME)
    expected = sorted(parts, key=lambda part: (part.position is None, part.position or 0, part.key.int))
    stranger = uuid4()
    children = await store.list_children(scope, [parent.key, lone.key, stranger, parent.key])
    assert [child.id for child in children[parent.key]] == [part.id for part in expected]
    assert all(child.content == "" for child in children[parent.key]), "children come without content"
    assert (list(children[lone.key]), list(children[stranger])) == ([], [])
    limited = await store.list_children(scope, [parent.key], limit=3)
    assert [child.id for child in limited[parent.key]] == [part.id for part in expected[:3]]
    assert list((await store.list_children(scope, [parent.key], limit=0))[parent.key]) == []
    assert list((await store.list_children(fresh_scope(), [parent.key]))[parent.key]) == []


async def check_hydrate(store: CheckedStore) -> None:
    """Objects without content; parts with the beginning of theirs; what the scope does not see is absent."""
    scope = fresh_scope()
    body = "  \n\t " + "0123456789" * 200
    parent, (part,) = family(scope, [{"title": "piece", "content": body, "position": 5}], content="whole")
    await put_all(store, scope, parent, part)
    hydration = await store.hydrate(scope, [parent.key, uuid4()], [part.key, uuid4()])
    assert dict(hydration.objects) == {parent.key: msgspec.structs.replace(parent, content="")}
    assert set(hydration.parts) == {part.key}
    read = hydration.parts[part.key]
    assert (read.title, read.position, read.parent_id) == ("piece", 5, parent.id)
    assert read.content == body.strip()[:512], "512 characters of the content after its leading white space"
    elsewhere = await store.hydrate(fresh_scope(), [parent.key], [part.key])
    assert (dict(elsewhere.objects), dict(elsewhere.parts)) == ({}, {})


async def check_scan_pages_through_everything(store: CheckedStore) -> None:
    """Ascending ids, no gap and no repeat, parents and parts apart, with content and embedding."""
    scope = fresh_scope()
    dimension = dimension_of(store)
    parent, parts = family(
        scope,
        [{"content": f"part {n}", "embedding": direction(dimension, n)} for n in range(23)],
        content="whole",
        embedding=direction(dimension, 45),
    )
    deleted = new_parent(scope)
    await put_all(store, scope, parent, deleted, *parts)
    await put_all(store, fresh := fresh_scope(), new_parent(fresh))
    await store.soft_delete(scope, deleted.key, at=BASE_TIME)
    seen: list[Object] = []
    after: UUID | None = None
    while page := await store.scan(scope, first_class=False, after=after, limit=5):
        assert len(page) <= 5
        seen += page
        after = page[-1].key
    assert [obj.id for obj in seen] == sorted((part.key for part in parts), key=lambda key: key.int)
    by_id = {part.key: part for part in parts}
    for obj in seen:
        assert obj.content == by_id[obj.key].content
        assert obj.embedding is not None
        wanted = by_id[obj.key].embedding or ()
        assert all(abs(a - b) < 2e-3 for a, b in zip(obj.embedding, wanted, strict=True)), "scan returns the embedding"
    (only,) = await store.scan(scope, first_class=True, after=None, limit=100)
    assert (only.id, only.content) == (parent.id, "whole")
    assert only.embedding is not None


CHECKS = (
    check_returned_values_are_copies,
    check_get_many_order,
    check_get_many_of_40000_ids,
    check_list_children_order_and_limit,
    check_hydrate,
    check_scan_pages_through_everything,
)
