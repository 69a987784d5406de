"""How an edge is kept: whose it is and when it was made. One rule for every graph and ledger."""

from __future__ import annotations

from datetime import datetime

import msgspec

from brain_async.model.instant import to_utc
from brain_async.model.relation import Edge
from brain_async.model.scope import Scope

__all__ = ["owned_by", "recorded_by", "recorded_edge"]


def owned_by(scope: Scope, edge: Edge) -> Edge | None:
    """``edge`` in its namespace, the scope's when it names none; None when the scope does not see it."""
    if edge.namespace_id is None and scope.namespace_id is not None:
        return msgspec.structs.replace(edge, namespace_id=scope.namespace_id)
    return edge if scope.sees(edge.namespace_id) else None


def recorded_edge(edge: Edge, *, known_created_at: datetime | None, now: datetime) -> Edge:
    """``edge`` with the times it is kept with, in UTC: its own where given, else those of the known edge and of ``now``.

    ``known_created_at`` is that of the live edge of the same key, None when there is none. A new edge was updated when
    it was created.
    """
    created = edge.meta.created_at or known_created_at or edge.meta.updated_at or now
    updated = edge.meta.updated_at or (created if known_created_at is None else now)
    meta = msgspec.structs.replace(edge.meta, created_at=to_utc(created), updated_at=to_utc(updated))
    return msgspec.structs.replace(edge, meta=meta)


def recorded_by(edge: Edge, until: datetime | None) -> bool:
    """Whether a recorded edge was last recorded at ``until`` or before; True without one."""
    return until is None or edge.meta.updated_at is None or edge.meta.updated_at <= until
