"""The graph's outbox in this process, written in the same step as what it speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from anyio.lowlevel import checkpoint

from brain_async.adapters.memory.edges import EdgeTable
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.outbox import OutboxEntry

__all__ = ["MemoryEdgeOutbox", "MemoryNodeOutbox"]

K = TypeVar("K")


class _Entries(Generic[K]):
    """Entries by namespace and key, in the order of their versions."""

    def __init__(self) -> None:
        self._entries: dict[tuple[UUID | None, K], OutboxEntry[K]] = {}
        self._owners: dict[K, set[UUID | None]] = {}
        self._version = 0

    def note(
        self,
        namespace_id: UUID | None,
        key: K,
        stamp: datetime | None = None,
        *,
        with_edges: bool = False,
        deleted_at: datetime | None = None,
    ) -> None:
        """Write an entry, with a new version."""
        self._version += 1
        known = self._entries.pop((namespace_id, key), None)
        self._owners.setdefault(key, set()).add(namespace_id)
        self._entries[namespace_id, key] = OutboxEntry(
            key=key,
            namespace_id=namespace_id,
            version=self._version,
            stamp=stamp,
            with_edges=with_edges or (known is not None and known.with_edges),
            deleted_at=deleted_at or (None if known is None else known.deleted_at),
        )

    async def pending(self, scope: Scope, *, after: int, limit: int) -> Sequence[OutboxEntry[K]]:
        """As in the port."""
        await checkpoint()
        return self._first(limit, (entry for entry in self._entries.values() if entry.version > after), scope)

    async def pending_for(self, scope: Scope, keys: Sequence[K]) -> Sequence[OutboxEntry[K]]:
        """As in the port."""
        await checkpoint()
        return [
            self._entries[owner, key]
            for key in dict.fromkeys(keys)
            for owner in self._owners.get(key, ())
            if scope.sees(owner)
        ]

    async def settle(self, scope: Scope, entries: Sequence[OutboxEntry[K]]) -> Sequence[OutboxEntry[K]]:  # noqa: ARG002
        """As in the port."""
        await checkpoint()
        overtaken = []
        for entry in entries:
            known = self._entries.get((entry.namespace_id, entry.key))
            if known is not None and known.version == entry.version:
                del self._entries[entry.namespace_id, entry.key]
                self._owners[entry.key].discard(entry.namespace_id)
                if not self._owners[entry.key]:
                    del self._owners[entry.key]
            else:
                overtaken.append(entry)
        return overtaken

    async def count(self, scope: Scope) -> int:
        """As in the port."""
        await checkpoint()
        return sum(scope.sees(entry.namespace_id) for entry in self._entries.values())

    def _first(self, limit: int, entries: Iterable[OutboxEntry[K]], scope: Scope) -> list[OutboxEntry[K]]:
        found: list[OutboxEntry[K]] = []
        for entry in entries:
            if len(found) >= limit:
                break
            if scope.sees(entry.namespace_id):
                found.append(entry)
        return found


class MemoryNodeOutbox(_Entries[UUID]):
    """Implements ``ports.outbox.NodeOutbox`` for a store that gives its rows (deleted ones too) and its live views by id."""

    def __init__(self, row: Callable[[UUID], Object | None], live: Callable[[Scope, UUID], Object | None]) -> None:
        super().__init__()
        self._row = row
        self._live = live

    async def current(self, scope: Scope, keys: Sequence[UUID]) -> Sequence[Object]:
        """As in the port."""
        await checkpoint()
        found = (self._live(scope, key) for key in dict.fromkeys(keys))
        return [obj for obj in found if obj is not None and not obj.is_part]

    async def reopen(self, scope: Scope, keys: Sequence[UUID], *, with_edges: bool = False) -> None:
        """As in the port."""
        await checkpoint()
        for key in keys:
            row = self._row(key)
            if row is None or scope.sees(row.namespace_id):
                self.note(scope.namespace_id if row is None else row.namespace_id, key, with_edges=with_edges)


class MemoryEdgeOutbox(_Entries[EdgeKey]):
    """Implements ``ports.outbox.EdgeOutbox`` over a ledger's edges."""

    def __init__(self, edges: EdgeTable) -> None:
        super().__init__()
        self._edges = edges

    async def current(self, scope: Scope, keys: Sequence[EdgeKey]) -> Sequence[Edge]:
        """As in the port."""
        await checkpoint()
        return [edge for key in dict.fromkeys(keys) for edge in self._edges.visible(scope, key)]

    async def reopen(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        """As in the port."""
        await checkpoint()
        for key in keys:
            owners = [edge.namespace_id for edge in self._edges.visible(scope, key)]
            for owner in owners or [scope.namespace_id]:
                self.note(owner, key)

    async def reopen_around(self, scope: Scope, object_id: UUID) -> None:
        """As in the port."""
        await checkpoint()
        for edge in self._edges.incident(scope, object_id):
            self.note(edge.namespace_id, edge.key)

    async def pending_around(self, scope: Scope, object_id: UUID, *, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        await checkpoint()
        touching = (entry for entry in self._entries.values() if object_id in (entry.key.from_id, entry.key.to_id))
        return self._first(limit, touching, scope)
