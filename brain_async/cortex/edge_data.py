"""What the engine keeps in the ``data`` of an edge's record: its metadata and its namespace.

Deterministic CBOR (RFC 8949, 4.2.1): a map with these keys, in ascending order. What is unset is left out, so that equal
metadata are equal bytes; an edge without any has no data at all.

===  ============  ===========================================
key  field         value
===  ============  ===========================================
0    namespace_id  16 bytes
1    note          text
2    status        text
3    role          text
4    confidence    float
5    evidence_id   16 bytes
6    created_at    integer, microseconds since 1970
7    updated_at    integer, microseconds since 1970
===  ============  ===========================================
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from cbor2 import dumps

from brain_async.cortex.cbor import decode_map, encode_map, from_micros, to_micros
from brain_async.cortex.record import checked_time
from brain_async.errors import InvalidValueError, LedgerCorruptError
from brain_async.model.relation import EdgeMeta

__all__ = ["decode_edge_data", "encode_edge_data"]

_NAMESPACE, _NOTE, _STATUS, _ROLE, _CONFIDENCE, _EVIDENCE, _CREATED_AT, _UPDATED_AT = range(8)


def encode_edge_data(meta: EdgeMeta, namespace_id: UUID | None) -> bytes:
    """The one encoding. Raises InvalidValueError for a naive time, or text with a lone surrogate."""
    fields: dict[int, Any] = {}
    if namespace_id is not None:
        fields[_NAMESPACE] = namespace_id.bytes
    if meta.note:
        fields[_NOTE] = meta.note
    if meta.status:
        fields[_STATUS] = meta.status
    if meta.role:
        fields[_ROLE] = meta.role
    if meta.confidence:
        fields[_CONFIDENCE] = float(meta.confidence)
    if meta.evidence_id is not None:
        fields[_EVIDENCE] = meta.evidence_id.bytes
    if meta.created_at is not None:
        fields[_CREATED_AT] = to_micros(checked_time(meta.created_at, "created_at"))
    if meta.updated_at is not None:
        fields[_UPDATED_AT] = to_micros(checked_time(meta.updated_at, "updated_at"))
    if not fields:
        return b""
    try:
        # Only the slower canonical mode writes a float in the fewest bytes that keep it.
        return dumps(fields, canonical=True) if _CONFIDENCE in fields else encode_map(fields)
    except UnicodeEncodeError:
        raise InvalidValueError(
            "an edge's metadata must be valid text: it has a lone surrogate", field="meta"
        ) from None


def decode_edge_data(data: bytes) -> tuple[EdgeMeta, UUID | None]:
    """(metadata, namespace) of exactly these bytes. Raises LedgerCorruptError for what ``encode_edge_data`` did not write."""
    if not data:
        return EdgeMeta(), None
    try:
        get = decode_map(data).get
        meta = EdgeMeta(
            note=get(_NOTE, ""),
            status=get(_STATUS, ""),
            role=get(_ROLE, ""),
            confidence=get(_CONFIDENCE, 0.0),
            evidence_id=_uuid(get(_EVIDENCE)),
            created_at=None if (created := get(_CREATED_AT)) is None else from_micros(created),
            updated_at=None if (updated := get(_UPDATED_AT)) is None else from_micros(updated),
        )
        namespace_id = _uuid(get(_NAMESPACE))
        texts = all(type(text) is str for text in (meta.note, meta.status, meta.role))
        same = texts and encode_edge_data(meta, namespace_id) == data
    except (InvalidValueError, ValueError, TypeError, OverflowError) as error:
        raise LedgerCorruptError(f"the data of an edge is malformed: {error}") from None
    if not same:
        raise LedgerCorruptError("the data of an edge is not in its one encoding")
    return meta, namespace_id


def _uuid(value: Any) -> UUID | None:
    return None if value is None else UUID(bytes=value)
