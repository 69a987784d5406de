"""Keeps the lexical index trustworthy: builds it, rebuilds it when it may have lost rows, switches its backend.

The index of pg_textsearch below 1.3.1 is a cache. It loses rows or statistics when the server crashes, when it restarts
after rows were written since the last build, and when new rows take the places that VACUUM freed. Two marks tell: an
unlogged row, which crash recovery empties, and ``dirty``, set in the transaction of the first write after a build; the
build is then stale if the server was started, or the table vacuumed, since. While a VACUUM of that table is at work,
searches can miss rows that have just been written: this is why ``auto`` does not choose such a version. The search
functions look at both in the statement that searches, and refuse (SQLSTATE BRN01) rather than answer short; the store
then rebuilds here and searches again. A build holds a lease in ``brain_lex_state``, so that one process builds and the
others wait; the lease of a process that died is void as soon as its connection is gone.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

import anyio

from brain_async.adapters.postgres.build_memory import build_memory
from brain_async.adapters.postgres.errors import translated
from brain_async.adapters.postgres.lexical_textsearch import TEXTSEARCH_INDEX, create_textsearch_index
from brain_async.adapters.postgres.migrate import BackendName, choose_backend
from brain_async.adapters.postgres.pool import UNBOUNDED, Connection, Connections
from brain_async.errors import BrainError, SearchIndexNotReadyError

__all__ = ["PACK_PARTS", "LexicalIndex"]

_POLL_SECONDS = 0.1

_LEASE_SECONDS = 900.0
_RELEASE_SECONDS = 5.0

_TAKE_LEASE = """
update brain_lex_state set
    lease_until = now() + $1::float8 * interval '1 second',
    lease_pid = case when $2 then null else pg_backend_pid() end,
    pending = false, loading = false
where ($3 or brain_lexical_stale())
    and (lease_until is null or lease_until < now()
         or (lease_pid is not null and not exists (select from pg_stat_activity where pid = lease_pid)))
returning true
"""

_DROP_LEASE = "update brain_lex_state set lease_until = null, lease_pid = null, loading = false"

_LOADING = """
update brain_lex_state set
    lease_until = now() + interval '5 minutes',
    lease_pid = case when $1 then null else pg_backend_pid() end,
    loading = true
"""

_DROP_TRIGGERS = """
drop trigger if exists brain_lexical_inserted on brain_objects;
drop trigger if exists brain_lexical_updated on brain_objects;
drop trigger if exists brain_lexical_deleted on brain_objects;
"""

_TEXTSEARCH_TRIGGERS = """
create trigger brain_lexical_inserted after insert on brain_objects
    for each statement execute function brain_mark_lexical_dirty();
create trigger brain_lexical_updated after update on brain_objects
    for each statement execute function brain_mark_lexical_dirty();
create trigger brain_lexical_deleted after delete on brain_objects
    for each statement execute function brain_mark_lexical_dirty();
"""

_PORTABLE_TRIGGERS = """
create trigger brain_lexical_inserted after insert on brain_objects
    referencing new table as new_rows for each statement execute function brain_post_inserted();
create trigger brain_lexical_updated after update on brain_objects
    referencing old table as old_rows new table as new_rows for each statement execute function brain_post_updated();
create trigger brain_lexical_deleted after delete on brain_objects
    referencing old table as old_rows for each statement execute function brain_post_deleted();
"""

_BUILD_POSTINGS = """
truncate brain_postings, brain_posting_blocks;
select brain_build_postings();
"""

# The newest part, if those written since the last packing are many, by themselves and beside those packed.
_PACKABLE = """
select o.newest from brain_lex_state s cross join (select max(doc) as newest from brain_objects) o
where s.backend = 'portable' and not brain_lexical_stale()
    and o.newest - s.packed_to >= greatest($1::bigint, s.packed_to / $2)
"""

PACK_PARTS = 4_096
_PACK_SHARE = 16
"""Packed is what at least this many parts, and a sixteenth of all, have: reading a posting that is not costs ten times more."""

_PACK_STEPS = 16
_PACK_WAIT = "1s"
"""Postings are packed in sixteen transactions, each of which waits this long at most for transactions that write."""

_SORT_MEMORY = "256MB"

# What runs outside a transaction names things with their schema, as a search_path may be local to transactions.
_TABLE = """
select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = $1::text::regclass
"""

# A build that was cut short leaves an invalid index, under this name or one that begins with it.
_INDEXES = """
select format('%I.%I', n.nspname, c.relname) as name, i.indisvalid and c.relname = $1 as usable
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
where i.indrelid = 'brain_objects'::regclass and starts_with(c.relname, $1)
"""

_TRIGGERED = """
select exists (
    select from pg_trigger where tgrelid = 'brain_objects'::regclass and tgname = 'brain_lexical_inserted'
        and tgfoid = $1::text::regproc)
