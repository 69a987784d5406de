"""Rows: objects and edges as parameters of a write, and rows of a read as candidates, neighbours and edge hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np

from brain_async.errors import DimensionMismatchError, InvalidValueError
from brain_async.model.candidate import Candidate, EdgeHit
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.text import entity_index_text
from helixgraph.properties import (
    index_key,
    index_name,
    index_words,
    micros,
    moment,
    namespace_of,
    namespace_value,
    property_map,
    tagged,
)

__all__ = [
    "Row",
    "chunked",
    "edge_ends",
    "edge_hit",
    "edge_key",
    "edge_meta",
    "edge_row",
    "node_candidate",
    "node_row",
]

Row = dict[str, Any]

_MAX_KIND_BYTES = 60_000


def node_row(obj: Object, dimension: int, indexed: Sequence[str] = ()) -> Row:
    """The parameters that make a node equal to ``obj``; without ``embedding`` when it has none, or one without a direction.

    ``indexed`` names the host's properties that are indexed.

    Raises DimensionMismatchError, and InvalidValueError for an embedding that is not finite in single precision or a kind
    of more than 60,000 bytes, which the engine's index by kind could not take.
    """
    if len(obj.kind.encode(errors="replace")) > _MAX_KIND_BYTES:
        raise InvalidValueError(
            f"a kind is too long for the graph: keep it below {_MAX_KIND_BYTES} bytes", field="kind"
        )
    row: Row = {
        "object_id": str(obj.key),
        "namespace_id": namespace_value(obj.namespace_id),
        "kind": obj.kind,
        "title": obj.title,
        "summary": obj.summary,
        "search_text": index_words(entity_index_text(obj)),
        "properties": property_map(obj.properties),
        "position": obj.position,
        "created_at": micros(obj.created_at),
        "updated_at": micros(obj.updated_at),
        "scan_key": f"{namespace_value(obj.namespace_id)}|{obj.key}",
        **{index_name(name): index_key(tagged(obj.properties.get(name))) for name in indexed},
    }
    if obj.embedding is not None:
        if len(obj.embedding) != dimension:
            raise DimensionMismatchError(expected=dimension, got=len(obj.embedding))
        with np.errstate(over="ignore", under="ignore"):
            vector = np.asarray(obj.embedding, np.float32)
            squares = float((vector * vector).sum())
        if not np.isfinite(vector).all():
            raise InvalidValueError("an embedding must hold numbers of single precision", field="embedding")
        if squares > 0.0:
            row["embedding"] = obj.embedding
    return row


def edge_key(from_id: UUID | str, to_id: UUID | str) -> str:
    """What an edge of a label is looked up by, together with its namespace; ids as text in their canonical spelling."""
    return f"{from_id}|{to_id}"


def edge_ends(row: Mapping[str, Any]) -> tuple[str, str]:
    """The ids of source and target in a row of an edge, in their canonical spelling."""
    source, _, target = row["edge_key"].partition("|")
    return source, target


def edge_row(edge: Edge) -> Row:
    """The parameters of an upsert. A new edge takes ``created_at`` and ``first_update``, a known one ``updated_at``.

    Whether ``created_at`` also replaces that of a known edge is the request's choice, as is ``search_text``.
    """
    now = datetime.now(UTC)
    created = edge.meta.created_at or edge.meta.updated_at or now
    return {
        "from": str(edge.from_id),
        "to": str(edge.to_id),
        "edge_key": edge_key(edge.from_id, edge.to_id),
        "scan_key": f"{namespace_value(edge.namespace_id)}|{edge_key(edge.from_id, edge.to_id)}",
        "namespace_id": namespace_value(edge.namespace_id),
        "note": edge.meta.note,
        "status": edge.meta.status,
        "role": edge.meta.role,
        "confidence": edge.meta.confidence,
        "evidence_id": "" if edge.meta.evidence_id is None else str(edge.meta.evidence_id),
        "created_at": micros(created),
        "first_update": micros(edge.meta.updated_at or created),
        "updated_at": micros(edge.meta.updated_at or now),
        "search_text": index_words(edge.meta.note),
    }


def edge_meta(row: Mapping[str, Any]) -> EdgeMeta:
    """The metadata in a row of an edge."""
    return EdgeMeta(
        note=row.get("note", ""),
        status=row.get("status", ""),
        role=row.get("role", ""),
        confidence=float(row.get("confidence") or 0.0),
        evidence_id=namespace_of(row.get("evidence_id")),
        created_at=moment(row.get("created_at")),
        updated_at=moment(row.get("updated_at")),
    )


def edge_hit(row: Mapping[str, Any], relation_type: str, score: float) -> EdgeHit:
    """A row of an edge search."""
    source, target = edge_ends(row)
    return EdgeHit(
        edge=Edge(
            from_id=UUID(source),
            to_id=UUID(target),
            relation_type=relation_type,
            namespace_id=namespace_of(row.get("namespace_id")),
            meta=edge_meta(row),
        ),
        score=score,
    )


def node_candidate(row: Mapping[str, Any], score: float) -> Candidate:
    """A row of a node search."""
    return Candidate(
        id=UUID(row["object_id"]),
        title=row.get("title", ""),
        position=row.get("position"),
        updated_at=moment(row.get("updated_at")),
        score=score,
    )


def chunked(rows: Sequence[Row], *, rows_at_most: int, bytes_at_most: int) -> list[list[Row]]:
    """``rows`` in order, in chunks that keep both bounds (a single row may exceed the bytes)."""
    chunks: list[list[Row]] = []
    size = 0
    for row in rows:
        weight = 12 * len(row.get("embedding", ())) + sum(len(v) for v in row.values() if isinstance(v, str)) + 400
        if not chunks or len(chunks[-1]) >= rows_at_most or size + weight > bytes_at_most:
            chunks.append([])
            size = 0
        chunks[-1].append(row)
        size += weight
    return chunks
