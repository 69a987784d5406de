"""MemoryEdgeLedger: the record of links, in this process."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from anyio.lowlevel import checkpoint

from brain_async.adapters.memory.edges import EdgeTable, edge_order
from brain_async.adapters.memory.outbox import MemoryEdgeOutbox
from brain_async.errors import NamespaceMismatchError
from brain_async.model.recording import owned_by, recorded_by, recorded_edge
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope

__all__ = ["MemoryEdgeLedger"]


class MemoryEdgeLedger:
    """Implements ``ports.ledger.EdgeLedger`` and KeepsEdgeOutbox without durability: what it holds is gone with the
    process, and what is removed leaves no trace.

    An edge that names no namespace is recorded under the scope's; recording one of another namespace raises
    NamespaceMismatchError and records nothing. An edge recorded after its removal starts with a new created_at.
    """

    def __init__(self) -> None:
        self._edges = EdgeTable()
        self._keys: list[EdgeKey] = []
        self._changed = False
        self._outbox = MemoryEdgeOutbox(self._edges)

    @property
    def graph_outbox(self) -> MemoryEdgeOutbox:
        """As in the port."""
        return self._outbox

    async def record_edges(self, scope: Scope, edges: Sequence[Edge]) -> Sequence[Edge]:
        await checkpoint()
        owned = [owned_by(scope, edge) for edge in edges]
        if None in owned:
            raise NamespaceMismatchError("an edge is not of the scope's namespace", field="namespace_id")
        recorded = []
        now = datetime.now(UTC)
        for edge in owned:
            if edge is not None:
                known = self._edges.get(edge.namespace_id, edge.key)
                edge = recorded_edge(edge, known_created_at=None if known is None else known.meta.created_at, now=now)
                self._edges.put(edge)
                self._outbox.note(edge.namespace_id, edge.key, edge.meta.updated_at)
                recorded.append(edge)
        self._changed = True
        return recorded

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey], *, at: datetime) -> None:  # noqa: ARG002
        await checkpoint()
        for key in keys:
            for edge in self._edges.visible(scope, key):
                self._drop(edge)
        self._changed = True

    async def remove_object_edges(
        self,
        scope: Scope,
        object_id: UUID,
        *,
        at: datetime,  # noqa: ARG002
        until: datetime | None = None,
    ) -> None:
        await checkpoint()
        for edge in self._edges.incident(scope, object_id):
            if recorded_by(edge, until):
                self._drop(edge)
        self._changed = True

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        await checkpoint()
        if self._changed:
            self._keys, self._changed = self._edges.keys(), False
        start = 0 if after is None else bisect_right(self._keys, edge_order(after), key=edge_order)
        found: list[Edge] = []
        for place in range(start, len(self._keys)):
            if len(found) >= limit:
                break
            found += self._edges.visible(scope, self._keys[place])
        return found

    def _drop(self, edge: Edge) -> None:
        self._edges.pop(edge.namespace_id, edge.key)
        self._outbox.note(edge.namespace_id, edge.key)