"""

_BUILT = """
update brain_lex_state set built_at = clock_timestamp(), dirty = pending, lease_until = null, lease_pid = null,
    loading = false
"""


class LexicalIndex:
    """The lexical index of one database, as one store sees it."""

    def __init__(self, connections: Connections, *, dimension: int, maintenance_work_mem: str | None) -> None:
        self._connections = connections
        self._dimension = dimension
        self._maintenance_work_mem = maintenance_work_mem
        self._backend: BackendName | None = None
        self._repair: asyncio.Task[None] | None = None

    @property
    def known_backend(self) -> BackendName | None:
        """The backend as last read; None before that."""
        return self._backend

    async def backend(self, *, refresh: bool = False) -> BackendName:
        """The backend the database keeps up."""
        if self._backend is None or refresh:
            async with self._connections.session() as connection:
                self._backend = await self._read_backend(connection)
        return self._backend

    async def _read_backend(self, connection: Connection) -> BackendName:
        found = await connection.fetchval("select backend from brain_lex_state")
        if found is None:
            raise SearchIndexNotReadyError("the database has not been set up: call migrate()")
        return cast("BackendName", found)

    async def ensure_ready(self) -> None:
        """Return once the index can be trusted, building it if needed.

        Callers share one build, and cancelling one of them does not cancel it. Raises SearchIndexNotReadyError while a
        bulk load is running.
        """
        if self._repair is None or self._repair.done():
            self._repair = asyncio.create_task(self._build_if_stale(), name="brain_async lexical rebuild")
            self._repair.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._repair)
        await self.backend(refresh=True)

    async def aclose(self) -> None:
        """End a build that is under way; whoever finds the index stale next starts it again."""
        if self._repair is not None and not self._repair.done():
            self._repair.cancel()
            await asyncio.wait([self._repair])

    async def switch(self, backend: BackendName | None) -> None:
        """Build anew, for ``backend`` if given. Raises MissingExtensionError when the server lacks it."""
        while not await self._build_leased(force=True, backend=backend):  # noqa: ASYNC110 another process has the lease
            await anyio.sleep(_POLL_SECONDS)
        await self.backend(refresh=True)

    async def suspend(self, connection: Connection) -> None:
        """Within a transaction: drop the index and its upkeep for a bulk load, and say that one is running."""
        await connection.execute(f"drop index if exists {TEXTSEARCH_INDEX}")
        await connection.execute(_DROP_TRIGGERS)
        await connection.execute("truncate brain_postings, brain_posting_blocks")
        await connection.execute("update brain_lex_state set built_at = null")
        await self.keep_suspended(connection)

    async def keep_suspended(self, connection: Connection) -> None:
        """Renew what ``suspend`` said.

        Should the loader die, it lapses with its connection; behind a transaction-mode pooler after five minutes.
        """
        await connection.execute(_LOADING, self._connections.transaction_pooler)

    async def abandon(self) -> None:
        """Take back what ``suspend`` said, also when cancelled: whoever searches or migrates next builds."""
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(BrainError):
            async with self._connections.transaction() as connection:
                await connection.execute(f"{_DROP_LEASE} where loading")

    async def resume(self) -> None:
        """Start the upkeep again after ``suspend``; ``build_suspended`` is to follow."""
        async with self._connections.transaction() as connection:
            await self._install_triggers(connection, await self._read_backend(connection))

    async def build_suspended(self) -> None:
        """Build after ``resume``, while writers wait; ``tidy`` is to follow."""
        async with self._connections.bare() as connection:
            await self._build(connection, concurrently=False)

    async def tidy(self) -> None:
        """Vacuum what ``build_suspended`` wrote: while another index was being built, that could not have done any good."""
        if await self.backend() == "portable":
            async with self._connections.bare() as connection:
                await self._vacuum_postings(connection)

    async def pack(self) -> bool:
        """Pack the postings of what was written lately, if that is much; whether it did. Only the portable backend has any.

        Writers wait, a fraction of a second at a time. It gives up where a transaction that writes stays open.
        """
        async with self._connections.bare() as connection:
            async with self._connections.begin(connection):
                newest = await connection.fetchval(_PACKABLE, PACK_PARTS, _PACK_SHARE)
            if newest is None:
                return False
            step = 2**64 // _PACK_STEPS
            for first in range(-(2**63), 2**63, step):
                end = first + step if first + step < 2**63 else None
                async with self._connections.begin(connection, lock_timeout=_PACK_WAIT):
                    await connection.execute("select brain_pack_postings($1, $2)", first, end, timeout=UNBOUNDED)
            async with self._connections.begin(connection):
                await connection.execute("update brain_lex_state set packed_to = greatest(packed_to, $1)", newest)
            await self._vacuum_postings(connection)
        return True

    async def _build_if_stale(self) -> None:
        while True:
            async with self._connections.session() as connection:
                row = await connection.fetchrow(
                    "select brain_lexical_stale() as stale, brain_bulk_loading() as loading from brain_lex_state"
                )
            if row is None:
                raise SearchIndexNotReadyError("the database has not been set up: call migrate()")
            if not row["stale"]:
                return
            if row["loading"]:
                raise SearchIndexNotReadyError("the lexical index is not there yet: it is built after a bulk load")
            if await self._build_leased(force=False, backend=None):
                return
            await anyio.sleep(_POLL_SECONDS)

    async def _build_leased(self, *, force: bool, backend: BackendName | None) -> bool:
        """Build if the lease could be had; on one connection, since the lease lasts as long as that."""
        async with self._connections.bare() as connection:
            async with self._connections.begin(connection):
                pooled = self._connections.transaction_pooler
                if not await connection.fetchval(_TAKE_LEASE, _LEASE_SECONDS, pooled, force):
                    return False
            try:
                if backend is not None:
                    async with self._connections.begin(connection):
                        await choose_backend(connection, backend, switch=True)
                async with self._connections.begin(connection):
                    await self._install_triggers(connection, await self._read_backend(connection))
                await self._build(connection, concurrently=True)
            except BaseException:
                with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(BrainError), translated():
                    async with self._connections.begin(connection):
                        await connection.execute(_DROP_LEASE)
                raise
            return True

    async def _install_triggers(self, connection: Connection, backend: BackendName) -> None:
        function = "brain_post_inserted" if backend == "portable" else "brain_mark_lexical_dirty"
        if await connection.fetchval(_TRIGGERED, function):
            return
        await connection.execute(_DROP_TRIGGERS)
        await connection.execute(_PORTABLE_TRIGGERS if backend == "portable" else _TEXTSEARCH_TRIGGERS)
        await connection.execute("update brain_lex_state set built_at = null")

    async def _build(self, connection: Connection, *, concurrently: bool) -> None:
        async with self._connections.begin(connection):
            memory = {
                "maintenance_work_mem": self._maintenance_work_mem or await build_memory(connection, self._dimension)
            }
            backend = await self._read_backend(connection)
            table = await connection.fetchval(_TABLE, "brain_objects")
            indexes = await connection.fetch(_INDEXES, TEXTSEARCH_INDEX)
        if backend == "portable":
            async with self._connections.begin(connection, work_mem=_SORT_MEMORY):
                await connection.execute("lock table brain_objects in share mode", timeout=UNBOUNDED)
                await connection.execute(_BUILD_POSTINGS, timeout=UNBOUNDED)
                await connection.execute(_BUILT)
            for index in indexes:
                await connection.execute(f"drop index concurrently if exists {index['name']}", timeout=UNBOUNDED)
            if concurrently:
                await self._vacuum_postings(connection)
            return
        for index in indexes:
            if not index["usable"]:
                await connection.execute(f"drop index concurrently if exists {index['name']}", timeout=UNBOUNDED)
        usable = [index["name"] for index in indexes if index["usable"]]
        if usable:
            await connection.execute(f"reindex index concurrently {usable[0]}", timeout=UNBOUNDED)
        elif concurrently:
            await connection.execute(create_textsearch_index(table, concurrently=True), timeout=UNBOUNDED)
        else:
            async with self._connections.begin(connection, **memory):
                await connection.execute(create_textsearch_index(table, concurrently=False), timeout=UNBOUNDED)
        async with self._connections.begin(connection):
            await connection.execute(_BUILT)
            await connection.execute("insert into brain_lex_marker values (true) on conflict do nothing")
            await connection.execute("truncate brain_postings, brain_posting_blocks")

    async def _vacuum_postings(self, connection: Connection) -> None:
        """Without the visibility map every posting outside the blocks would cost a look at the table."""
        async with self._connections.begin(connection):
            postings, blocks = [
                await connection.fetchval(_TABLE, name) for name in ("brain_postings", "brain_posting_blocks")
            ]
        await connection.execute(f"vacuum (analyze) {postings}, {blocks}", timeout=UNBOUNDED)
