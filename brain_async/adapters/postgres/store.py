"""PostgresStore: objects, kinds and the three search channels over parts, in PostgreSQL 15 or newer."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import anyio

from brain_async.adapters.postgres import kinds as kind_rows
from brain_async.adapters.postgres import reads, writes
from brain_async.adapters.postgres.bulk import BulkLoadResult, bulk_load
from brain_async.adapters.postgres.describe import StoreDescription, describe
from brain_async.adapters.postgres.fused import search_fused
from brain_async.adapters.postgres.languages import NamespaceLanguages
from brain_async.adapters.postgres.lexical_index import LexicalIndex
from brain_async.adapters.postgres.lexical_portable import search_portable
from brain_async.adapters.postgres.lexical_textsearch import search_textsearch
from brain_async.adapters.postgres.migrate import BackendName, LexicalChoice, migrate
from brain_async.adapters.postgres.outbox import PostgresNodeOutbox
from brain_async.adapters.postgres.pool import Connections, create_pool
from brain_async.adapters.postgres.probe import probe
from brain_async.adapters.postgres.rows import candidate_from_row
from brain_async.adapters.postgres.trigrams import trigram_statement
from brain_async.adapters.postgres.vectors import vector_statement
from brain_async.adapters.postgres.vocabulary import PostgresVocabulary
from brain_async.config import ChannelName
from brain_async.errors import BackendError, BrainError, SearchIndexNotReadyError
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.health import BackendHealth
from brain_async.model.kind import KindSpec
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ports.store import Hydration, Vector
from brain_async.ports.vocabulary import VocabularyWord

if TYPE_CHECKING:
    from brain_async.adapters.postgres.pool import Pool

__all__ = ["PostgresStore", "open_postgres"]

_T = TypeVar("_T")

_MAX_K = 2**31 - 1_024
_COMPACT_EVERY = 256
_PACK_EVERY = 1_024
_REBUILDS = 3
"""How often one search waits for an index that turns stale again before it is answered."""


class PostgresStore:
    """Implements ObjectReader, PassageReader, ObjectWriter, KindReader, KindWriter, PartSearcher, FusedSearcher, Vocabulary,
    KeepsNodeOutbox and HealthProbe over an asyncpg pool.

    The pool is the host's: it is used as it is, whatever codecs it has, and never closed here. Every call takes one
    connection, waits for it at most ``acquire_timeout`` seconds (then PoolExhaustedError), and may be cancelled at any
    time. A store belongs to the event loop it is first used on (EventLoopMismatchError elsewhere).
    """

    def __init__(
        self,
        pool: Pool,
        *,
        dimension: int,
        lexical: LexicalChoice = "auto",
        acquire_timeout: float = 10.0,
        statement_timeout: float = 30.0,
        transaction_pooler: bool = False,
        search_path: str | None = None,
        maintenance_work_mem: str | None = None,
        exclusive: bool = False,
    ) -> None:
        """Do no I/O; call ``migrate`` before the first use of a database.

        Args:
            dimension: length of every embedding, 1 to 16,000. Up to 4,000 they are indexed, above scanned exactly.
            lexical: the lexical backend a new database gets: ``auto`` is pg_textsearch where the server has version 1.3.1
                or newer, else portable. Older ones lose rows at restarts, crashes and after VACUUM; asked for by name, their
                index is rebuilt whenever that may have happened, and searches wait for it. A database keeps the backend
                it was made with; see ``rebuild_lexical``.
            acquire_timeout: seconds to wait for a connection.
            statement_timeout: seconds a statement may take before it is cancelled (BackendTimeoutError).
            transaction_pooler: the pool's connections go through a transaction-mode pooler. The pool must then have been
                made with ``statement_cache_size=0``.
            search_path: schemas to look for the tables in, behind such a pooler; elsewhere the pool's own setting counts.
            maintenance_work_mem: memory for building an index, as Postgres writes it; None for what the index needs, up to the
                server's own setting (256 MB at least).
            exclusive: nobody else takes connections of the pool. They are then kept between calls, which costs less.
        """
        self._dimension = dimension
        self._lexical_choice: LexicalChoice = lexical
        self._maintenance_work_mem = maintenance_work_mem
        self._puts = self._put_objects = 0
        self.connections = Connections(
            pool,
            acquire_timeout=acquire_timeout,
            statement_timeout=statement_timeout,
            transaction_pooler=transaction_pooler,
            local_settings={"search_path": search_path} if transaction_pooler and search_path else {},
            exclusive=exclusive,
        )
        self._lexical = LexicalIndex(self.connections, dimension=dimension, maintenance_work_mem=maintenance_work_mem)
        self._languages = NamespaceLanguages(self.connections)
        self._outbox = PostgresNodeOutbox(self.connections)
        self._vocabulary = PostgresVocabulary(self.connections)

    @property
    def graph_outbox(self) -> PostgresNodeOutbox:
        """As in the port."""
        return self._outbox

    @property
    def dimension(self) -> int:
        """Length of every embedding."""
        return self._dimension

    @property
    def lexical_backend(self) -> BackendName | None:
        """The lexical backend of the database; None before ``migrate`` or the first lexical search."""
        return self._lexical.known_backend

    async def migrate(self) -> None:
        """Create or upgrade the tables, and build what indexes are missing or stale. Safe from many processes at once.

        While a bulk load is running it leaves the indexes to that.
        Raises DimensionMismatchError when the database holds another dimension, MissingExtensionError,
        InvalidInputError when it keeps up another lexical backend than the one asked for, and BackendError when a newer
        version of this library has migrated it.
        """
        await migrate(self.connections, self._dimension, self._lexical_choice)
        await self._vocabulary.complete()
        with suppress(SearchIndexNotReadyError):
            await self._lexical.ensure_ready()
        await self._lexical.backend(refresh=True)
        with suppress(BackendError):
            await self._lexical.pack()

    async def aclose(self) -> None:
        """Refuse further calls (ClosedError). Idempotent; the pool stays open."""
        await self._lexical.aclose()
        await self.connections.aclose()

    async def describe(self) -> StoreDescription:
        """Versions, backend, counts and index states."""
        description = await describe(self.connections)
        if description is None:
            raise BackendError("the store's tables are not there: call migrate()")
        return description

    async def health(self) -> BackendHealth:
        """As in the port: server version, migration, dimension, pgvector, lexical backend and state, pool."""
        return await probe(self.connections)

    async def rebuild_lexical(self, backend: BackendName | None = None) -> None:
        """Build the lexical index anew, switching the database to ``backend`` if given.

        Reads go on meanwhile, and with pg_textsearch writes do too. Lexical searches wait while a switch is under way.
        """
        await self._lexical.switch(backend)

    async def bulk_load(
        self,
        batches: AsyncIterable[Sequence[Object]] | Iterable[Sequence[Object]],
        *,
        rebuild_indexes: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> BulkLoadResult:
        """Put many batches (500 to 2,000 objects each are best), parents before or together with their parts.

        Into an empty store, or with ``rebuild_indexes``, the vector and lexical indexes are dropped first and built at the
        end: several times faster, but lexical searches meanwhile raise SearchIndexNotReadyError and vector searches are
        exact. Each batch is one transaction. Should the process die or the call be cancelled, ``migrate`` builds what
        is missing, and so does the next search its lexical index. The graph learns of what was loaded by
        ``Engine.reconcile``.

        Args:
            progress: called with the number of objects stored so far, after each batch.
        """
        return await bulk_load(
            self.connections,
            self._lexical,
            self._languages,
            self._vocabulary,
            batches,
            dimension=self._dimension,
            rebuild_indexes=rebuild_indexes,
            maintenance_work_mem=self._maintenance_work_mem,
            progress=progress,
        )

    async def get(self, scope: Scope, object_id: UUID) -> Object | None:
        """As in the port."""
        return await reads.get(self.connections, scope, object_id)

    async def get_many(self, scope: Scope, object_ids: Sequence[UUID]) -> Sequence[Object]:
        """As in the port."""
        return await reads.get_many(self.connections, scope, object_ids)

    async def hydrate(self, scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID] = ()) -> Hydration:
        """As in the port."""
        return await reads.hydrate(self.connections, scope, object_ids, part_ids)

    async def list_children(
        self, scope: Scope, parent_ids: Sequence[UUID], *, limit: int | None = None
    ) -> Mapping[UUID, Sequence[Object]]:
        """As in the port."""
        return await reads.list_children(self.connections, scope, parent_ids, limit=limit)

    async def scan(self, scope: Scope, *, first_class: bool, after: UUID | None, limit: int) -> Sequence[Object]:
        """As in the port."""
        return await reads.scan(self.connections, scope, first_class=first_class, after=after, limit=limit)

    async def read_passages(
        self, scope: Scope, object_ids: Sequence[UUID], *, content: bool, embedding: bool
    ) -> Mapping[UUID, Object]:
        """As in the port. Embeddings come in the half precision they are kept in."""
        return await reads.read_passages(self.connections, scope, object_ids, content=content, embedding=embedding)

    async def put_objects(self, scope: Scope, objects: Sequence[Object]) -> Sequence[Object | BrainError]:
        """As in the port. Also refuses, per object, values that no row can hold (InvalidValueError)."""
        if not objects:
            return []
        batch = await writes.prepare(objects, self._dimension)
        results = await writes.put_prepared(
            self.connections, self._languages, self._vocabulary, scope, batch, self._dimension
        )
        await self._keep_small(len(objects))
        return results

    async def _keep_small(self, put: int) -> None:
        """Fold what writers only ever append, now and then. What was written is written, whether that succeeds or not."""
        self._puts += 1
        self._put_objects += put
        with suppress(BackendError):
            if self._puts % _COMPACT_EVERY == 0:
                async with self.connections.session() as connection:
                    await connection.execute("select brain_compact_counts()")
            if self._put_objects >= _PACK_EVERY:
                self._put_objects = 0
                await self._lexical.pack()

    async def soft_delete(self, scope: Scope, object_id: UUID, *, at: datetime) -> None:
        """As in the port."""
        await writes.soft_delete(self.connections, self._vocabulary, scope, object_id, at)

    async def list_kinds(self) -> Sequence[KindSpec]:
        """As in the port."""
        return await kind_rows.list_kinds(self.connections)

    async def put_kinds(self, kinds: Sequence[KindSpec]) -> None:
        """As in the port; of two specs of one name in a batch the later counts."""
        await kind_rows.put_kinds(self.connections, kinds)

    async def search_lexical(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """As in the port. A stale index is rebuilt first; SearchIndexNotReadyError while a bulk load is running."""
        if k <= 0:
            return []
        return await self._when_ready(lambda: self._search_lexical(scope, query, filters, k))

    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        """As in the port. A stale lexical index is rebuilt first, as in ``search_lexical``."""
        if scope.namespace_id is not None and not await self._languages.of(scope) <= {DEFAULT_LANGUAGE}:
            return {}
        return await self._when_ready(lambda: self._vocabulary.near_words(scope, words))

    async def _when_ready(self, call: Callable[[], Awaitable[_T]]) -> _T:
        for _ in range(_REBUILDS):
            with suppress(SearchIndexNotReadyError):
                return await call()
            await self._lexical.ensure_ready()
        return await call()

    async def _search_lexical(self, scope: Scope, query: str, filters: Filters, k: int) -> Sequence[Candidate]:
        search = search_portable if await self._lexical.backend() == "portable" else search_textsearch
        async with self.connections.session() as connection:
            rows = await search(connection, self._languages, scope, query, filters, k=min(k, _MAX_K))
        return [candidate_from_row(row) for row in rows]

    async def search_trigram(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """As in the port."""
        if k <= 0:
            return []
        return await self._candidates(trigram_statement(scope, query, filters, k=min(k, _MAX_K)))

    async def search_vector(self, scope: Scope, vector: Vector, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """As in the port. Embeddings are kept in half precision: similarities are exact to about 1e-3."""
        if k <= 0:
            return []
        return await self._candidates(
            vector_statement(scope, vector, filters, k=min(k, _MAX_K), dimension=self._dimension)
        )

    async def search_fused(
        self,
        scope: Scope,
        query: str,
        vector: Vector | None,
        filters: Filters,
        channels: Sequence[ChannelName],
        *,
        k: int,
    ) -> Mapping[ChannelName, Sequence[Candidate]]:
        """As in the port, on one connection: one statement, two with the portable backend.

        The lexical index is kept fresh as by ``search_lexical``.
        """
        if k <= 0:
            return {channel: [] for channel in channels}
        return await self._when_ready(lambda: self._search_fused(scope, query, vector, filters, channels, k))

    async def _search_fused(
        self, scope: Scope, query: str, vector: Vector | None, filters: Filters, channels: Sequence[ChannelName], k: int
    ) -> Mapping[ChannelName, Sequence[Candidate]]:
        backend = await self._lexical.backend()
        async with self.connections.session() as connection:
            return await search_fused(
                connection,
                self._languages,
                scope,
                query,
                vector,
                filters,
                channels,
                k=min(k, _MAX_K),
                dimension=self._dimension,
                backend=backend,
            )

    async def _candidates(self, statement: tuple[str, list[Any]] | None) -> Sequence[Candidate]:
        if statement is None:
            return []
        sql, arguments = statement
        async with self.connections.session() as connection:
            return [candidate_from_row(row) for row in await connection.fetch(sql, *arguments)]


@asynccontextmanager
async def open_postgres(
    dsn: str,
    *,
    dimension: int,
    lexical: LexicalChoice = "auto",
    pool_size: int = 8,
    search_path: str | None = None,
    transaction_pooler: bool = False,
    acquire_timeout: float = 10.0,
    statement_timeout: float = 30.0,
    migrate: bool = True,
) -> AsyncIterator[PostgresStore]:
    """Open a store with a pool of its own, with the connection settings retrieval needs, and close both on leaving.

    Args:
        dsn: as asyncpg takes it.
        pool_size: connections at most, opened as needed.
        search_path: schemas to keep the tables in (the first) and to find the extensions in, as SQL writes it.
        transaction_pooler: the dsn leads to a transaction-mode pooler (PgBouncer): no named statements, no session settings.
        statement_timeout: seconds a statement may take before it is cancelled (BackendTimeoutError).
        migrate: create or upgrade the tables first.

    Raises:
        BackendError: the server cannot be reached. Also what ``PostgresStore.migrate`` raises.
    """
    pool = await create_pool(
        dsn,
        pool_size=pool_size,
        search_path=search_path,
        transaction_pooler=transaction_pooler,
        statement_timeout=statement_timeout,
    )
    store = PostgresStore(
        pool,
        dimension=dimension,
        lexical=lexical,
        acquire_timeout=acquire_timeout,
        statement_timeout=statement_timeout,
        transaction_pooler=transaction_pooler,
        search_path=search_path,
        exclusive=True,
    )
    try:
        if migrate:
            await store.migrate()
        yield store
    finally:
        await store.aclose()
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await pool.close()
        pool.terminate()
