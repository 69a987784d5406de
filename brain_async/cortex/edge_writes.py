"""Edges of the engine written into a ledger: one rule for its record of links and for the graph made of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from brain_async.cortex.batch import Asking, Batch, NewEdge
from brain_async.cortex.edge_data import encode_edge_data
from brain_async.cortex.engine_edge import edge_of_record, labels_by_code, stored_records
from brain_async.cortex.record import EdgeMetadata
from brain_async.errors import NamespaceMismatchError
from brain_async.model.recording import recorded_edge
from brain_async.model.relation import Edge, EdgeKey
from brain_async.ports.kv import Change

__all__ = ["add_recorded", "live_edges", "record_edges"]


def live_edges(keys: Iterable[EdgeKey]) -> Asking[dict[EdgeKey, Edge]]:
    """Those of these edges that are live, whatever their namespace."""
    found = yield from stored_records(keys)
    labels = yield from labels_by_code()
    return {key: edge_of_record(record, labels) for key, (record, _) in found.items() if not record.tombstoned}


def record_edges(edges: Sequence[Edge], at: datetime, *, by: str = "") -> Asking[tuple[Change, list[Edge]]]:
    """Insert or update by key; of two edges of one key the later counts. Returns them as recorded, in order.

    Raises NamespaceMismatchError for an edge that is live in another namespace, and as ``Batch.add``.
    """
    known = yield from live_edges(edge.key for edge in edges)
    recorded: list[Edge] = []
    for edge in edges:
        before = known.get(edge.key)
        if before is not None and before.namespace_id != edge.namespace_id:
            raise NamespaceMismatchError("another namespace holds this edge", field="namespace_id")
        edge = recorded_edge(edge, known_created_at=None if before is None else before.meta.created_at, now=at)
        known[edge.key] = edge
        recorded.append(edge)
    batch = Batch(at)
    yield from add_recorded(batch, {edge.key: edge for edge in recorded}.values(), by=by)
    return (yield from batch.finish()), recorded


def add_recorded(batch: Batch, edges: Iterable[Edge], *, by: str) -> Asking[None]:
    """Add edges that have their times to a batch, or give those that are live their metadata. New labels are registered."""
    added = list(edges)
    for label in dict.fromkeys(edge.relation_type for edge in added):
        yield from batch.register(label)
    yield from batch.add([_new(edge, by) for edge in added], update=True)


def _new(edge: Edge, by: str) -> NewEdge:
    data = encode_edge_data(edge.meta, edge.namespace_id)
    meta = EdgeMetadata(created_by=by, data=data, created_at=edge.meta.created_at)
    return NewEdge(edge.from_id, edge.relation_type, edge.to_id, meta)
