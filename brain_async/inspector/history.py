"""What a Cortex ledger says of one link: every change of it, and the proof that it stands under the ledger's root."""

from __future__ import annotations

from uuid import UUID

import msgspec

from brain_async.cortex import CortexEdgeLedger, Head, JournalEntry, encode_proof, verify_proof
from brain_async.cortex.engine_edge import all_labels, edge_of_record
from brain_async.engine import Engine
from brain_async.errors import EdgeNotFoundError, InvalidEdgeTypeError, UnavailableError
from brain_async.model.relation import Edge, canonical_relation_type
from brain_async.model.scope import Scope

__all__ = ["Change", "EdgeHistory", "has_history", "head_of", "history_of"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the journal, and the link as it was written."""

    entry: JournalEntry
    edge: Edge


class EdgeHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One link at one moment of the ledger.

    Attributes:
        edge, removed: as it stands.
        changes: oldest first, those that the scope sees.
        root, journal_root: 32 bytes each.
        proof: encoded; see ``brain_async.cortex.decode_proof``.
        depth: hashes in the proof.
        verified: whether the proof, read back from its bytes, is of this link and holds under the root.
    """

    edge: Edge
    removed: bool
    changes: tuple[Change, ...]
    root: bytes
    journal_root: bytes
    proof: bytes
    depth: int
    verified: bool


def has_history(engine: Engine) -> bool:
    """Whether the engine records its links in a Cortex ledger."""
    return isinstance(engine.ledger, CortexEdgeLedger)


async def head_of(engine: Engine) -> Head | None:
    """Where the Cortex ledger stands, of all namespaces; None without one."""
    if not isinstance(engine.ledger, CortexEdgeLedger):
        return None
    async with engine.ledger.ledger.snapshot() as view:
        return await view.head()


async def history_of(engine: Engine, scope: Scope, from_id: UUID, label: str, to_id: UUID) -> EdgeHistory:
    """The history of one link. Raises UnavailableError without a Cortex ledger.

    EdgeNotFoundError, in the same words, whether there never was such a link, its label is unknown, or another namespace
    holds it.
    """
    ledger = engine.ledger
    if not isinstance(ledger, CortexEdgeLedger):
        raise UnavailableError("links have a history and proofs only where the engine records them in a Cortex ledger")
    unknown = EdgeNotFoundError("there never was such a link here")
    label = canonical_relation_type(label)
    async with ledger.ledger.snapshot() as view:
        labels = all_labels(await view.labels())
        try:
            record = await view.get_edge(from_id, label, to_id)
        except (EdgeNotFoundError, InvalidEdgeTypeError):
            raise unknown from None
        edge = edge_of_record(record, labels)
        if not scope.sees(edge.namespace_id):
            raise unknown
        entries = await view.history(from_id, label, to_id)
        head, shown = await view.head(), await view.prove(from_id, label, to_id)
    changes = [
        Change(entry=entry, edge=edge_of_record(entry.record, labels)) for entry in entries if entry.record is not None
    ]
    proof = encode_proof(shown)
    same = (shown.src, shown.dst, labels.get(shown.type), shown.edge) == (from_id.bytes, to_id.bytes, label, record)
    return EdgeHistory(
        edge=edge,
        removed=record.tombstoned,
        changes=tuple(change for change in changes if scope.sees(change.edge.namespace_id)),
        root=head.root,
        journal_root=head.journal_root,
        proof=proof,
        depth=len(shown.siblings),
        verified=same and verify_proof(head.root, proof),
    )
