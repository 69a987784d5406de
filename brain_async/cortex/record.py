"""EdgeRecord: one directed, typed edge as the ledger keeps it, and its one encoding."""

from __future__ import annotations

import math
import struct
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from brain_async.cortex.cbor import decode_map, encode_map, from_micros, to_micros
from brain_async.cortex.edge_type import check_code
from brain_async.errors import (
    InvalidInputError,
    InvalidValueError,
    LedgerCorruptError,
    ObjectIdRequiredError,
    SelfEdgeError,
)
from brain_async.model.instant import to_utc

__all__ = [
    "MAX_DATA_BYTES",
    "MAX_TEXT_BYTES",
    "EdgeMetadata",
    "EdgeRecord",
    "checked_metadata",
    "checked_text",
    "checked_time",
    "decode_record",
    "encode_record",
    "object_id_bytes",
]

MAX_DATA_BYTES = 65_536
"""Of ``data``."""

MAX_TEXT_BYTES = 1_024
"""Of created_by, tombstoned_by and tombstoned_reason each, in UTF-8."""

_NIL = bytes(16)
_FLOAT32 = struct.Struct(">f")
_HALF = struct.Struct(">Be")
_SINGLE = struct.Struct(">Bf")

_TYPE, _SRC, _DST, _CREATED_AT, _CREATED_BY, _WEIGHT, _DATA, _TOMBSTONED, _AT, _REASON, _BY = range(11)
"""The map's keys. A field at its default is left out, so that it has one encoding too."""


class EdgeRecord(msgspec.Struct, frozen=True, gc=False):
    """One edge. Equal records are equal bytes on every machine.

    Attributes:
        type: the byte of ``EdgeType`` or of a registered label.
        src, dst: 16 bytes each, those of the objects' UUIDs.
        created_at, tombstoned_at: aware, UTC, microseconds.
        created_by, tombstoned_by: who did it, as the host names them; at most MAX_TEXT_BYTES, as is the reason.
        weight: finite, of float32 precision.
        data: whatever the host keeps with the edge, usually CBOR; never looked into; at most MAX_DATA_BYTES.
    """

    type: int
    src: bytes
    dst: bytes
    created_at: datetime
    created_by: str = ""
    weight: float = 1.0
    data: bytes = b""
    tombstoned: bool = False
    tombstoned_at: datetime | None = None
    tombstoned_reason: str = ""
    tombstoned_by: str = ""

    @property
    def src_id(self) -> UUID:
        """``src`` as a UUID."""
        return UUID(bytes=self.src)

    @property
    def dst_id(self) -> UUID:
        """``dst`` as a UUID."""
        return UUID(bytes=self.dst)


class EdgeMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller says of an edge besides its ends and type. ``created_at`` None is the moment of the change."""

    created_by: str = ""
    weight: float = 1.0
    data: bytes = b""
    created_at: datetime | None = None


def object_id_bytes(object_id: UUID | bytes, field: str) -> bytes:
    """The 16 bytes. Raises ObjectIdRequiredError for the nil UUID, InvalidValueError for another length or type."""
    if isinstance(object_id, UUID):
        raw = object_id.bytes
    elif isinstance(object_id, bytes) and len(object_id) == 16:
        raw = object_id
    else:
        raise InvalidValueError(f"{field} must be a UUID or its 16 bytes", field=field)
    if raw == _NIL:
        raise ObjectIdRequiredError(field)
    return raw


def checked_text(text: str, field: str) -> str:
    """``text``. Raises InvalidValueError when it is no text, has a lone surrogate, or exceeds MAX_TEXT_BYTES."""
    if text == "":
        return ""
    try:
        size = len(text.encode())
    except (AttributeError, UnicodeEncodeError):
        raise InvalidValueError(f"{field} must be valid text", field=field) from None
    if size > MAX_TEXT_BYTES:
        raise InvalidValueError(f"{field} has {size} bytes: the limit is {MAX_TEXT_BYTES}", field=field)
    return text


def checked_time(moment: datetime, field: str) -> datetime:
    """``moment`` in UTC. Raises InvalidValueError when it is naive or no datetime."""
    try:
        return to_utc(moment)
    except (AttributeError, ValueError) as error:
        raise InvalidValueError(f"{field} is not usable: {error}", field=field) from None


def checked_metadata(meta: EdgeMetadata) -> EdgeMetadata:
    """``meta`` as it is kept: the weight rounded to float32, the time in UTC.

    Raises InvalidValueError naming the field: a weight that is not finite in float32, data that is not bytes or exceeds
    MAX_DATA_BYTES, text that is not valid or exceeds MAX_TEXT_BYTES, a naive time.
    """
    weight = _float32(meta.weight)
    data = meta.data
    if not isinstance(data, bytes):
        raise InvalidValueError("data must be bytes", field="data")
    if len(data) > MAX_DATA_BYTES:
        raise InvalidValueError(f"data has {len(data)} bytes: the limit is {MAX_DATA_BYTES}", field="data")
    return EdgeMetadata(
        created_by=checked_text(meta.created_by, "created_by"),
        weight=weight,
        data=data,
        created_at=None if meta.created_at is None else checked_time(meta.created_at, "created_at"),
    )


def encode_record(record: EdgeRecord) -> bytes:
    """The deterministic encoding of a valid record."""
    fields: dict[int, Any] = {0: record.type, 1: record.src, 2: record.dst, 3: to_micros(record.created_at)}
    if record.created_by:
        fields[_CREATED_BY] = record.created_by
    before, fields = fields, fields if record.weight == 1.0 else {}
    if record.data:
        fields[_DATA] = record.data
    if record.tombstoned_at is not None:
        fields[_TOMBSTONED] = True
        fields[_AT] = to_micros(record.tombstoned_at)
        if record.tombstoned_reason:
            fields[_REASON] = record.tombstoned_reason
        if record.tombstoned_by:
            fields[_BY] = record.tombstoned_by
    if before is fields:
        return encode_map(fields)
    return b"%c%b\x05%b%b" % (
        0xA0 + len(before) + 1 + len(fields),
        encode_map(before)[1:],
        _shortest_float(record.weight),
        encode_map(fields)[1:],
    )


def _shortest_float(value: float) -> bytes:
    """The encoding of a value of float32 in the fewest bytes that keep it."""
    try:
        half = _HALF.pack(0xF9, value)
    except OverflowError:
        return _SINGLE.pack(0xFA, value)
    return half if _HALF.unpack(half)[1] == value else _SINGLE.pack(0xFA, value)


def decode_record(data: bytes) -> EdgeRecord:
    """The record of exactly these bytes. Raises LedgerCorruptError for all that ``encode_record`` would not have written."""
    try:
        record = _record(decode_map(data))
        same = encode_record(record) == data
    except (InvalidInputError, ValueError, TypeError, OverflowError) as error:
        raise LedgerCorruptError(f"an edge record is malformed: {error}") from None
    if not same:
        raise LedgerCorruptError("an edge record is not in its one encoding")
    return record


def _record(fields: dict[int, Any]) -> EdgeRecord:
    get = fields.get
    src, dst, text, data = get(_SRC), get(_DST), (get(_CREATED_BY, ""), get(_REASON, ""), get(_BY, "")), get(_DATA, b"")
    if type(src) is not bytes or type(dst) is not bytes or len(src) != 16 or len(dst) != 16 or _NIL in (src, dst):
        raise ValueError("its ends are not two object ids")
    if src == dst:
        raise SelfEdgeError
    if text != ("", "", ""):
        for value in text:
            checked_text(value, "its text")
    if type(data) is not bytes or len(data) > MAX_DATA_BYTES:
        raise ValueError("its data is no byte string of the allowed size")
    weight = get(_WEIGHT, 1.0)
    if weight != 1.0:
        weight = _float32(weight)
    return EdgeRecord(
        check_code(get(_TYPE, 0)),
        src,
        dst,
        from_micros(get(_CREATED_AT)),
        text[0],
        weight,
        data,
        get(_TOMBSTONED, False),
        None if (tombstoned_at := get(_AT)) is None else from_micros(tombstoned_at),
        text[1],
        text[2],
    )


def _float32(weight: float) -> float:
    if isinstance(weight, (int, float)) and not isinstance(weight, bool):
        try:
            rounded: float = _FLOAT32.unpack(_FLOAT32.pack(weight))[0]
        except (OverflowError, struct.error):
            rounded = math.inf
        if math.isfinite(rounded):
            return rounded + 0.0  # minus zero equals zero, and would be other bytes
    raise InvalidValueError("weight must be a finite number within float32", field="weight")
