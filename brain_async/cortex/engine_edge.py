"""The engine's edges as records of the ledger: found by key, and read back with their metadata and namespace."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TypeVar

import msgspec

from brain_async.cortex.batch import Asking
from brain_async.cortex.edge_data import decode_edge_data
from brain_async.cortex.edge_type import CANONICAL_TYPES, MAX_LABEL_BYTES, canonical_code
from brain_async.cortex.keys import TAIL_BYTES, TYPE, forward_key, label_key
from brain_async.cortex.merkle import Reading
from brain_async.cortex.record import EdgeRecord, decode_record
from brain_async.errors import LedgerCorruptError
from brain_async.model.relation import Edge, EdgeKey
from brain_async.ports.kv import Get, KeyValueReader, Scan

__all__ = ["all_labels", "edge_of", "edge_of_record", "label_codes", "labels_by_code", "read_through", "stored_records"]

T = TypeVar("T")

_CANONICAL = {int(code): label for label, code in CANONICAL_TYPES.items()}


def edge_of(value: bytes, labels: Mapping[int, str]) -> Edge:
    """``edge_of_record`` of a stored value."""
    return edge_of_record(decode_record(value[:-TAIL_BYTES]), labels)


def edge_of_record(record: EdgeRecord, labels: Mapping[int, str]) -> Edge:
    """The edge of a record, ``labels`` giving the label of a byte. Raises LedgerCorruptError.

    One that was added without the engine's metadata has the record's time for both of its own.
    """
    if record.type not in labels:
        raise LedgerCorruptError(f"no label is registered for the type 0x{record.type:02X} of an edge")
    meta, namespace_id = decode_edge_data(record.data)
    created_at = meta.created_at or record.created_at
    return Edge(
        from_id=record.src_id,
        to_id=record.dst_id,
        relation_type=labels[record.type],
        namespace_id=namespace_id,
        meta=msgspec.structs.replace(meta, created_at=created_at, updated_at=meta.updated_at or created_at),
    )


def all_labels(registered: Mapping[str, int]) -> dict[int, str]:
    """Every label by its byte, the canonical ones and those of hosts."""
    return _CANONICAL | {code: label for label, code in registered.items()}


def labels_by_code() -> Asking[dict[int, str]]:
    """``all_labels`` of a ledger, asked for within a work."""
    found = yield Scan(TYPE)
    return all_labels({value.decode(): key[len(TYPE)] for key, value in found.items()})


def label_codes(labels: Iterable[str]) -> Reading[dict[str, int]]:
    """The bytes of those of these labels, in their one spelling, that are canonical or registered."""
    codes: dict[str, int] = {}
    hosts: dict[bytes, str] = {}
    for label in dict.fromkeys(labels):
        code = canonical_code(label)
        if code is not None:
            codes[label] = code
        elif _can_be_registered(label):
            hosts[label_key(label)] = label
    if hosts:
        found = yield Get(list(hosts))
        codes |= {hosts[key]: value[0] for key, value in found.items()}
    return codes


def stored_records(keys: Iterable[EdgeKey]) -> Reading[dict[EdgeKey, tuple[EdgeRecord, bytes]]]:
    """(record, stored value) of those of the distinct keys that were ever recorded, removed ones included."""
    wanted = list(dict.fromkeys(keys))
    codes = yield from label_codes(key.relation_type for key in wanted)
    places = {
        forward_key(key.from_id.bytes, codes[key.relation_type], key.to_id.bytes): key
        for key in wanted
        if key.relation_type in codes
    }
    found = (yield Get(list(places))) if places else {}
    return {places[place]: (decode_record(value[:-TAIL_BYTES]), value) for place, value in found.items()}


async def read_through(reader: KeyValueReader, reading: Generator[Get, Mapping[bytes, bytes], T]) -> T:
    """The result of ``reading`` at the reader's moment."""
    try:
        request = next(reading)
        while True:
            request = reading.send(await reader.get_many(request.keys))
    except StopIteration as done:
        result: T = done.value
        return result


def _can_be_registered(label: str) -> bool:
    try:
        return 0 < len(label.encode()) <= MAX_LABEL_BYTES
    except UnicodeEncodeError:
        return False
