"""The metadata of an edge in the ledger: one encoding, and nothing else is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from cbor2 import dumps, loads
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex.edge_data import decode_edge_data, encode_edge_data
from brain_async.errors import InvalidValueError, LedgerCorruptError
from brain_async.model.relation import EdgeMeta

_NAMESPACE = UUID(int=7)
_TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_METAS = st.builds(
    EdgeMeta,
    note=_TEXTS,
    status=_TEXTS,
    role=_TEXTS,
    confidence=st.floats(allow_nan=False),
    evidence_id=st.none() | st.uuids(),
    created_at=_TIMES,
    updated_at=_TIMES,
)


@given(_METAS, st.none() | st.uuids())
def test_what_is_encoded_is_decoded(meta: EdgeMeta, namespace_id: UUID | None) -> None:
    data = encode_edge_data(meta, namespace_id)
    assert decode_edge_data(data) == (meta, namespace_id)
    assert not data or dumps(loads(data), canonical=True) == data, "RFC 8949, 4.2.1"


@given(_METAS, st.integers(0, 1_000), st.integers(1, 255))
def test_other_bytes_are_refused_or_mean_something_else(meta: EdgeMeta, place: int, flip: int) -> None:
    data = bytearray(encode_edge_data(meta, _NAMESPACE))
    data[place % len(data)] ^= flip
    try:
        decoded = decode_edge_data(bytes(data))
    except LedgerCorruptError:
        return
    assert decoded != (meta, _NAMESPACE)


def test_the_bytes_are_fixed() -> None:
    meta = EdgeMeta(note="n", confidence=0.5, created_at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert encode_edge_data(meta, _NAMESPACE).hex() == "a40050" + "00" * 15 + "0701616e04f93800061a000f4240"
    assert encode_edge_data(EdgeMeta(), None) == b""
    assert encode_edge_data(EdgeMeta(confidence=1), None) == encode_edge_data(EdgeMeta(confidence=1.0), None)


def test_times_are_kept_in_utc() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert decode_edge_data(encode_edge_data(EdgeMeta(created_at=moment), None))[0].created_at == moment


@pytest.mark.parametrize("meta", [EdgeMeta(created_at=datetime(2026, 1, 1)), EdgeMeta(note="\ud800")])
def test_bad_metadata_is_refused(meta: EdgeMeta) -> None:
    with pytest.raises(InvalidValueError):
        encode_edge_data(meta, None)


@pytest.mark.parametrize(
    "fields", [{}, {8: 1}, {1: ""}, {1: b"n"}, {4: 1}, {5: b"short"}, {6: "now"}, {6: 1 << 62}, {0: None}, {1: 5}, [1]]
)
def test_other_maps_are_refused(fields: object) -> None:
    with pytest.raises(LedgerCorruptError):
        decode_edge_data(dumps(fields))
