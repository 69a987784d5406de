"""Rows of brain_objects in the binary format of COPY: what is new is stored without a parameter being looked at one by one."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.postgres.object_row import ObjectRow

__all__ = ["COPY_COLUMNS", "copy_data"]

COPY_COLUMNS = (
    "id",
    "namespace_id",
    "created_at",
    "updated_at",
    "lex_len",
    "parent_id",
    "position",
    "kind",
    "title",
    "summary",
    "content",
    "content_type",
    "embedding_model",
    "language",
    "properties",
    "lex",
    "terms",
    "embedding",
)
"""The columns in the order of ``copy_data``: those of fixed length that are never null come first."""

_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_END = struct.pack("!h", -1)
_FIXED = struct.Struct("!hi16si16siqiqii")
_LENGTH = struct.Struct("!i")
_LONG = struct.Struct("!iq")
_NULL = _LENGTH.pack(-1)
_TEXT_OID = 25
_NO_TERMS = struct.pack("!iiii", 12, 0, 0, _TEXT_OID)
_ARRAY = struct.Struct("!iiiiii")
_VECTOR = struct.Struct("!iHH")
_JSONB_VERSION = b"\x01"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@lru_cache(maxsize=64)
def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _sized(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def _terms(joined: str) -> bytes:
    if not joined:
        return _NO_TERMS
    terms = [term.encode() for term in joined.split(" ")]
    elements = b"".join(map(_sized, terms))
    return _ARRAY.pack(20 + len(elements), 1, 0, _TEXT_OID, len(terms), 1) + elements


def _vector(embedding: NDArray[np.float32]) -> bytes:
    halves = embedding.astype(">f2").tobytes()
    return _VECTOR.pack(4 + len(halves), len(embedding), 0) + halves


def _row(row: ObjectRow) -> tuple[bytes, ...]:
    assert row.namespace_id is not None
    return (
        _FIXED.pack(
            len(COPY_COLUMNS),
            16,
            row.id.bytes,
            16,
            row.namespace_id.bytes,
            8,
            _microseconds(row.created_at),
            8,
            _microseconds(row.updated_at),
            4,
            row.lex_len,
        ),
        _NULL if row.parent_id is None else _sized(row.parent_id.bytes),
        _NULL if row.position is None else _LONG.pack(8, row.position),
        _sized(row.kind.encode()),
        _sized(row.title.encode()),
        _sized(row.summary.encode()),
        _sized(row.content.encode()),
        _sized(row.content_type.encode()),
        _sized(row.embedding_model.encode()),
        _sized(row.language.encode()),
        _sized(_JSONB_VERSION + row.properties.encode()),
        _NULL if row.lex is None else _sized(row.lex.encode()),
        _terms(row.terms),
        _NULL if row.embedding is None else _vector(row.embedding),
    )


def copy_data(rows: Sequence[ObjectRow]) -> bytes:
    """``rows`` in their order, as the whole input of a COPY of ``COPY_COLUMNS``."""
    return b"".join(chain([_HEAD], chain.from_iterable(map(_row, rows)), [_END]))
