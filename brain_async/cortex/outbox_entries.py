"""What the outbox of the ledger's edges keeps beside them, in the same key-value store.

::

    o/last                          the newest version, 8 bytes, big-endian as all numbers here
    o/k/<src><dst><label><ns>       the version of the edge's entry; the label is its SHA-256, no namespace the nil UUID
    o/v/<version>                   the entry
    o/n/<ns><version>               an entry of the namespace; no value
    o/e/<object><version>           an entry of an edge from or to the object; no value
    o/c/<ns>                        how many entries of the namespace there are

An entry is no evidence: it says that the graph is yet to be told, and is gone afterwards. It is neither journaled nor part of
the Merkle tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from brain_async.cortex.cbor import decode_map, encode_map, from_micros, to_micros
from brain_async.cortex.merkle import Reading
from brain_async.errors import LedgerCorruptError
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import EdgeKey
from brain_async.ports.kv import Get
from brain_async.ports.outbox import OutboxEntry

__all__ = [
    "BY_VERSION",
    "COUNTS",
    "Writes",
    "around_prefix",
    "count_key",
    "decode_entry",
    "edge_prefix",
    "entry_key",
    "namespace_prefix",
    "number_bytes",
    "settle_entries",
    "version_key",
    "write_entries",
]

Writes = dict[bytes, bytes | None]
Noted = tuple[UUID | None, EdgeKey, datetime | None]
"""(namespace, key, stamp) of an edge that the graph has to be told of."""

BY_VERSION = b"o/v/"
COUNTS = b"o/c/"
_LAST = b"o/last"
_SRC, _DST, _LABEL, _NAMESPACE, _STAMP = range(5)


def number_bytes(number: int) -> bytes:
    """Eight bytes, in the order of the numbers."""
    return number.to_bytes(8, "big")


def version_key(version: int) -> bytes:
    """Where an entry is."""
    return BY_VERSION + number_bytes(version)


def edge_prefix(key: EdgeKey) -> bytes:
    """The prefix of the entries of one edge, of which every namespace can have one."""
    label = sha256(key.relation_type.encode("utf-8", "surrogatepass")).digest()
    return b"o/k/%b%b%b" % (key.from_id.bytes, key.to_id.bytes, label)


def entry_key(namespace_id: UUID | None, key: EdgeKey) -> bytes:
    """Where the version of an edge's entry is."""
    return edge_prefix(key) + _owner(namespace_id)


def namespace_prefix(namespace_id: UUID | None) -> bytes:
    """The prefix of a namespace's entries, by version."""
    return b"o/n/" + _owner(namespace_id)


def around_prefix(object_id: UUID) -> bytes:
    """The prefix of the entries of an object's edges, by version."""
    return b"o/e/" + object_id.bytes


def count_key(namespace_id: UUID | None) -> bytes:
    """Where the number of a namespace's entries is."""
    return COUNTS + _owner(namespace_id)


def decode_entry(version_place: bytes, value: bytes) -> OutboxEntry[EdgeKey]:
    """The entry found under a ``version_key``. Raises LedgerCorruptError."""
    try:
        fields = decode_map(value)
        stamp, owner = fields.get(_STAMP), fields.get(_NAMESPACE)
        return OutboxEntry(
            key=EdgeKey(UUID(bytes=fields[_SRC]), UUID(bytes=fields[_DST]), fields[_LABEL]),
            namespace_id=None if owner is None else UUID(bytes=owner),
            version=int.from_bytes(version_place[len(BY_VERSION) :], "big"),
            stamp=None if stamp is None else from_micros(stamp),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerCorruptError(f"an outbox entry is malformed: {error}", where=repr(version_place)) from None


def write_entries(noted: Sequence[Noted]) -> Reading[Writes]:
    """What to write so that each of these edges has an entry of a new version, in this order; of one edge the last counts."""
    entries = {(namespace_id, key): stamp for namespace_id, key, stamp in noted}
    places = {own: entry_key(*own) for own in entries}
    owners = {namespace_id for namespace_id, _ in entries}
    found = yield Get([_LAST, *places.values(), *map(count_key, owners)])
    version = _number(found.get(_LAST))
    counts = {owner: _number(found.get(count_key(owner))) for owner in owners}
    writes: Writes = {}
    for (owner, key), stamp in entries.items():
        version += 1
        known = found.get(places[owner, key])
        if known is None:
            counts[owner] += 1
        else:
            writes |= dict.fromkeys(_indexes(owner, key, known))
        writes |= dict.fromkeys(_indexes(owner, key, number_bytes(version)), b"")
        writes[places[owner, key]] = number_bytes(version)
        writes[version_key(version)] = _encoded(owner, key, stamp)
    writes[_LAST] = number_bytes(version)
    return writes | {count_key(owner): number_bytes(count) for owner, count in counts.items()}


def settle_entries(
    entries: Sequence[OutboxEntry[EdgeKey]],
) -> Reading[tuple[Writes, list[OutboxEntry[EdgeKey]]]]:
    """What to write so that those that still have their version are gone, and the others."""
    places = [entry_key(entry.namespace_id, entry.key) for entry in entries]
    owners = {entry.namespace_id for entry in entries}
    found = yield Get([*places, *map(count_key, owners)])
    counts = {owner: _number(found.get(count_key(owner))) for owner in owners}
    writes: Writes = {}
    others = []
    for place, entry in zip(places, entries, strict=True):
        version = number_bytes(entry.version)
        if found.get(place) != version or place in writes:
            others.append(entry)
            continue
        counts[entry.namespace_id] -= 1
        writes |= dict.fromkeys([place, *_indexes(entry.namespace_id, entry.key, version)])
    if writes:
        writes |= {count_key(owner): number_bytes(count) if count else None for owner, count in counts.items()}
    return writes, others


def _indexes(owner: UUID | None, key: EdgeKey, version: bytes) -> list[bytes]:
    """The keys of one version of an entry, its own among them."""
    return [
        BY_VERSION + version,
        namespace_prefix(owner) + version,
        around_prefix(key.from_id) + version,
        around_prefix(key.to_id) + version,
    ]


def _encoded(owner: UUID | None, key: EdgeKey, stamp: datetime | None) -> bytes:
    fields: dict[int, Any] = {_SRC: key.from_id.bytes, _DST: key.to_id.bytes, _LABEL: key.relation_type}
    if owner is not None:
        fields[_NAMESPACE] = owner.bytes
    if stamp is not None:
        fields[_STAMP] = to_micros(stamp)
    return encode_map(fields)


def _owner(namespace_id: UUID | None) -> bytes:
    return (namespace_id or NIL_UUID).bytes


def _number(value: bytes | None) -> int:
    return 0 if value is None else int.from_bytes(value, "big")
