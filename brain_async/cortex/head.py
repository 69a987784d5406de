"""The head: where the journal and the tree stand, in one small value that every change reads and writes."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from brain_async.cortex.cbor import to_micros
from brain_async.cortex.journal import journal_root_of
from brain_async.cortex.merkle import EMPTY
from brain_async.errors import LedgerCorruptError

__all__ = ["Head", "decode_head", "encode_head", "overall_root_of"]

_OVERALL = b"brain.ledger.root\0"
_FORMAT = 1
_FIXED = struct.Struct(">BQQQB32s")
_LAST_MICRO = to_micros(datetime.max.replace(tzinfo=UTC))
_WHERE = "m/head"


class Head(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One state of a ledger.

    Attributes:
        seq: of the last entry; 0 before the first.
        at: when that was, in microseconds since 1970; a clock before 1970 is read as 1970.
        edges: how many edges there are, removed ones included.
        labels: how many labels hosts have registered.
        root: of the tree over the edges, 32 bytes.
        peaks: of the journal, 32 bytes each, largest first.
    """

    seq: int = 0
    at: int = 0
    edges: int = 0
    labels: int = 0
    root: bytes = EMPTY
    peaks: tuple[bytes, ...] = ()

    @property
    def journal_root(self) -> bytes:
        """Commits to every entry and to their number."""
        return journal_root_of(self.seq, self.peaks)

    @property
    def overall_root(self) -> bytes:
        """Commits to the edges and to the journal."""
        return overall_root_of(self.root, self.journal_root)


def overall_root_of(root: bytes, journal_root: bytes) -> bytes:
    """What commits to both."""
    return sha256(_OVERALL + root + journal_root).digest()


def encode_head(head: Head) -> bytes:
    """The numbers and the root at fixed places, and the peaks behind them."""
    return _FIXED.pack(_FORMAT, head.seq, head.at, head.edges, head.labels, head.root) + b"".join(head.peaks)


def decode_head(value: bytes | None) -> Head:
    """The head of these bytes, of an empty ledger for None. Raises LedgerCorruptError."""
    if value is None:
        return Head()
    try:
        version, seq, at, edges, labels, root = _FIXED.unpack_from(value)
    except struct.error:
        raise LedgerCorruptError("the head is too short", where=_WHERE) from None
    size = _FIXED.size
    end = size + 32 * seq.bit_count()
    if version != _FORMAT or len(value) != end or at > _LAST_MICRO or not edges + labels <= seq < 1 << 63:
        raise LedgerCorruptError("the head is malformed, or of another format", where=_WHERE)
    peaks = tuple([value[start : start + 32] for start in range(size, end, 32)])
    return Head(seq=seq, at=at, edges=edges, labels=labels, root=root, peaks=peaks)
