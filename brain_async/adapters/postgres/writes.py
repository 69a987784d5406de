"""Writing objects: a fixed lock order, one statement a batch, refusals per object."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import anyio
import anyio.to_thread
import asyncpg
import msgspec

from brain_async.adapters.postgres.copied import COPY_COLUMNS, copy_data
from brain_async.adapters.postgres.errors import may_succeed_again
from brain_async.adapters.postgres.languages import NamespaceLanguages
from brain_async.adapters.postgres.object_row import ObjectRow, object_row
from brain_async.adapters.postgres.pool import Connection, Connections
from brain_async.adapters.postgres.terms import encoded_terms
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

__all__ = ["PUT_SQL", "PreparedBatch", "analyse", "prepare", "put_arguments", "put_prepared", "retrying", "soft_delete"]

_T = TypeVar("_T")

_ATTEMPTS = 3
_BATCH_ROWS = 250
_BATCH_FLOATS = 256_000
_INLINE_OBJECTS = 100
_INLINE_CHARS = 20_000
"""Batches of more text than this are analysed in a thread: about 5 ms of work."""

_COPY_ROWS = 20
"""From this many new rows on COPY is cheaper than a prepared statement."""

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


class PreparedBatch(NamedTuple):
    """Objects, their rows (None for the refused), and the refusals by index."""

    objects: Sequence[Object]
    rows: list[ObjectRow | None]
    refused: dict[int, BrainError]


def _prepare(objects: Sequence[Object], dimension: int) -> PreparedBatch:
    for obj in objects:
        if obj.embedding is not None and len(obj.embedding) != dimension:
            raise DimensionMismatchError(expected=dimension, got=len(obj.embedding))
    rows: list[ObjectRow | None] = []
    refused: dict[int, BrainError] = {}
    for index, obj in enumerate(objects):
        try:
            rows.append(object_row(obj, dimension))
        except InvalidValueError as error:
            rows.append(None)
            refused[index] = error
    return PreparedBatch(objects, rows, refused)


def _chars(objects: Iterable[Object | ObjectRow]) -> int:
    return sum(len(obj.title) + len(obj.summary) + len(obj.content) + len(obj.index_context) for obj in objects)


async def prepare(objects: Sequence[Object], dimension: int) -> PreparedBatch:
    """Validate and encode ``objects``, off the event loop when it takes long. Raises DimensionMismatchError."""
    if len(objects) <= _INLINE_OBJECTS and _chars(objects) <= _INLINE_CHARS:
        return _prepare(objects, dimension)
    return await anyio.to_thread.run_sync(_prepare, objects, dimension)


def _analyse(rows: Sequence[ObjectRow]) -> list[ObjectRow]:
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


async def analyse(rows: Sequence[ObjectRow]) -> list[ObjectRow]:
    """``_analyse``, off the event loop when it takes long."""
    return (await _analysed(rows, copied=False))[0]


async def _analysed(rows: Sequence[ObjectRow], *, copied: bool) -> tuple[list[ObjectRow], bytes]:
    """The rows with their terms, and if ``copied`` as the input of COPY."""

    def work() -> tuple[list[ObjectRow], bytes]:
        analysed = _analyse(rows)
        return analysed, copy_data(analysed) if copied else b""

    if len(rows) <= _INLINE_OBJECTS and _chars(rows) <= _INLINE_CHARS:
        return work()
    return await anyio.to_thread.run_sync(work)


def put_arguments(rows: Sequence[ObjectRow], dimension: int) -> list[Any]:
    """The arguments of ``PUT_SQL``: one array a column, and all embeddings in one flat array."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)][:-2]
    embeddings = columns[13]
    slot, slots = 0, []
    for embedding in embeddings:
        slot += embedding is not None
        slots.append(slot if embedding is not None else 0)
    columns[13] = slots
    return [*columns, list(chain.from_iterable(each.tolist() for each in embeddings if each is not None)), dimension]


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

    async def put(*, copying: bool) -> list[Object | BrainError]:
        return await retrying(
            lambda: _put_once(connections, languages, vocabulary, scope, batch, dimension, copying=copying)
        )

    try:
        return await put(copying=True)
    except BackendError as error:
        # COPY cannot update: another writer took one of the ids after they were looked at.
        if not isinstance(error.__cause__, asyncpg.UniqueViolationError):
            raise
        return await put(copying=False)


async def _put_once(
    connections: Connections,
    languages: NamespaceLanguages,
    vocabulary: PostgresVocabulary,
    scope: Scope,
    batch: PreparedBatch,
    dimension: int,
    *,
    copying: bool,
) -> list[Object | BrainError]:
    """One attempt. New rows are copied in if ``copying``; an id that was taken meanwhile then is a UniqueViolationError."""
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
        copied = copying and len(rows) >= _COPY_ROWS and states.keys().isdisjoint(ids)
        stored = await _insert(connection, rows, dimension, new, copied=copied)
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
    connection: Connection, rows: Sequence[ObjectRow], dimension: int, new: NewWords, *, copied: bool
) -> dict[UUID, tuple[datetime, datetime]]:
    """created_at and updated_at of each row that was written; each batch is analysed while its predecessor is written."""
    stored: dict[UUID, tuple[datetime, datetime]] = {}
    keys: dict[UUID | None, set[str]] = {}
    step = max(1, min(_BATCH_ROWS, _BATCH_FLOATS // dimension))
    batches = [rows[start : start + step] for start in range(0, len(rows), step)]
    upcoming = asyncio.create_task(_analysed(batches[0], copied=copied)) if batches else None
    try:
        for number in range(1, len(batches) + 1):
            assert upcoming is not None
            batch, data = await upcoming
            if number < len(batches):
                upcoming = asyncio.create_task(_analysed(batches[number], copied=copied))
            if copied:
                await connection.copy_in("brain_objects", COPY_COLUMNS, data)
                stored |= {row.id: (row.created_at, row.updated_at) for row in batch}
            else:
                written = await connection.fetch(PUT_SQL, *put_arguments(batch, dimension))
                stored |= {row["id"]: (row["created_at"], row["updated_at"]) for row in written}
            for row in batch:
                if row.terms:
                    keys.setdefault(row.namespace_id, set()).update(row.terms.split())
                new.add(row.namespace_id, row.words, part=row.parent_id is not None)
    finally:
        if upcoming is not None:
            upcoming.cancel()
    # All at once and sorted, so that two writers of the same new terms never wait for each other.
    if keys:
        namespaces = [namespace_id for namespace_id, terms in keys.items() for _ in terms]
        await connection.execute(TERMS_SQL, namespaces, list(chain.from_iterable(keys.values())))
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
