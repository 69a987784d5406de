"""The head: where the journal and the tree stand, in one small value that every change reads and writes."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from brain_async.cortex.cbor import decode_map, encode_map, from_micros
from brain_async.cortex.journal import journal_root_of
from brain_async.cortex.merkle import EMPTY
from brain_async.errors import LedgerCorruptError

__all__ = ["Head", "decode_head", "encode_head", "overall_root_of"]

_OVERALL = b"brain.ledger.root\0"
_FORMAT = 1
_WHERE = "m/head"


class Head(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One state of a ledger.

    Attributes:
        seq: of the last entry; 0 before the first.
        at: when that was, in microseconds since 1970.
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
    """The deterministic encoding."""
    peaks = b"".join(head.peaks)
    return encode_map({0: _FORMAT, 1: head.seq, 2: head.at, 3: head.edges, 4: head.labels, 5: head.root, 6: peaks})


def decode_head(value: bytes | None) -> Head:
    """The head of these bytes, of an empty ledger for None. Raises LedgerCorruptError."""
    if value is None:
        return Head()
    try:
        fields = decode_map(value)
        seq, at, edges, labels, root, peaks = (fields[key] for key in range(1, 7))
        from_micros(at)
        head = Head(
            seq=seq,
            at=at,
            edges=edges,
            labels=labels,
            root=root,
            peaks=tuple(peaks[start : start + 32] for start in range(0, len(peaks), 32)),
        )
        same = encode_head(head) == value and len(peaks) == 32 * seq.bit_count() and len(root) == 32
        counted = type(seq) is int and type(edges) is int and 0 <= edges <= seq and type(labels) is int
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise LedgerCorruptError(f"the head is malformed: {error}", where=_WHERE) from None
    if not same or not counted or not 0 <= labels <= seq:
        raise LedgerCorruptError("the head is not in its one encoding, or of another format", where=_WHERE)
    return head
