"""Writing objects: a fixed lock order, one statement a batch, refusals per object."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import anyio
import anyio.to_thread
import msgspec

from brain_async.adapters.postgres.errors import may_succeed_again
from brain_async.adapters.postgres.languages import NamespaceLanguages
from brain_async.adapters.postgres.pool import Connection, Connections
from brain_async.adapters.postgres.terms import encoded_terms
from brain_async.adapters.postgres.vectors import storable_embedding
from brain_async.adapters.postgres.vocabulary import NewWords, PostgresVocabulary
from brain_async.analysis import index_terms_and_words, key_terms
from brain_async.errors import (
    BackendError,
    BrainError,
    DimensionMismatchError,
    InvalidValueError,
    NamespaceMismatchError,
    ObjectNotFoundError,
)
from brain_async.model.admission import StoredState, admit
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.spelling import words_of
from brain_async.text import UNSTORABLE

__all__ = ["PUT_SQL", "PreparedBatch", "analyse", "prepare", "put_arguments", "put_prepared", "retrying", "soft_delete"]

_T = TypeVar("_T")

_ATTEMPTS = 3
_BATCH_ROWS = 125
_BATCH_FLOATS = 256_000
_INLINE_OBJECTS = 100
_INLINE_CHARS = 20_000
"""Batches of more text than this are analysed in a thread: about 5 ms of work."""

_INT64 = range(-(2**63), 2**63)

LOCK_SQL = "select * from brain_lock($1::uuid[], $2::uuid[], $3::uuid[])"

PUT_SQL = """
insert into brain_objects as t (
    id, namespace_id, parent_id, position, kind, title, summary, content, content_type, properties, lex, lex_len, terms,
    embedding, embedding_model, created_at, updated_at, language)
select u.id, u.namespace_id, u.parent_id, u.position, u.kind, u.title, u.summary, u.content, u.content_type,
    u.properties::jsonb, u.lex, u.lex_len, string_to_array(u.terms, ' '),
    case when u.slot > 0 then ($19::real[])[(u.slot - 1) * $20::int + 1 : u.slot * $20::int]::halfvec end,
    u.embedding_model, u.created_at, u.updated_at, u.language
from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::int[], $13::text[], $14::int[], $15::text[], $16::timestamptz[], $17::timestamptz[],
    $18::text[])
    as u(id, namespace_id, parent_id, position, kind, title, summary, content, content_type, properties, lex, lex_len,
         terms, slot, embedding_model, created_at, updated_at, language)
order by u.id
on conflict (id) do update set
    parent_id = excluded.parent_id, position = excluded.position, kind = excluded.kind, title = excluded.title,
    summary = excluded.summary, content = excluded.content, content_type = excluded.content_type,
    properties = excluded.properties, lex = excluded.lex, lex_len = excluded.lex_len, terms = excluded.terms,
    embedding = excluded.embedding, embedding_model = excluded.embedding_model, updated_at = excluded.updated_at,
    language = excluded.language, deleted_at = null, parent_deleted = false
