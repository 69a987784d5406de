"""Port of the edge ledger: the durable record of every link, from which the graph can be rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope

__all__ = ["EdgeLedger"]


@runtime_checkable
class EdgeLedger(Protocol):
    """Records links before the graph sees them. Failures and cancellation are as in ``ports.store``."""

    async def record_edges(self, scope: Scope, edges: Sequence[Edge]) -> Sequence[Edge]:
        """Insert or update by key, atomically; returns the edges as recorded (created_at kept, times filled), in order.

        Raises NamespaceMismatchError for an edge that the scope does not see. A ledger may also refuse one that another
        namespace holds, with the same error, and one from an object to itself, with SelfEdgeError.
        """
        ...

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey], *, at: datetime) -> None:
        """Mark removed; unknown and already removed keys are ignored."""
        ...

    async def remove_object_edges(
        self, scope: Scope, object_id: UUID, *, at: datetime, until: datetime | None = None
    ) -> None:
        """Mark every edge from or to the object removed; with ``until``, those only that were last recorded by then."""
        ...

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        """The next ``limit`` live edges in ascending (from, to, label) order after ``after``."""
        ...
