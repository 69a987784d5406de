"""Ports of the graph's outbox: what was written durably and the graph still has to be told.

Whatever writes an object or an edge writes its entry in the same transaction; the graph is told afterwards, and what was
told is settled. There is at most one entry per key: it names what changed, not how, and that is read when it is delivered.
Every write of an entry gives it a new version, so that settling never loses a change that came in between.
Failures and cancellation are as in ``ports.store``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar, runtime_checkable
from uuid import UUID

import msgspec

from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope

__all__ = ["EdgeOutbox", "GraphOutbox", "KeepsEdgeOutbox", "KeepsNodeOutbox", "NodeOutbox", "OutboxEntry"]

K = TypeVar("K")
V_co = TypeVar("V_co", covariant=True)


class OutboxEntry(msgspec.Struct, Generic[K], frozen=True, kw_only=True):
    """One thing that the graph has to be told.

    Attributes:
        key: the object's id, or the edge's key.
        namespace_id: of what changed; None where none is known.
        version: unique within the outbox, and new at every write of the entry.
        stamp: updated_at of what was written, to recognise it by; None for an entry that was reopened.
        with_edges: the node may have been dropped, and its edges with it: they are due again, too.
        deleted_at: when the object was last deleted since it was settled; kept when it is put again. Links recorded by then
            must not outlive the deletion, whoever deleted it may not have removed them.
    """

    key: K
    namespace_id: UUID | None
    version: int
    stamp: datetime | None = None
    with_edges: bool = False
    deleted_at: datetime | None = None


@runtime_checkable
class GraphOutbox(Protocol[K, V_co]):
    """The entries of one kind of thing."""

    async def pending(self, scope: Scope, *, after: int, limit: int) -> Sequence[OutboxEntry[K]]:
        """The next ``limit`` entries of a version above ``after``, by ascending version."""
        ...

    async def pending_for(self, scope: Scope, keys: Sequence[K]) -> Sequence[OutboxEntry[K]]:
        """The entries of these keys, in any order; keys without one are absent."""
        ...

    async def current(self, scope: Scope, keys: Sequence[K]) -> Sequence[V_co]:
        """What the graph has to hold for these keys, in any order, in full; what it must not hold is absent."""
        ...

    async def settle(self, scope: Scope, entries: Sequence[OutboxEntry[K]]) -> Sequence[OutboxEntry[K]]:
        """Drop those entries that still have the given version; returns the others, which were written again or are gone."""
        ...

    async def reopen(self, scope: Scope, keys: Sequence[K]) -> None:
        """Write an entry for each distinct key that the scope may see, whether or not anything changed."""
        ...

    async def count(self, scope: Scope) -> int:
        """How many entries there are."""
        ...


@runtime_checkable
class NodeOutbox(GraphOutbox[UUID, Object], Protocol):
    """Entries by object id. ``current`` gives live first-class objects with content and embedding.

    Written for first-class objects: at each put, at soft_delete, and when an object becomes a part or stops being one. An
    object that was revived has ``with_edges`` set, and one that was deleted ``deleted_at``, until it is settled.
    """

    async def reopen(self, scope: Scope, keys: Sequence[UUID], *, with_edges: bool = False) -> None:
        """As in GraphOutbox; ``with_edges`` is set on the entries."""
        ...


@runtime_checkable
class EdgeOutbox(GraphOutbox[EdgeKey, Edge], Protocol):
    """Entries by edge key. ``current`` gives the edges that are recorded; whether their ends are live is not checked.

    An unrestricted scope can see one key in several namespaces, with an entry each.
    """

    async def reopen_around(self, scope: Scope, object_id: UUID) -> None:
        """``reopen`` every recorded edge from or to the object."""
        ...

    async def pending_around(self, scope: Scope, object_id: UUID, *, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """At most ``limit`` entries of edges from or to the object, by ascending version."""
        ...


@runtime_checkable
class KeepsNodeOutbox(Protocol):
    """A store that writes an outbox along with its rows."""

    @property
    def graph_outbox(self) -> NodeOutbox:
        """Always the same one."""
        ...


@runtime_checkable
class KeepsEdgeOutbox(Protocol):
    """An edge ledger that writes an outbox along with its records."""

    @property
    def graph_outbox(self) -> EdgeOutbox:
        """Always the same one."""
        ...
