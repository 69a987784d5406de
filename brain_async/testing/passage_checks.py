"""Checks of PassageReader: what rerankers judge by is read whole, under scope, in one call."""

from __future__ import annotations

from uuid import uuid4

from brain_async.model.object import Object
from brain_async.ports.store import PASSAGE_CHARS
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedPassages,
    dimension_of,
    direction,
    family,
    fresh_scope,
    new_parent,
    put_all,
)

__all__ = ["CHECKS"]


async def check_read_passages(store: CheckedPassages) -> None:
    """Parts and first-class objects by id, with what was asked for and nothing else."""
    scope, dimension = fresh_scope(), dimension_of(store)
    body = "  " + "0123456789" * 1_000
    parent, parts = family(
        scope,
        [
            {"title": "with", "summary": "in short", "content": body, "embedding": direction(dimension, 30)},
            {"title": "without", "content": "short"},
        ],
        title="whole",
        content="entity",
        properties={"a": 1},
    )
    await put_all(store, scope, parent, *parts)
    asked = [parts[1].key, parent.key, parts[0].key, uuid4(), parts[0].key]
    contents = await store.read_passages(scope, asked, content=True, embedding=False)
    assert dict(contents) == {
        parts[0].key: Object(
            id=parts[0].id, title="with", summary="in short", parent_id=parent.id, content=body[:PASSAGE_CHARS]
        ),
        parts[1].key: Object(id=parts[1].id, title="without", parent_id=parent.id, content="short"),
        parent.key: Object(id=parent.id, title="whole", content="entity"),
    }, "id, title, summary, parent_id and the first characters of the content"
    embeddings = await store.read_passages(scope, asked, content=False, embedding=True)
    assert set(embeddings) == set(contents)
    assert all(each.content == "" for each in embeddings.values()), "contents were not asked for"
    assert [embeddings[obj.key].embedding for obj in (parts[1], parent)] == [None, None]
    found, wanted = embeddings[parts[0].key].embedding or (), direction(dimension, 30)
    assert len(found) == dimension
    assert all(abs(a - b) < 2e-3 for a, b in zip(found, wanted, strict=True)), "the embedding as it was put"
    assert dict(await store.read_passages(scope, [], content=True, embedding=True)) == {}


async def check_read_passages_sees_what_the_scope_does(store: CheckedPassages) -> None:
    """Deleted and foreign objects are absent; a deleted parent's parts stay readable, as by every read."""
    scope, other = fresh_scope(), fresh_scope()
    parent, parts = family(scope, [{"content": "kept"}, {"content": "gone"}])
    foreign = new_parent(other)
    await put_all(store, scope, parent, *parts)
    await put_all(store, other, foreign)
    await store.soft_delete(scope, parts[1].key, at=BASE_TIME)
    await store.soft_delete(scope, parent.key, at=BASE_TIME)
    asked = [parent.key, foreign.key, *(part.key for part in parts)]
    found = await store.read_passages(scope, asked, content=True, embedding=True)
    assert {key: each.content for key, each in found.items()} == {parts[0].key: "kept"}


CHECKS = (check_read_passages, check_read_passages_sees_what_the_scope_does)
