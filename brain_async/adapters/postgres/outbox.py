"""The graph's outbox as a table, written by triggers in the transactions that change objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
from pgvector import HalfVector

from brain_async.adapters.postgres.pool import Connections
from brain_async.adapters.postgres.rows import OBJECT_COLUMNS, object_from_row
from brain_async.adapters.postgres.writes import retrying
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.scope import Scope
from brain_async.ports.outbox import OutboxEntry

__all__ = ["PostgresNodeOutbox"]

_VISIBLE = "($1::uuid is null or b.namespace_id = $1)"

NODES_SQL = f"""
select * from brain_graph_outbox b where {_VISIBLE} and b.version > $2 order by b.version limit $3
"""

NODES_FOR_SQL = f"select * from brain_graph_outbox b where {_VISIBLE} and b.object_id = any($2::uuid[])"

CURRENT_NODES_SQL = f"""
select {OBJECT_COLUMNS}, o.content, halfvec_send(o.embedding) as embedding
from brain_objects o
where o.id = any($2::uuid[]) and o.parent_id is null and o.deleted_at is null and ($1::uuid is null or o.namespace_id = $1)
"""

# Locked in key order, as every writer locks them, so that settling never deadlocks with a put.
SETTLE_NODES_SQL = """
with handled as (
    select b.object_id from brain_graph_outbox b
    join unnest($1::uuid[], $2::bigint[]) u(object_id, version) using (object_id, version)
    order by b.object_id for update of b
)
delete from brain_graph_outbox b using handled where b.object_id = handled.object_id returning b.version
"""

REOPEN_NODES_SQL = """
insert into brain_graph_outbox as b (object_id, namespace_id, with_edges)
select u.id, coalesce(o.namespace_id, $1, $4), $3 from unnest($2::uuid[]) u(id) left join brain_objects o using (id)
where $1::uuid is null or o.id is null or o.namespace_id = $1
order by u.id
on conflict (object_id) do update set
    version = excluded.version, stamp = null, with_edges = b.with_edges or excluded.with_edges
"""

COUNT_NODES_SQL = f"select count(*) from brain_graph_outbox b where {_VISIBLE}"


def _namespace(row: asyncpg.Record) -> UUID | None:
    found: UUID = row["namespace_id"]
    return None if found == NIL_UUID else found


def _node_entry(row: asyncpg.Record) -> OutboxEntry[UUID]:
    return OutboxEntry(
        key=row["object_id"],
        namespace_id=_namespace(row),
        version=row["version"],
        stamp=row["stamp"],
        with_edges=row["with_edges"],
        deleted_at=row["deleted_at"],
    )


class PostgresNodeOutbox:
    """Implements ``ports.outbox.NodeOutbox``."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def pending(self, scope: Scope, *, after: int, limit: int) -> Sequence[OutboxEntry[UUID]]:
        """As in the port."""
        return [_node_entry(row) for row in await self._fetch(NODES_SQL, scope.namespace_id, after, max(0, limit))]

    async def pending_for(self, scope: Scope, keys: Sequence[UUID]) -> Sequence[OutboxEntry[UUID]]:
        """As in the port."""
        return [_node_entry(row) for row in await self._fetch(NODES_FOR_SQL, scope.namespace_id, keys)] if keys else []

    async def current(self, scope: Scope, keys: Sequence[UUID]) -> Sequence[Object]:
        """As in the port; embeddings as they are kept, in half precision."""
        return [
            object_from_row(
                row,
                content=row["content"],
                embedding=None
                if row["embedding"] is None
                else tuple(HalfVector.from_binary(row["embedding"]).to_list()),
            )
            for row in (await self._fetch(CURRENT_NODES_SQL, scope.namespace_id, keys) if keys else [])
        ]

    async def settle(
        self,
        scope: Scope,  # noqa: ARG002
        entries: Sequence[OutboxEntry[UUID]],
    ) -> Sequence[OutboxEntry[UUID]]:
        """As in the port."""
        if not entries:
            return []
        keys, versions = [entry.key for entry in entries], [entry.version for entry in entries]
        settled = {row["version"] for row in await self._change(SETTLE_NODES_SQL, keys, versions)}
        return [entry for entry in entries if entry.version not in settled]

    async def reopen(self, scope: Scope, keys: Sequence[UUID], *, with_edges: bool = False) -> None:
        """As in the port."""
        if keys:
            await self._change(REOPEN_NODES_SQL, scope.namespace_id, keys, with_edges, NIL_UUID)

    async def count(self, scope: Scope) -> int:
        """As in the port."""
        found: int = (await self._fetch(COUNT_NODES_SQL, scope.namespace_id))[0][0]
        return found

    async def _fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        async with self._connections.session() as connection:
            return await connection.fetch(sql, *arguments)

    async def _change(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        return await retrying(lambda: self._fetch(sql, *arguments))
