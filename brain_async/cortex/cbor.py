"""The maps the ledger is written in: deterministic CBOR (RFC 8949, 4.2.1) with keys from 0 to 23."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cbor2 import dumps, loads

__all__ = ["decode_map", "encode_map", "from_micros", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode_map(fields: dict[int, Any]) -> bytes:
    """The deterministic encoding. ``fields`` has its keys in ascending order, and holds ints, bytes, text and True.

    cbor2 keeps the order of a dict and always writes the shortest head, which is all that 4.2.1 asks of such values: its
    canonical mode, three times as slow, sorts keys and shortens floats. A float needs that mode: see ``record``.
    """
    return dumps(fields)


def decode_map(data: bytes) -> dict[int, Any]:
    """The fields of one map. Raises ValueError for anything else.

    Not strict by itself: cbor2 reads longer heads, other orders, doubled keys and trailing bytes. A caller encodes what it
    understood again and compares, which leaves exactly one encoding.
    """
    try:
        fields = loads(data)
    except Exception as error:  # hostile bytes make a decoder raise more than its own errors, MemoryError among them
        raise ValueError(f"it is not CBOR: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError("it is not a CBOR map")
    return fields


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 of an aware ``moment``."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: Any) -> datetime:
    """The UTC instant. Raises ValueError for what is no integer, or outside the years 1 to 9999."""
    if type(micros) is not int:
        raise ValueError("a time is not an integer")
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError("a time is outside the years 1 to 9999") from None
