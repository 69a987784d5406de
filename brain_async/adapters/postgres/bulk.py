"""Loading a lot: the indexes that cost most to keep up are dropped, and built once at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from uuid import UUID

import msgspec

from brain_async.adapters.postgres.build_memory import build_memory
from brain_async.adapters.postgres.languages import NamespaceLanguages
from brain_async.adapters.postgres.lexical_index import LexicalIndex
from brain_async.adapters.postgres.migrate import create_vector_index
from brain_async.adapters.postgres.pool import UNBOUNDED, Connections
from brain_async.adapters.postgres.vocabulary import PostgresVocabulary, create_words_index, drop_words_index
from brain_async.adapters.postgres.writes import PreparedBatch, prepare, put_prepared
from brain_async.errors import BrainError
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = ["BulkLoadResult", "bulk_load"]

_RENEW_SECONDS = 30.0


class BulkLoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many objects were stored, which were refused and why, in input order, and the seconds each phase took."""

    stored: int
    refused: tuple[tuple[UUID | None, BrainError], ...]
    load_seconds: float
    index_seconds: float


async def _each(
    batches: AsyncIterable[Sequence[Object]] | Iterable[Sequence[Object]],
) -> AsyncIterator[Sequence[Object]]:
    if isinstance(batches, AsyncIterable):
        async for batch in batches:
            yield batch
    else:
        for batch in batches:
            yield batch


async def bulk_load(
    connections: Connections,
    lexical: LexicalIndex,
    languages: NamespaceLanguages,
    vocabulary: PostgresVocabulary,
    batches: AsyncIterable[Sequence[Object]] | Iterable[Sequence[Object]],
    *,
    dimension: int,
    rebuild_indexes: bool,
    maintenance_work_mem: str | None,
    progress: Callable[[int], None] | None,
) -> BulkLoadResult:
    """See ``PostgresStore.bulk_load``."""
    started = time.perf_counter()
    async with connections.transaction() as connection:
        deferred = rebuild_indexes or not await connection.fetchval("select exists (select from brain_objects)")
        if deferred:
            await lexical.suspend(connection)
            await connection.execute("drop index if exists brain_objects_embedding")
            await drop_words_index(connection)
    try:
        stored, refused = await _load(
            connections, lexical if deferred else None, languages, vocabulary, batches, dimension, progress
        )
    finally:
        loaded = time.perf_counter()
        if deferred:
            try:
                await _build(connections, lexical, dimension, maintenance_work_mem)
            except BaseException:
                await lexical.abandon()
                raise
    return BulkLoadResult(
        stored=stored,
        refused=tuple(refused),
        load_seconds=loaded - started,
        index_seconds=time.perf_counter() - loaded,
    )


async def _load(
    connections: Connections,
    suspended: LexicalIndex | None,
    languages: NamespaceLanguages,
    vocabulary: PostgresVocabulary,
    batches: AsyncIterable[Sequence[Object]] | Iterable[Sequence[Object]],
    dimension: int,
    progress: Callable[[int], None] | None,
) -> tuple[int, list[tuple[UUID | None, BrainError]]]:
    """Write batch after batch, each analysed while its predecessor is written."""
    stored = 0
    refused: list[tuple[UUID | None, BrainError]] = []
    renewed = time.monotonic()
    source = _each(batches)

    async def prepare_next() -> PreparedBatch | None:
        batch = await anext(source, None)
        return None if batch is None else await prepare(batch, dimension)

    upcoming = asyncio.create_task(prepare_next())
    try:
        while (batch := await upcoming) is not None:
            upcoming = asyncio.create_task(prepare_next())
            results = await put_prepared(connections, languages, vocabulary, Scope(), batch, dimension)
            for obj, result in zip(batch.objects, results, strict=True):
                if isinstance(result, BrainError):
                    refused.append((obj.id, result))
                else:
                    stored += 1
            if progress is not None:
                progress(stored)
            if suspended is not None and time.monotonic() - renewed > _RENEW_SECONDS:
                async with connections.transaction() as connection:
                    await suspended.keep_suspended(connection)
                renewed = time.monotonic()
    finally:
        upcoming.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await upcoming
    return stored, refused


async def _build(
    connections: Connections, lexical: LexicalIndex, dimension: int, maintenance_work_mem: str | None
) -> None:
    """Build the vector and the lexical index side by side, each on its own connection, and the small ones."""
    await lexical.resume()
    if maintenance_work_mem is None:
        async with connections.session() as connection:
            maintenance_work_mem = await build_memory(connection, dimension)
    memory = maintenance_work_mem

    async def vectors() -> None:
        async with connections.transaction(maintenance_work_mem=memory) as connection:
            await create_vector_index(connection, dimension)
            await create_words_index(connection)

    outcomes = await asyncio.gather(vectors(), lexical.build_suspended(), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    await lexical.tidy()
    async with connections.session() as connection:
        await connection.execute(
            "analyze brain_objects, brain_terms, brain_words, brain_part_counts", timeout=UNBOUNDED
        )
        await connection.execute("select brain_compact_counts()")
