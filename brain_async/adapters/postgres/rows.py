"""Rows to objects and candidates."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from brain_async.model.candidate import Candidate
from brain_async.model.object import NIL_UUID, Object, Properties
from brain_async.model.relation import Edge, EdgeMeta

__all__ = ["OBJECT_COLUMNS", "candidate_from_row", "decode_properties", "edge_from_row", "object_from_row"]

OBJECT_COLUMNS = """o.id, o.kind, o.title, o.summary, o.content_type, o.properties::text as properties, o.parent_id,
    o.position, o.language, o.embedding_model, o.namespace_id, o.created_at, o.updated_at"""
"""What every reader needs: all but content and embedding. Properties travel as text, whatever codecs the pool has."""

_LONG_NUMBER = re.compile(r"\d{19}")
_INT64 = range(-(2**63), 2**63)


def _parse_int(digits: str) -> int | float:
    value = int(digits)
    return value if value in _INT64 else float(digits)


def decode_properties(text: str) -> Properties:
    """The properties of a row. Integers beyond 64 bits are floats that jsonb printed in full: none others get stored."""
    if _LONG_NUMBER.search(text):
        return dict(json.loads(text, parse_int=_parse_int))
    return msgspec.json.decode(text, type=dict[str, Any])


def object_from_row(row: asyncpg.Record, *, content: str = "", embedding: tuple[float, ...] | None = None) -> Object:
    """The object of a row with ``OBJECT_COLUMNS``."""
    return Object(
        id=row["id"],
        kind=row["kind"],
        title=row["title"],
        summary=row["summary"],
        content=content,
        content_type=row["content_type"],
        language=row["language"],
        properties=decode_properties(row["properties"]),
        parent_id=row["parent_id"],
        position=row["position"],
        embedding=embedding,
        embedding_model=row["embedding_model"],
        namespace_id=row["namespace_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def candidate_from_row(row: asyncpg.Record) -> Candidate:
    """The candidate of a ``brain_candidate`` row."""
    object_id: UUID = row["id"]
    return Candidate(
        id=object_id,
        parent_id=row["parent_id"],
        title=row["title"],
        position=row["position"],
        updated_at=row["updated_at"],
        score=row["score"],
    )


def edge_from_row(row: asyncpg.Record) -> Edge:
    """The edge of a ``brain_edges`` row."""
    names = ("note", "status", "role", "confidence", "evidence_id", "created_at", "updated_at")
    return Edge(
        from_id=row["from_id"],
        to_id=row["to_id"],
        relation_type=row["relation_type"],
        namespace_id=None if row["namespace_id"] == NIL_UUID else row["namespace_id"],
        meta=EdgeMeta(**{name: row[name] for name in names}),
    )
