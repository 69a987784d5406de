"""Records: one encoding each, and nothing else is read."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex import MAX_DATA_BYTES, MAX_TEXT_BYTES, EdgeMetadata, EdgeRecord, decode_record, encode_record
from brain_async.cortex.record import checked_metadata, object_id_bytes
from brain_async.errors import InvalidValueError, LedgerCorruptError, ObjectIdRequiredError
from tests.unit.cortex.samples import NOW, A, B, record

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
TIMES = st.datetimes(timezones=st.just(UTC))
TEXTS = st.text(max_size=20)
IDS = st.binary(min_size=16, max_size=16).filter(any)


@st.composite
def records(draw: st.DrawFn) -> EdgeRecord:
    src = draw(IDS)
    live = EdgeRecord(
        draw(st.one_of(st.integers(1, 14), st.integers(0x40, 0xFF))),
        src,
        draw(IDS.filter(lambda dst: dst != src)),
        draw(TIMES),
        draw(TEXTS),
        draw(FLOATS),
        draw(st.binary(max_size=300)),
    )
    if draw(st.booleans()):
        return live
    fields = {name: getattr(live, name) for name in EdgeRecord.__struct_fields__}
    removal = {"tombstoned": True, "tombstoned_at": draw(TIMES)}
    return EdgeRecord(**(fields | removal | {"tombstoned_reason": draw(TEXTS), "tombstoned_by": draw(TEXTS)}))


@given(records())
def test_a_record_is_read_as_it_was_written(edge: EdgeRecord) -> None:
    assert decode_record(encode_record(edge)) == edge


@given(records())
def test_the_encoding_is_the_canonical_one(edge: EdgeRecord) -> None:
    encoded = encode_record(edge)
    fields = cbor2.loads(encoded)
    assert list(fields) == sorted(fields)
    assert cbor2.dumps(fields, canonical=True) == encoded


@given(records(), st.data())
def test_no_other_bytes_mean_the_same_record(edge: EdgeRecord, data: st.DataObject) -> None:
    encoded = bytearray(encode_record(edge))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] ^= data.draw(st.integers(1, 255))
    try:
        read = decode_record(bytes(encoded))
    except LedgerCorruptError:
        return
    assert read != edge
    assert encode_record(read) == encoded


def test_the_exact_bytes() -> None:
    edge = record(
        created_by="ann",
        weight=0.5,
        data=b"\xa0",
        tombstoned=True,
        tombstoned_at=NOW + timedelta(microseconds=1),
        tombstoned_reason="wrong",
        tombstoned_by="eve",
    )
    micros = 1772368215123456
    assert encode_record(edge).hex() == (
        "ab" + "0003" + "0150" + A.bytes.hex() + "0250" + B.bytes.hex() + "031b" + f"{micros:016x}"
        "0463" + b"ann".hex() + "05f93800" + "0641a0" + "07f5" + "081b" + f"{micros + 1:016x}"
        "0965" + b"wrong".hex() + "0a63" + b"eve".hex()
    )
    assert encode_record(record()).hex() == (
        "a4" + "0003" + "0150" + A.bytes.hex() + "0250" + B.bytes.hex() + "031b" + f"{micros:016x}"
    )
    assert (edge.src_id, edge.dst_id) == (A, B)


@pytest.mark.parametrize(
    ("weight", "encoded"),
    [
        (0.0, "f90000"),
        (-2.0, "f9c000"),
        (65504.0, "f97bff"),
        (65536.0, "fa47800000"),
        (2.0**-24, "f90001"),
        (2.0**-25, "fa33000000"),
        (struct.unpack(">f", b"\x3d\xcc\xcc\xcd")[0], "fa3dcccccd"),
    ],
)
def test_a_weight_takes_the_shortest_float(weight: float, encoded: str) -> None:
    assert ("05" + encoded) in encode_record(record(weight=weight)).hex()


FIELDS = {0: 3, 1: A.bytes, 2: B.bytes, 3: 5}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xa0",
        b"\x01",
        b"\x9f\xff",
        b"\xbf\xff",
        b"\xa1\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x81" * 5000,
        encode_record(record()) + b"\x00",
        encode_record(record())[:-1],
        b"\xa5" + encode_record(record())[1:] + b"\x05\xf9\x3c\x00",  # a default spelled out
        cbor2.dumps({3: 5, 0: 3, 1: A.bytes, 2: B.bytes}),
        cbor2.dumps(FIELDS | {0: 3.0}, canonical=True),
        cbor2.dumps(FIELDS | {0: True}),
        cbor2.dumps(FIELDS | {0: 0x0F}),
        cbor2.dumps(FIELDS | {1: A.bytes[1:]}),
        cbor2.dumps(FIELDS | {1: bytes(16)}),
        cbor2.dumps(FIELDS | {1: B.bytes}),
        cbor2.dumps(FIELDS | {1: "a" * 16}),
        cbor2.dumps(FIELDS | {3: 2**63}),
        cbor2.dumps(FIELDS | {3: "5"}),
        cbor2.dumps(FIELDS | {3: 5.0}, canonical=True),
        cbor2.dumps(FIELDS | {4: b"ann"}),
        cbor2.dumps(FIELDS | {4: ""}),
        cbor2.dumps(FIELDS | {4: "x" * (MAX_TEXT_BYTES + 1)}),
        cbor2.dumps(FIELDS | {5: 0.1}, canonical=True),
        cbor2.dumps(FIELDS | {5: 0.5}),
        cbor2.dumps(FIELDS | {5: -0.0}, canonical=True),
        cbor2.dumps(FIELDS | {5: float("nan")}, canonical=True),
        cbor2.dumps(FIELDS | {5: float("inf")}, canonical=True),
        cbor2.dumps(FIELDS | {5: 2}),
        cbor2.dumps(FIELDS | {6: "x"}),
        cbor2.dumps(FIELDS | {6: bytes(MAX_DATA_BYTES + 1)}),
        cbor2.dumps(FIELDS | {7: True}),
        cbor2.dumps(FIELDS | {7: False}),
        cbor2.dumps(FIELDS | {7: 1, 8: 5}),
        cbor2.dumps(FIELDS | {8: 5}),
        cbor2.dumps(FIELDS | {9: "wrong"}),
        cbor2.dumps(FIELDS | {11: 1}),
        cbor2.dumps(cbor2.CBORTag(55799, FIELDS)),
    ],
)
def test_malformed_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(LedgerCorruptError):
        decode_record(data)


def test_metadata_is_kept_in_float32_and_utc() -> None:
    local = datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    kept = checked_metadata(EdgeMetadata(weight=0.1, created_at=local))
    assert kept.weight == struct.unpack(">f", struct.pack(">f", 0.1))[0]
    assert kept.created_at == local
    assert kept.created_at is not None
    assert kept.created_at.tzinfo is UTC
    assert str(checked_metadata(EdgeMetadata(weight=-0.0)).weight) == "0.0"
    assert checked_metadata(EdgeMetadata(data=bytes(MAX_DATA_BYTES))).data == bytes(MAX_DATA_BYTES)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weight", float("nan")),
        ("weight", float("inf")),
        ("weight", 3.5e38),
        ("weight", 10**400),
        ("weight", True),
        ("weight", "1"),
        ("data", bytes(MAX_DATA_BYTES + 1)),
        ("data", "text"),
        ("data", bytearray(b"x")),
        ("created_by", "x" * (MAX_TEXT_BYTES + 1)),
        ("created_by", "\ud800"),
        ("created_by", b"ann"),
        ("created_at", datetime(2026, 3, 1)),
        ("created_at", "2026-03-01"),
    ],
)
def test_metadata_that_cannot_be_kept_names_its_field(field: str, value: object) -> None:
    with pytest.raises(InvalidValueError) as caught:
        checked_metadata(EdgeMetadata(**{field: value}))  # type: ignore[arg-type]
    assert caught.value.field == field


def test_ids_are_sixteen_bytes() -> None:
    assert object_id_bytes(A, "src") == object_id_bytes(A.bytes, "src") == A.bytes
    for nil in (bytes(16), type(A)(int=0)):
        with pytest.raises(ObjectIdRequiredError):
            object_id_bytes(nil, "src")
    for wrong in (A.bytes[1:], str(A), None):
        with pytest.raises(InvalidValueError):
            object_id_bytes(wrong, "src")  # type: ignore[arg-type]
