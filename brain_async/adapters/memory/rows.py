"""Rows: what the store keeps of an object, and the views of it that reads hand out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from brain_async.model.instant import to_utc
from brain_async.model.object import Object
from brain_async.ports.store import PASSAGE_CHARS

__all__ = ["child_order", "evidence_view", "full_view", "listing_view", "passage_view", "stored_row", "utc"]

_EVIDENCE_CHARS = 512


def stored_row(obj: Object, *, created_at: datetime | None) -> Object:
    """The row to keep: live, times in UTC, its own copy of the properties; the indexes keep context and embedding."""
    return msgspec.structs.replace(
        obj,
        properties=_copy(obj.properties),
        index_context="",
        embedding=None,
        created_at=utc(created_at),
        updated_at=utc(obj.updated_at),
        deleted_at=None,
    )


def utc(moment: datetime | None) -> datetime | None:
    """The same moment, in UTC."""
    return None if moment is None else to_utc(moment)


def full_view(row: Object, embedding: tuple[float, ...] | None = None) -> Object:
    """The row with its content, and the embedding where one is given."""
    return msgspec.structs.replace(row, properties=_copy(row.properties), embedding=embedding)


def listing_view(row: Object) -> Object:
    """The row without its content."""
    return msgspec.structs.replace(row, properties=_copy(row.properties), content="")


def evidence_view(row: Object) -> Object:
    """Id, title, position, parent_id, and the beginning of the content."""
    return Object(
        id=row.id,
        title=row.title,
        position=row.position,
        parent_id=row.parent_id,
        content=row.content.lstrip()[:_EVIDENCE_CHARS],
    )


def passage_view(row: Object, *, content: bool, embedding: tuple[float, ...] | None) -> Object:
    """Id, title, summary and parent_id, with the beginning of the content if wanted, and the embedding that is given."""
    return Object(
        id=row.id,
        title=row.title,
        summary=row.summary,
        parent_id=row.parent_id,
        content=row.content[:PASSAGE_CHARS] if content else "",
        embedding=embedding,
    )


def child_order(row: Object) -> tuple[bool, int, UUID]:
    """The sort key of the parts of a parent: position ascending, None last, then id."""
    return (row.position is None, row.position or 0, row.key)


def _copy(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy_json(value) for key, value in properties.items()}


def _copy_json(value: Any) -> Any:
    if isinstance(value, dict):
        return _copy(value)
    if isinstance(value, (list, tuple)):
        return [_copy_json(item) for item in value]
    return value
