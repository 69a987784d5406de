"""The edge ledger as a table beside the objects. Removed edges are kept, with the time of their removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from brain_async.adapters.postgres.outbox import PostgresEdgeOutbox
from brain_async.adapters.postgres.pool import Connection
from brain_async.adapters.postgres.rows import edge_from_row
from brain_async.adapters.postgres.writes import retrying
from brain_async.errors import NamespaceMismatchError
from brain_async.model.object import NIL_UUID
from brain_async.model.recording import owned_by, recorded_edge
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope

if TYPE_CHECKING:
    from brain_async.adapters.postgres.store import PostgresStore

__all__ = ["PostgresEdgeLedger"]

# Rows are locked and written in key order, so that concurrent batches never deadlock.
LOCK_SQL = """
select e.from_id, e.to_id, e.relation_type, e.namespace_id, e.created_at, e.removed_at
from brain_edges e
join unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) u(from_id, to_id, relation_type, namespace_id)
    using (from_id, to_id, relation_type, namespace_id)
order by e.from_id, e.to_id, e.relation_type, e.namespace_id
for update of e
"""

RECORD_SQL = """
insert into brain_edges (
    from_id, to_id, relation_type, namespace_id, note, status, role, confidence, evidence_id, created_at, updated_at)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::uuid[],
    $10::timestamptz[], $11::timestamptz[])
    as u(from_id, to_id, relation_type, namespace_id, note, status, role, confidence, evidence_id, created_at, updated_at)
order by from_id, to_id, relation_type collate "C", namespace_id
on conflict (from_id, to_id, relation_type, namespace_id) do update set
    note = excluded.note, status = excluded.status, role = excluded.role, confidence = excluded.confidence,
    evidence_id = excluded.evidence_id, created_at = excluded.created_at, updated_at = excluded.updated_at,
    removed_at = null
"""

REMOVE_SQL = """
update brain_edges e set removed_at = $5
from (
    select e.from_id, e.to_id, e.relation_type, e.namespace_id
    from brain_edges e
    join unnest($2::uuid[], $3::uuid[], $4::text[]) u(from_id, to_id, relation_type) using (from_id, to_id, relation_type)
    where e.removed_at is null and ($1::uuid is null or e.namespace_id = $1)
    order by e.from_id, e.to_id, e.relation_type, e.namespace_id
    for update of e
) live
where (e.from_id, e.to_id, e.relation_type, e.namespace_id)
    = (live.from_id, live.to_id, live.relation_type, live.namespace_id)
"""

REMOVE_OBJECT_SQL = """
update brain_edges e set removed_at = $3
from (
    select e.from_id, e.to_id, e.relation_type, e.namespace_id
    from brain_edges e
    where (e.from_id = $2 or e.to_id = $2) and e.removed_at is null and ($1::uuid is null or e.namespace_id = $1)
    order by e.from_id, e.to_id, e.relation_type, e.namespace_id
    for update of e
) live
where (e.from_id, e.to_id, e.relation_type, e.namespace_id)
    = (live.from_id, live.to_id, live.relation_type, live.namespace_id)
"""

# "with ties": an unrestricted scope can see one key in several namespaces, and the next page starts after the key.
SCAN_SQL = """
select * from brain_edges
where removed_at is null and ($1::uuid is null or namespace_id = $1)
    and ($2::uuid is null or (from_id, to_id, relation_type) > ($2, $3::uuid, $4::text))
order by from_id, to_id, relation_type
fetch first ($5::bigint) rows with ties
"""


def _owned(scope: Scope, edge: Edge) -> Edge:
    owned = owned_by(scope, edge)
    if owned is None:
        raise NamespaceMismatchError("an edge is not of the scope's namespace", field="namespace_id")
    return owned


def _key_columns(edges: Sequence[Edge]) -> list[list[Any]]:
    return [
        [edge.from_id for edge in edges],
        [edge.to_id for edge in edges],
        [edge.relation_type for edge in edges],
        [edge.namespace_id or NIL_UUID for edge in edges],
    ]


def _meta_columns(edges: Sequence[Edge]) -> list[list[Any]]:
    names = ("note", "status", "role", "confidence", "evidence_id", "created_at", "updated_at")
    return [[getattr(edge.meta, name) for edge in edges] for name in names]


async def _record(connection: Connection, edges: Sequence[Edge]) -> list[Edge]:
    """Record edges of distinct keys."""
    known = {
        (row["namespace_id"], EdgeKey(row["from_id"], row["to_id"], row["relation_type"])): row["created_at"]
        for row in await connection.fetch(LOCK_SQL, *_key_columns(edges))
        if row["removed_at"] is None
    }
    now = datetime.now(UTC)
    recorded = [
        recorded_edge(edge, known_created_at=known.get((edge.namespace_id or NIL_UUID, edge.key)), now=now)
        for edge in edges
    ]
    await connection.execute(RECORD_SQL, *_key_columns(recorded), *_meta_columns(recorded))
    return recorded


class PostgresEdgeLedger:
    """Implements ``ports.ledger.EdgeLedger`` and KeepsEdgeOutbox in the database of a ``PostgresStore``.

    An edge that names no namespace is recorded under the scope's; recording one of another namespace raises
    NamespaceMismatchError and records nothing. An edge recorded after its removal starts with a new created_at.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._connections = store.connections
        self._outbox = PostgresEdgeOutbox(store.connections)

    @property
    def graph_outbox(self) -> PostgresEdgeOutbox:
        """As in the port."""
        return self._outbox

    async def record_edges(self, scope: Scope, edges: Sequence[Edge]) -> Sequence[Edge]:
        """As in the port."""
        owned = [_owned(scope, edge) for edge in edges]
        # A key that comes again is recorded again, in a later round: one statement cannot write a row twice.
        seen: Counter[tuple[EdgeKey, Any]] = Counter()
        rounds: dict[int, list[int]] = {}
        for index, edge in enumerate(owned):
            rounds.setdefault(seen[edge.key, edge.namespace_id], []).append(index)
            seen[edge.key, edge.namespace_id] += 1

        async def once() -> list[Edge]:
            results = list(owned)
            async with self._connections.transaction() as connection:
                for indexes in rounds.values():
                    recorded = await _record(connection, [owned[index] for index in indexes])
                    for index, edge in zip(indexes, recorded, strict=True):
                        results[index] = edge
            return results

        return await retrying(once) if owned else []

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey], *, at: datetime) -> None:
        """As in the port."""
        columns = [[key.from_id for key in keys], [key.to_id for key in keys], [key.relation_type for key in keys]]

        async def once() -> None:
            async with self._connections.transaction() as connection:
                await connection.execute(REMOVE_SQL, scope.namespace_id, *columns, at)

        if keys:
            await retrying(once)

    async def remove_object_edges(self, scope: Scope, object_id: UUID, *, at: datetime) -> None:
        """As in the port."""

        async def once() -> None:
            async with self._connections.transaction() as connection:
                await connection.execute(REMOVE_OBJECT_SQL, scope.namespace_id, object_id, at)

        await retrying(once)

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        """As in the port."""
        if limit <= 0:
            return []
        start = (None, None, None) if after is None else (after.from_id, after.to_id, after.relation_type)
        async with self._connections.session() as connection:
            rows = await connection.fetch(SCAN_SQL, scope.namespace_id, *start, limit)
        return [edge_from_row(row) for row in rows]
