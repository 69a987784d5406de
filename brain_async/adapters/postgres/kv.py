"""The key-value store as a table beside the objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from brain_async.adapters.postgres.errors import translated
from brain_async.adapters.postgres.kv_batch import Batch
from brain_async.adapters.postgres.pool import Connection, Connections
from brain_async.adapters.postgres.writes import retrying
from brain_async.errors import ClosedError
from brain_async.ports.kv import Scan, Work
from brain_async.ports.kv_groups import AnyWork, Outcome, WorkGroups
from brain_async.ports.kv_work import scan_bounds

if TYPE_CHECKING:
    from typing import Self

    from brain_async.adapters.postgres.store import PostgresStore

__all__ = ["PostgresKeyValueStore", "PostgresSnapshot"]

T = TypeVar("T")

_LOCK_CLASS = 0x6B7631  # "kv1"; the other half of the key is the table, so that schemas do not wait for each other

LOCK_SQL = f"select pg_advisory_xact_lock({_LOCK_CLASS}, 'brain_key_values'::regclass::oid::int)"

GET_SQL = "select key, value from brain_key_values where key = $1"

GET_MANY_SQL = "select key, value from brain_key_values where key = any($1::bytea[])"

_RANGE = "key >= $1 and ($2::bytea is null or key < $2)"

SCAN_SQL = f"select key, value from brain_key_values where {_RANGE} order by key limit $3"

SCAN_DOWN_SQL = f"select key, value from brain_key_values where {_RANGE} order by key desc limit $3"

# One statement for all the reads that works wait for: keys without a place, and the records of each scan under its own.
READ_SQL = """
select 0::bigint as place, key, value from brain_key_values where key = any($1::bytea[])
union all
(select s.place, r.key, r.value
 from unnest($2::bytea[], $3::bytea[], $4::bigint[]) with ordinality s(low, high, most, place)
 cross join lateral (
    select key, value from brain_key_values
    where key >= s.low and (s.high is null or key < s.high) order by key limit s.most
 ) r)
order by place, key
"""

WRITE_SQL = """
with gone as (delete from brain_key_values where key = any($3::bytea[]))
insert into brain_key_values select * from unnest($1::bytea[], $2::bytea[]) u(key, value) order by key
on conflict (key) do update set value = excluded.value
"""

_FIRST_PAGE = 100
_PAGE = 1_000
_PAGE_BYTES = 1 << 20


class PostgresSnapshot:
    """Implements ``ports.kv.KeyValueReader`` between entering and leaving: a repeatable-read transaction.

    It holds one connection of the pool. Its reads wait for each other.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: Connection | None = None
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._connection = await self._stack.enter_async_context(self._connections.snapshot())
        return self

    async def __aexit__(self, *_exc_info: object) -> None:
        with anyio.CancelScope(shield=True):  # a read of another task may be under way
            async with self._turn:
                self._connection = None
        # What the block raised is none of the database's.
        await self._stack.aclose()

    async def get(self, key: bytes) -> bytes | None:
        """As in the port."""
        return (await self._fetch(GET_SQL, key)).get(key)

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """As in the port."""
        return await self._fetch(GET_MANY_SQL, list(set(keys)))

    async def scan(
        self, prefix: bytes, *, after: bytes | None = None, reverse: bool = False
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """As in the port; read in pages, a small one first."""
        low, high = scan_bounds(prefix, after, reverse=reverse)
        page = _FIRST_PAGE
        while True:
            found = await self._fetch(SCAN_DOWN_SQL if reverse else SCAN_SQL, low, high, page)
            for item in found.items():
                yield item
            if len(found) < page:
                return
            last = next(reversed(found))
            low, high = (low, last) if reverse else (last + b"\0", high)
            page = _PAGE if sum(map(len, found.values())) < _PAGE_BYTES else _FIRST_PAGE

    async def scan_many(
        self, prefixes: Sequence[bytes], *, limit: int
    ) -> Mapping[bytes, Sequence[tuple[bytes, bytes]]]:
        """As in the port."""
        asked = list(dict.fromkeys(prefixes))
        async with self._turn:
            if self._connection is None:
                raise ClosedError("the snapshot is closed")
            with translated():
                _, found = await _read(self._connection, (), [Scan(prefix, None, max(0, limit)) for prefix in asked])
        return {scan.prefix: list(records.items()) for scan, records in found.items()}

    async def _fetch(self, sql: str, *arguments: object) -> dict[bytes, bytes]:
        async with self._turn:
            if self._connection is None:
                raise ClosedError("the snapshot is closed")
            with translated():
                return {row[0]: row[1] for row in await self._connection.fetch(sql, *arguments)}


class PostgresKeyValueStore:
    """Implements ``ports.kv.KeyValueStore`` in the database of a ``PostgresStore``, for any number of processes.

    Works of this process that wait together are written in one transaction; an advisory lock puts the transactions of all
    processes in an order. Works run in worker threads. A snapshot that is open holds a connection of the store's pool: who
    commits while holding one needs a second.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._connections = store.connections
        self._groups: WorkGroups | None = None
        self._task: asyncio.Task[None] | None = None

    def snapshot(self) -> PostgresSnapshot:
        """As in the port."""
        return PostgresSnapshot(self._connections)

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        """As in the port."""
        self._connections.check_usable()
        if self._groups is None:
            self._groups = WorkGroups(self._start)
        return await self._groups.submit(work)

    def _start(self, works: Sequence[AnyWork]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._write(works), name="brain key-value commit")

    async def _write(self, works: Sequence[AnyWork]) -> None:
        assert self._groups is not None
        try:
            outcomes = await retrying(lambda: self._write_once(works))
        except Exception as error:
            outcomes = [Outcome(error=error)] * len(works)
        except BaseException as error:  # the loop is ending
            self._groups.finish([Outcome(error=error)] * len(works))
            raise
        self._groups.finish(outcomes)

    async def _write_once(self, works: Sequence[AnyWork]) -> list[Outcome]:
        batch = Batch(works)
        async with self._connections.transaction() as connection:
            await connection.execute(LOCK_SQL)
            while any(missing := await anyio.to_thread.run_sync(batch.advance)):
                batch.read(*await _read(connection, *missing))
            if batch.writes:
                writes = {key: value for key, value in batch.writes.items() if value is not None}
                deletes = [key for key, value in batch.writes.items() if value is None]
                await connection.execute(WRITE_SQL, list(writes), list(writes.values()), deletes)
        return batch.outcomes


async def _read(
    connection: Connection, keys: Iterable[bytes], scans: Iterable[Scan]
) -> tuple[dict[bytes, bytes | None], dict[Scan, dict[bytes, bytes]]]:
    """One statement for all of them."""
    values: dict[bytes, bytes | None] = dict.fromkeys(keys)
    asked = list(scans)
    found: list[dict[bytes, bytes]] = [{} for _ in asked]
    if not asked:
        values.update({row[0]: row[1] for row in await connection.fetch(GET_MANY_SQL, list(values))})
        return values, {}
    bounds = [scan_bounds(scan.prefix, scan.after) for scan in asked]
    columns = [low for low, _ in bounds], [high for _, high in bounds], [scan.limit for scan in asked]
    for place, key, value in await connection.fetch(READ_SQL, list(values), *columns):
        if place:
            found[place - 1][key] = value
        else:
            values[key] = value
    return values, dict(zip(asked, found, strict=True))
