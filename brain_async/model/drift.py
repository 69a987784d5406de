"""How far the graph is from store and ledger, and what a reconcile did about it."""

from __future__ import annotations

from uuid import UUID

import msgspec

from brain_async.model.relation import EdgeKey

__all__ = ["Drift", "ReconcileFailure", "ReconcileReport"]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What the graph lacks or holds too much. Beside live writes the counts are a snapshot of no single moment.

    Attributes:
        pending_objects, pending_edges: outbox entries: what the graph still has to be told, as far as is known.
        compared: whether the graph was compared with store and ledger; where it was not, the counts below are 0.
        missing_nodes, stale_nodes, orphan_nodes: live first-class objects without a node, nodes made of another version of
            their object, and nodes without a live first-class object.
        missing_edges, stale_edges, orphan_edges: the same of recorded edges between live objects; a stale edge has other
            metadata. Without a ledger edges are not compared.
    """

    pending_objects: int = 0
    pending_edges: int = 0
    compared: bool = False
    missing_nodes: int = 0
    stale_nodes: int = 0
    orphan_nodes: int = 0
    missing_edges: int = 0
    stale_edges: int = 0
    orphan_edges: int = 0

    @property
    def pending(self) -> int:
        """Outbox entries in all."""
        return self.pending_objects + self.pending_edges

    @property
    def differences(self) -> int:
        """Nodes and edges that differ."""
        nodes = self.missing_nodes + self.stale_nodes + self.orphan_nodes
        return nodes + self.missing_edges + self.stale_edges + self.orphan_edges

    @property
    def is_zero(self) -> bool:
        """Whether nothing is pending and nothing differs, as far as was looked."""
        return not self.pending and not self.differences


class ReconcileFailure(msgspec.Struct, frozen=True, kw_only=True):
    """An object or an edge that the graph could not be told of; its entry stays."""

    code: str
    message: str
    object_id: UUID | None = None
    edge: EdgeKey | None = None


class ReconcileReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one reconcile found and did.

    Attributes:
        full: whether it was asked to compare everything.
        before, after: the drift. ``before.differences`` are what a full run repaired; ``after`` is counted anew.
        nodes, edges: how many of each the graph was told of (written or removed).
        failures: what it could not be told of; at most 100 are listed.
        seconds: how long it took.
    """

    full: bool
    before: Drift
    after: Drift
    nodes: int = 0
    edges: int = 0
    failures: tuple[ReconcileFailure, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether no entry failed."""
        return not self.failures