where t.namespace_id = excluded.namespace_id
returning t.id, t.created_at, t.updated_at
"""

TERMS_SQL = """
insert into brain_terms
select distinct u.namespace_id, u.term
from unnest($1::uuid[], $2::text[]) u(namespace_id, term)
where not exists (select from brain_terms t where t.namespace_id = u.namespace_id and t.term = u.term)
order by 1, 2
on conflict do nothing
"""

UNDELETE_PARTS_SQL = """
update brain_objects set parent_deleted = false where parent_id = any($1::uuid[]) and parent_deleted
"""

SOFT_DELETE_SQL = """
update brain_objects set deleted_at = $3, updated_at = $3, lex = null, lex_len = 0
where id = $2 and deleted_at is null and ($1::uuid is null or namespace_id = $1) returning id
"""

FLAG_PARTS_SQL = "update brain_objects set parent_deleted = true where parent_id = $1 and not parent_deleted"


class _Row(NamedTuple):
    """One object as columns of ``PUT_SQL``, in the order of its parameters; ``embedding`` beside them, no columns last."""

    id: UUID
    namespace_id: UUID | None
    parent_id: UUID | None
    position: int | None
    kind: str
    title: str
    summary: str
    content: str
    content_type: str
    properties: str
    lex: str | None
    lex_len: int
    terms: str
    embedding: list[float] | None
    embedding_model: str
    created_at: datetime
    updated_at: datetime
    language: str
    words: frozenset[str]
    index_context: str


class PreparedBatch(NamedTuple):
    """Objects, their rows (None for the refused), and the refusals by index."""

    objects: Sequence[Object]
    rows: list[_Row | None]
    refused: dict[int, BrainError]


def _encode_properties(obj: Object) -> str:
    try:
        text = json.dumps(obj.properties, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"properties of {obj.id} are not JSON: {error}", field="properties") from error
    # Either an escaped NUL, or a harmless backslash before "u0000": only reading it back tells.
    suspicious = "\\u0000" in text or UNSTORABLE.search(text)
    if suspicious and any(map(UNSTORABLE.search, _texts(json.loads(text)))):
        raise InvalidValueError(f"properties of {obj.id} hold NUL or a lone surrogate", field="properties")
    return text


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return list(chain.from_iterable(map(_texts, value)))
        case dict():
            return list(chain.from_iterable(map(_texts, chain(value, value.values()))))
        case _:
            return []


def _utc(obj: Object, field: str) -> datetime:
    value: datetime | None = getattr(obj, field)
    if value is None or value.tzinfo is None:
        raise InvalidValueError(f"{field} of {obj.id} must be set and aware", field=field)
    return value.astimezone(UTC)


def _row(obj: Object, dimension: int) -> _Row:
    for field in ("kind", "title", "summary", "content", "content_type", "language", "embedding_model"):
        if UNSTORABLE.search(getattr(obj, field)):
            raise InvalidValueError(f"{field} of {obj.id} holds NUL or a lone surrogate", field=field)
    if obj.position is not None and obj.position not in _INT64:
        raise InvalidValueError(f"position of {obj.id} is beyond 64 bits", field="position")
    return _Row(
        id=obj.key,
        namespace_id=obj.namespace_id,
        parent_id=obj.parent_id,
        position=obj.position,
        kind=obj.kind,
        title=obj.title,
        summary=obj.summary,
        content=obj.content,
        content_type=obj.content_type,
        properties=_encode_properties(obj),
        lex=None,
        lex_len=0,
        terms="",
        embedding=None if obj.embedding is None else storable_embedding(obj.embedding, dimension).tolist(),
        embedding_model=obj.embedding_model,
        created_at=_utc(obj, "created_at"),
        updated_at=_utc(obj, "updated_at"),
        language=obj.language,
        words=frozenset() if obj.is_part else words_of(obj),  # a part is analysed later
        index_context=obj.index_context,
    )


def _prepare(objects: Sequence[Object], dimension: int) -> PreparedBatch:
    for obj in objects:
        if obj.embedding is not None and len(obj.embedding) != dimension:
            raise DimensionMismatchError(expected=dimension, got=len(obj.embedding))
    rows: list[_Row | None] = []
    refused: dict[int, BrainError] = {}
    for index, obj in enumerate(objects):
        try:
            rows.append(_row(obj, dimension))
        except InvalidValueError as error:
            rows.append(None)
            refused[index] = error
    return PreparedBatch(objects, rows, refused)


def _chars(objects: Iterable[Object | _Row]) -> int:
    return sum(len(obj.title) + len(obj.summary) + len(obj.content) + len(obj.index_context) for obj in objects)


async def prepare(objects: Sequence[Object], dimension: int) -> PreparedBatch:
    """Validate and encode ``objects``, off the event loop when it takes long. Raises DimensionMismatchError."""
    if len(objects) <= _INLINE_OBJECTS and _chars(objects) <= _INLINE_CHARS:
        return _prepare(objects, dimension)
    return await anyio.to_thread.run_sync(_prepare, objects, dimension)


def _analyse(rows: Sequence[_Row]) -> list[_Row]:
    """The rows with the terms that their parts are found by."""
    analysed = []
    for row in rows:
        if row.parent_id is not None:
            found, surfaces = index_terms_and_words(
                f"{row.title} {row.summary} {row.content} {row.index_context}", row.language
            )
            words = encoded_terms(found)
            terms = " ".join(key_terms(row.title, row.content))
            row = row._replace(lex=" ".join(words), lex_len=len(words), terms=terms, words=surfaces)
        analysed.append(row)
    return analysed


async def analyse(rows: Sequence[_Row]) -> list[_Row]:
    """``_analyse``, off the event loop when it takes long."""
    if _chars(rows) <= _INLINE_CHARS:
        return _analyse(rows)
    return await anyio.to_thread.run_sync(_analyse, rows)


def put_arguments(rows: Sequence[_Row], dimension: int) -> list[Any]:
    """The arguments of ``PUT_SQL``: one array a column, and all embeddings in one flat array."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)][:-2]
    embeddings = columns[13]
    slot, slots = 0, []
    for embedding in embeddings:
        slot += embedding is not None
        slots.append(slot if embedding is not None else 0)
    columns[13] = slots
    return [*columns, list(chain.from_iterable(filter(None, embeddings))), dimension]


