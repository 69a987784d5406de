"""The graph's outbox as two tables, written by triggers in the transactions that change objects and edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
from pgvector import HalfVector

from brain_async.adapters.postgres.pool import Connections
from brain_async.adapters.postgres.rows import OBJECT_COLUMNS, edge_from_row, object_from_row
from brain_async.adapters.postgres.writes import retrying
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.outbox import OutboxEntry

__all__ = ["PostgresEdgeOutbox", "PostgresNodeOutbox"]

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

EDGES_SQL = f"""
select * from brain_graph_edge_outbox b where {_VISIBLE} and b.version > $2 order by b.version limit $3
"""

_KEYS = "unnest($2::uuid[], $3::uuid[], $4::text[]) u(from_id, to_id, relation_type)"

EDGES_FOR_SQL = f"""
select b.* from brain_graph_edge_outbox b join {_KEYS} using (from_id, to_id, relation_type) where {_VISIBLE}
"""

EDGES_AROUND_SQL = f"""
select * from brain_graph_edge_outbox b where {_VISIBLE} and (b.from_id = $2 or b.to_id = $2) order by b.version limit $3
"""

CURRENT_EDGES_SQL = f"""
select b.* from brain_edges b join {_KEYS} using (from_id, to_id, relation_type) where {_VISIBLE} and b.removed_at is null
"""

SETTLE_EDGES_SQL = """
with handled as (
    select b.from_id, b.to_id, b.relation_type, b.namespace_id from brain_graph_edge_outbox b
    join unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) u(from_id, to_id, relation_type, version)
        using (from_id, to_id, relation_type, version)
    order by b.from_id, b.to_id, b.relation_type, b.namespace_id for update of b
)
delete from brain_graph_edge_outbox b using handled h
where (b.from_id, b.to_id, b.relation_type, b.namespace_id) = (h.from_id, h.to_id, h.relation_type, h.namespace_id)
returning b.version
"""

_REOPEN_EDGES = """
insert into brain_graph_edge_outbox as b (from_id, to_id, relation_type, namespace_id)
select * from ({rows}) due
order by from_id, to_id, relation_type collate "C", namespace_id
on conflict (from_id, to_id, relation_type, namespace_id) do update set version = excluded.version, stamp = null
"""

# An edge that the scope's own namespace never recorded is reopened there; an unrestricted scope reopens every namespace's.
REOPEN_EDGES_SQL = _REOPEN_EDGES.format(
    rows=f"""
select u.from_id, u.to_id, u.relation_type, coalesce(e.namespace_id, $1, $5) as namespace_id
from {_KEYS} left join brain_edges e
    on (e.from_id, e.to_id, e.relation_type) = (u.from_id, u.to_id, u.relation_type)
    and ($1::uuid is null or e.namespace_id = $1)
"""
)

REOPEN_AROUND_SQL = _REOPEN_EDGES.format(
    rows=f"""
select from_id, to_id, relation_type, namespace_id from brain_edges b
where {_VISIBLE} and (from_id = $2 or to_id = $2) and removed_at is null
"""
)

COUNT_EDGES_SQL = f"select count(*) from brain_graph_edge_outbox b where {_VISIBLE}"


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
    )


def _edge_entry(row: asyncpg.Record) -> OutboxEntry[EdgeKey]:
    return OutboxEntry(
        key=EdgeKey(row["from_id"], row["to_id"], row["relation_type"]),
        namespace_id=_namespace(row),
        version=row["version"],
        stamp=row["stamp"],
    )


def _key_columns(keys: Sequence[EdgeKey]) -> list[list[Any]]:
    return [[key.from_id for key in keys], [key.to_id for key in keys], [key.relation_type for key in keys]]


class _Tables:
    """Statements over the outbox."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def _fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        async with self._connections.session() as connection:
            return await connection.fetch(sql, *arguments)

    async def _change(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        return await retrying(lambda: self._fetch(sql, *arguments))


class PostgresNodeOutbox(_Tables):
    """Implements ``ports.outbox.NodeOutbox``."""

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


class PostgresEdgeOutbox(_Tables):
    """Implements ``ports.outbox.EdgeOutbox``."""

    async def pending(self, scope: Scope, *, after: int, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        return [_edge_entry(row) for row in await self._fetch(EDGES_SQL, scope.namespace_id, after, max(0, limit))]

    async def pending_for(self, scope: Scope, keys: Sequence[EdgeKey]) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        rows = await self._fetch(EDGES_FOR_SQL, scope.namespace_id, *_key_columns(keys)) if keys else []
        return [_edge_entry(row) for row in rows]

    async def pending_around(self, scope: Scope, object_id: UUID, *, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        rows = await self._fetch(EDGES_AROUND_SQL, scope.namespace_id, object_id, max(0, limit))
        return [_edge_entry(row) for row in rows]

    async def current(self, scope: Scope, keys: Sequence[EdgeKey]) -> Sequence[Edge]:
        """As in the port."""
        rows = await self._fetch(CURRENT_EDGES_SQL, scope.namespace_id, *_key_columns(keys)) if keys else []
        return [edge_from_row(row) for row in rows]

    async def settle(
        self,
        scope: Scope,  # noqa: ARG002
        entries: Sequence[OutboxEntry[EdgeKey]],
    ) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        if not entries:
            return []
        columns = _key_columns([entry.key for entry in entries])
        versions = [entry.version for entry in entries]
        settled = {row["version"] for row in await self._change(SETTLE_EDGES_SQL, *columns, versions)}
        return [entry for entry in entries if entry.version not in settled]

    async def reopen(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        """As in the port."""
        if keys:
            await self._change(REOPEN_EDGES_SQL, scope.namespace_id, *_key_columns(keys), NIL_UUID)

    async def reopen_around(self, scope: Scope, object_id: UUID) -> None:
        """As in the port."""
        await self._change(REOPEN_AROUND_SQL, scope.namespace_id, object_id)

    async def count(self, scope: Scope) -> int:
        """As in the port."""
        found: int = (await self._fetch(COUNT_EDGES_SQL, scope.namespace_id))[0][0]
        return found
