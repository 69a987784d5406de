"""The links that earlier versions kept in the table ``brain_edges``, as events to be replayed into a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brain_async.adapters.postgres.rows import edge_from_row
from brain_async.model.edge_event import EdgeEvent

if TYPE_CHECKING:
    from brain_async.adapters.postgres.store import PostgresStore

__all__ = ["read_edge_events"]

# A removed edge was recorded before, at the latest in the same moment.
EVENTS_SQL = """
with kept as (
    select e.*, o.version is not null as pending
    from brain_edges e left join brain_graph_edge_outbox o using (from_id, to_id, relation_type, namespace_id)
)
select k.*, least(created_at, removed_at) as at, false as removed from kept k
union all
select k.*, removed_at as at, true as removed from kept k where removed_at is not null
order by at, removed, from_id, to_id, relation_type, namespace_id
offset $1 limit $2
"""


async def read_edge_events(store: PostgresStore, offset: int, limit: int) -> list[EdgeEvent]:
    """The next ``limit`` events behind the first ``offset``, in the order in which they happened. Raises BackendError."""
    async with store.connections.session() as connection:
        rows = await connection.fetch(EVENTS_SQL, offset, limit)
    return [
        EdgeEvent(edge=edge_from_row(row), at=row["at"], removed=row["removed"], pending=row["pending"]) for row in rows
    ]