async def retrying(call: Callable[[], Awaitable[_T]]) -> _T:
    """Repeat a transaction that lost a conflict, at most three times in all."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return await call()
        except BackendError as error:
            if attempt == _ATTEMPTS or not may_succeed_again(error):
                raise
            await anyio.sleep(random.uniform(0.01, 0.05) * attempt)
    raise AssertionError("unreachable")


async def put_prepared(
    connections: Connections,
    languages: NamespaceLanguages,
    vocabulary: PostgresVocabulary,
    scope: Scope,
    batch: PreparedBatch,
    dimension: int,
) -> list[Object | BrainError]:
    """Write a prepared batch in one transaction; results as in the port."""
    return await retrying(lambda: _put_once(connections, languages, vocabulary, scope, batch, dimension))


async def _put_once(
    connections: Connections,
    languages: NamespaceLanguages,
    vocabulary: PostgresVocabulary,
    scope: Scope,
    batch: PreparedBatch,
    dimension: int,
) -> list[Object | BrainError]:
    ids = [row.id for row in batch.rows if row is not None]
    parents = {row.parent_id for row in batch.rows if row is not None and row.parent_id is not None} - set(ids)
    new = vocabulary.new_words()
    async with connections.transaction() as connection:
        states = {
            row["id"]: StoredState(row["namespace_id"], row["part"], row["deleted"], row["has_parts"])
            for row in await connection.fetch(LOCK_SQL, ids, list(parents), [])
        }
        verdicts = admit(batch.objects, scope, states, batch.refused)
        rows = sorted(
            (row for row, verdict in zip(batch.rows, verdicts, strict=True) if row is not None and verdict is None),
            key=lambda row: row.id.int,
        )
        stored = await _insert(connection, rows, dimension, new)
        undeleted = [each for each in stored if each in states and states[each].deleted]
        if undeleted:
            await connection.execute(UNDELETE_PARTS_SQL, undeleted)
        spoken = languages.unknown((row.namespace_id, row.language) for row in rows if row.parent_id is not None)
        await languages.record(connection, spoken)
        await vocabulary.write(connection, new)
    languages.recorded(spoken)
    vocabulary.committed(new)
    if not states.keys().isdisjoint(stored):
        vocabulary.forget_held()
    return [
        verdict if verdict is not None else _result(obj, stored)
        for obj, verdict in zip(batch.objects, verdicts, strict=True)
    ]


async def _insert(
    connection: Connection, rows: Sequence[_Row], dimension: int, new: NewWords
) -> dict[UUID, tuple[datetime, datetime]]:
    """created_at and updated_at of each row that was written; each batch is analysed while its predecessor is written."""
    stored: dict[UUID, tuple[datetime, datetime]] = {}
    keys: set[tuple[UUID | None, str]] = set()
    step = max(1, min(_BATCH_ROWS, _BATCH_FLOATS // dimension))
    batches = [rows[start : start + step] for start in range(0, len(rows), step)]
    upcoming = asyncio.create_task(analyse(batches[0])) if batches else None
    try:
        for number in range(1, len(batches) + 1):
            assert upcoming is not None
            batch = await upcoming
            if number < len(batches):
                upcoming = asyncio.create_task(analyse(batches[number]))
            written = await connection.fetch(PUT_SQL, *put_arguments(batch, dimension))
            stored |= {row["id"]: (row["created_at"], row["updated_at"]) for row in written}
            keys |= {(row.namespace_id, term) for row in batch for term in row.terms.split()}
            for row in batch:
                new.add(row.namespace_id, row.words, part=row.parent_id is not None)
    finally:
        if upcoming is not None:
            upcoming.cancel()
    # All at once and sorted, so that two writers of the same new terms never wait for each other.
    if keys:
        namespaces, words = zip(*keys, strict=True)
        await connection.execute(TERMS_SQL, namespaces, words)
    return stored


def _result(obj: Object, stored: dict[UUID, tuple[datetime, datetime]]) -> Object | BrainError:
    times = stored.get(obj.key)
    if times is None:  # another namespace took the id after it was looked at
        return NamespaceMismatchError(f"id {obj.id} is in use in another namespace", field="id")
    return msgspec.structs.replace(
        obj, created_at=times[0], updated_at=times[1], deleted_at=None, index_context="", embedding=None
    )


async def soft_delete(
    connections: Connections, vocabulary: PostgresVocabulary, scope: Scope, object_id: UUID, at: datetime
) -> None:
    """As in the port."""

    async def once() -> None:
        async with connections.transaction() as connection:
            await connection.execute(LOCK_SQL, [object_id], [], [object_id])
            if await connection.fetchval(SOFT_DELETE_SQL, scope.namespace_id, object_id, at) is None:
                raise ObjectNotFoundError(object_id)
            await connection.execute(FLAG_PARTS_SQL, object_id)

    await retrying(once)
    vocabulary.forget_held()
