"""The journal: one entry per change, and a Merkle mountain range over the entries.

The range was chosen over a hash chain because it costs the same to extend (two hashes per entry on average) and proves that an
entry is in the journal with about log2(n) hashes, where a chain needs every entry that came after. Its inner nodes need no
keys of their own: entry ``seq`` completes as many of them as ``seq`` has trailing zero bits, and they are stored behind the
entry that completes them, lowest first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from hashlib import sha256
from typing import Any

import msgspec

from brain_async.cortex.cbor import decode_map, encode_map, from_micros, to_micros
from brain_async.cortex.keys import journal_key
from brain_async.cortex.record import EdgeRecord, checked_text, decode_record, encode_record
from brain_async.errors import InvalidInputError, LedgerCorruptError

__all__ = [
    "JournalEntry",
    "JournalProof",
    "Operation",
    "append_leaf",
    "decode_entry",
    "encode_entry",
    "entry_body",
    "entry_proof",
    "entry_time",
    "inner_nodes",
    "journal_root_of",
    "leaf_hash",
    "proof_keys",
    "split_entry",
    "verify_entry",
]

_LEAF = b"brain.journal.leaf\0"
_NODE = b"brain.journal.node\0"
_ROOT = b"brain.journal.root\0"
_SEQ = struct.Struct(">Q")


class Operation(IntEnum):
    """What an entry records. The number is part of the storage format."""

    ADD = 1
    REVIVE = 2
    UPDATE = 3
    REMOVE = 4
    LABEL = 5


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change.

    Attributes:
        seq: from 1, without a gap.
        operation: what was done.
        at: when, aware UTC; never earlier than the entry before.
        record: the edge as it was written; None for LABEL.
        previous: seq of the entry that wrote this edge before; 0 for ADD and LABEL.
        by: who updated; "" otherwise, for the record says who created or removed.
        label, code: what was registered; "" and 0 for all but LABEL.
    """

    seq: int
    operation: Operation
    at: datetime
    record: EdgeRecord | None = None
    previous: int = 0
    by: str = ""
    label: str = ""
    code: int = 0


_KEY_SEQ, _KEY_OPERATION, _KEY_AT, _KEY_RECORD, _KEY_PREVIOUS, _KEY_BY, _KEY_LABEL, _KEY_CODE = range(8)


def entry_body(
    seq: int,
    operation: int,
    at: int,
    record: bytes = b"",
    previous: int = 0,
    by: str = "",
    label: str = "",
    code: int = 0,
) -> bytes:
    """The encoding of an entry whose record is encoded already; ``at`` in microseconds since 1970."""
    fields: dict[int, Any] = {_KEY_SEQ: seq, _KEY_OPERATION: operation, _KEY_AT: at}
    if record:
        fields[_KEY_RECORD] = record
    if previous:
        fields[_KEY_PREVIOUS] = previous
    if by:
        fields[_KEY_BY] = by
    if label:
        fields[_KEY_LABEL] = label
        fields[_KEY_CODE] = code
    return encode_map(fields)


def encode_entry(entry: JournalEntry) -> bytes:
    """The deterministic encoding of ``entry``."""
    record = b"" if entry.record is None else encode_record(entry.record)
    at = to_micros(entry.at)
    return entry_body(entry.seq, int(entry.operation), at, record, entry.previous, entry.by, entry.label, entry.code)


def decode_entry(body: bytes, where: str = "") -> JournalEntry:
    """The entry of exactly these bytes. Raises LedgerCorruptError, naming ``where``."""
    try:
        fields = decode_map(body)
        get = fields.get
        encoded, label = get(_KEY_RECORD, b""), get(_KEY_LABEL, "")
        entry = JournalEntry(
            seq=_count(get(_KEY_SEQ)),
            operation=Operation(_count(get(_KEY_OPERATION))),
            at=from_micros(get(_KEY_AT)),
            record=decode_record(encoded) if encoded else None,
            previous=_count(get(_KEY_PREVIOUS, 0)),
            by=checked_text(get(_KEY_BY, ""), "by"),
            label=checked_text(label, "label"),
            code=_count(get(_KEY_CODE, 0)),
        )
        # The record was compared with its one encoding when it was decoded.
        same = body == entry_body(
            entry.seq,
            int(entry.operation),
            fields[_KEY_AT],
            encoded,
            entry.previous,
            entry.by,
            entry.label,
            entry.code,
        )
    except (LedgerCorruptError, InvalidInputError, ValueError, TypeError, OverflowError) as error:
        raise LedgerCorruptError(f"a journal entry is malformed: {error}", where=where) from None
    if not same or (entry.record is None) is not (entry.operation is Operation.LABEL) or not entry.seq:
        raise LedgerCorruptError("a journal entry is not in its one encoding", where=where)
    return entry


def entry_time(body: bytes) -> int:
    """When an entry that was decoded before was made, in microseconds since 1970."""
    at: int = decode_map(body)[_KEY_AT]
    return at


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError("a seq or a code is no natural number")
    return value


def leaf_hash(body: bytes) -> bytes:
    """The leaf of an entry: its body names its own seq."""
    return sha256(_LEAF + body).digest()


def append_leaf(peaks: Sequence[bytes], seq: int, leaf: bytes) -> tuple[tuple[bytes, ...], bytes]:
    """(peaks with entry ``seq`` added, the inner nodes it completes, lowest first, joined).

    ``peaks`` are the roots of the perfect trees over the entries before it, largest first: as many as ``seq - 1`` has one bits.
    """
    grown = list(peaks)
    completed = []
    node = leaf
    while not seq & 1:
        node = sha256(_NODE + grown.pop() + node).digest()
        completed.append(node)
        seq >>= 1
    grown.append(node)
    return tuple(grown), b"".join(completed)


def journal_root_of(seq: int, peaks: Sequence[bytes]) -> bytes:
    """Commits to the first ``seq`` entries, and to how many they are."""
    return sha256(_ROOT + _SEQ.pack(seq) + b"".join(peaks)).digest()


def inner_nodes(seq: int) -> int:
    """How many inner nodes entry ``seq`` completes, each 32 bytes behind its body."""
    return (seq & -seq).bit_length() - 1


def split_entry(seq: int, value: bytes) -> tuple[bytes, bytes]:
    """(body, inner nodes joined) of the stored value of entry ``seq``."""
    cut = len(value) - 32 * inner_nodes(seq)
    return value[: max(cut, 0)], value[max(cut, 0) :]


class JournalProof(msgspec.Struct, frozen=True, kw_only=True):
    """That an entry is in the journal of ``length`` entries: its body, the siblings up to its peak, and the other peaks."""

    seq: int
    length: int
    body: bytes
    siblings: tuple[bytes, ...]
    peaks: tuple[bytes, ...]


def _covering(seq: int, length: int) -> tuple[int, int, int]:
    """(index among the peaks, first entry, height) of the perfect tree that holds entry ``seq``."""
    first, place = 1, 0
    for height in range(length.bit_length() - 1, -1, -1):
        if length >> height & 1:
            if seq < first + (1 << height):
                return place, first, height
            first += 1 << height
            place += 1
    raise ValueError("the entry is beyond the journal")


def _siblings(seq: int, length: int) -> list[tuple[int, int]]:
    """(last entry below, height) of each sibling from the leaf up to its peak."""
    _, first, height = _covering(seq, length)
    offset = seq - first
    return [(first - 1 + (((offset >> level) ^ 1) + 1 << level), level) for level in range(height)]


def proof_keys(seq: int, length: int) -> list[bytes]:
    """Keys of the journal that ``entry_proof`` reads."""
    return [journal_key(seq), *(journal_key(last) for last, _ in _siblings(seq, length))]


def entry_proof(seq: int, length: int, peaks: Sequence[bytes], stored: Mapping[bytes, bytes]) -> JournalProof:
    """The proof of entry ``seq``. Raises LedgerCorruptError when an entry is missing."""

    def node(last: int, height: int) -> bytes:
        body, inner = split_entry(last, _stored(stored, last))
        return leaf_hash(body) if height == 0 else inner[32 * (height - 1) : 32 * height]

    place, _, _ = _covering(seq, length)
    return JournalProof(
        seq=seq,
        length=length,
        body=split_entry(seq, _stored(stored, seq))[0],
        siblings=tuple(node(last, height) for last, height in _siblings(seq, length)),
        peaks=tuple(peaks[:place]) + tuple(peaks[place + 1 :]),
    )


def _stored(stored: Mapping[bytes, bytes], seq: int) -> bytes:
    value = stored.get(journal_key(seq))
    if value is None:
        raise LedgerCorruptError("the journal entry is missing", where=f"j/{seq}")
    return value


def verify_entry(journal_root: bytes, proof: JournalProof) -> bool:
    """Whether ``proof`` shows its entry to be in the journal of this root. Needs no ledger."""
    if not 1 <= proof.seq <= proof.length < 1 << 63:
        return False
    place, first, height = _covering(proof.seq, proof.length)
    if len(proof.siblings) != height or len(proof.peaks) != proof.length.bit_count() - 1:
        return False
    if any(len(node) != 32 for node in (*proof.siblings, *proof.peaks)):
        return False
    try:
        if decode_entry(proof.body).seq != proof.seq:
            return False
    except LedgerCorruptError:
        return False
    node, offset = leaf_hash(proof.body), proof.seq - first
    for level, sibling in enumerate(proof.siblings):
        pair = sibling + node if offset >> level & 1 else node + sibling
        node = sha256(_NODE + pair).digest()
    return journal_root_of(proof.length, (*proof.peaks[:place], node, *proof.peaks[place:])) == journal_root
