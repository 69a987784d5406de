"""Proofs that an edge is, or is not, under a root. They are checked without the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from brain_async.cortex.cbor import decode_map, encode_map
from brain_async.cortex.edge_type import check_code
from brain_async.cortex.keys import edge_id
from brain_async.cortex.merkle import EMPTY, leaf_key, leaf_value, node_hash, parent_hash
from brain_async.cortex.record import EdgeRecord, decode_record, object_id_bytes
from brain_async.errors import BrainError, InvalidValueError

__all__ = ["EdgeProof", "decode_proof", "encode_proof", "verify_proof"]

_CHECK = b"brain.edge.proof\0"
_CHECK_BYTES = 8
_SRC, _TYPE, _DST, _RECORD, _OTHER, _DEPTH, _EMPTY, _SIBLINGS = range(8)


class EdgeProof(msgspec.Struct, frozen=True, kw_only=True):
    """That the edge (src, type, dst) is under a root with exactly this record, or that it is not under it.

    Attributes:
        src, dst: 16 bytes each.
        record: the encoded record; empty in a proof that the edge was never created.
        other: without a record, the leaf that stands where the edge would: its key and the hash of its record, 64 bytes; empty
            when nothing stands there.
        siblings: the hashes beside the way, from the root down, 32 bytes each.
    """

    src: bytes
    type: int
    dst: bytes
    record: bytes = b""
    other: bytes = b""
    siblings: tuple[bytes, ...] = ()

    @property
    def included(self) -> bool:
        """Whether the proof says that the edge is there."""
        return bool(self.record)

    @property
    def edge(self) -> EdgeRecord | None:
        """The proven record; None when the edge is not there. Raises LedgerCorruptError when it is malformed."""
        return decode_record(self.record) if self.record else None


def verify_proof(root: bytes, proof: EdgeProof | bytes) -> bool:
    """Whether ``proof`` holds under ``root``. Encoded proofs are checked for being whole, too; nothing is raised.

    A caller still compares ``proof.src``, ``type`` and ``dst`` with the edge it asked about: what a proof of absence from a
    small tree says is true of many edges.
    """
    try:
        shown = decode_proof(proof) if isinstance(proof, bytes) else proof
        src, dst = object_id_bytes(shown.src, "src"), object_id_bytes(shown.dst, "dst")
        key = leaf_key(edge_id(src, check_code(shown.type), dst))
        node = _end_hash(shown, key)
    except BrainError:
        return False
    depth = len(shown.siblings)
    if node is None or depth > 256 or any(len(sibling) != 32 for sibling in shown.siblings):
        return False
    bits = int.from_bytes(key, "big")
    for level in range(depth - 1, -1, -1):
        sibling = shown.siblings[level]
        node = parent_hash(sibling, node) if bits >> (255 - level) & 1 else parent_hash(node, sibling)
    return node == root


def _end_hash(proof: EdgeProof, key: bytes) -> bytes | None:
    """Hash of what stands at the end of the way; None when the proof contradicts itself."""
    if proof.record:
        record = decode_record(proof.record)
        same = (record.src, record.type, record.dst) == (proof.src, proof.type, proof.dst)
        return node_hash(key + leaf_value(proof.record)) if same and not proof.other else None
    if not proof.other:
        return EMPTY
    other = proof.other[:32]
    if len(proof.other) != 64 or other == key:
        return None
    depth = len(proof.siblings)
    way_differs = (int.from_bytes(other, "big") ^ int.from_bytes(key, "big")) >> (256 - min(depth, 256))
    return None if way_differs else node_hash(proof.other)


def encode_proof(proof: EdgeProof) -> bytes:
    """The proof as bytes: deterministic CBOR, with empty siblings left out, and a checksum of eight bytes."""
    fields: dict[int, Any] = {}
    if proof.record:
        fields[_RECORD] = proof.record
    else:
        fields |= {_SRC: proof.src, _TYPE: proof.type, _DST: proof.dst}
        if proof.other:
            fields[_OTHER] = proof.other
    fields[_DEPTH] = len(proof.siblings)
    fields[_EMPTY] = _empty_bits(proof.siblings)
    fields[_SIBLINGS] = b"".join(sibling for sibling in proof.siblings if sibling != EMPTY)
    body = encode_map(fields)
    return body + sha256(_CHECK + body).digest()[:_CHECK_BYTES]


def decode_proof(data: bytes) -> EdgeProof:
    """The proof of exactly these bytes. Raises InvalidValueError for any other, LedgerCorruptError for a malformed record."""
    try:
        proof = _proof(decode_map(data[:-_CHECK_BYTES]))
        same = encode_proof(proof) == data
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidValueError(f"the proof is malformed: {error}", field="proof") from None
    if not same:
        raise InvalidValueError("the proof is not in its one encoding", field="proof")
    return proof


def _proof(fields: dict[int, Any]) -> EdgeProof:
    depth, empty, packed = fields[_DEPTH], fields[_EMPTY], fields[_SIBLINGS]
    if type(depth) is not int or not 0 <= depth <= 256 or type(empty) is not bytes or len(empty) != (depth + 7) // 8:
        raise ValueError("its siblings are not counted")
    hashes = iter([packed[start : start + 32] for start in range(0, len(packed), 32)])
    siblings = tuple(EMPTY if empty[level >> 3] >> (level & 7) & 1 else next(hashes, b"") for level in range(depth))
    record = fields.get(_RECORD, b"")
    if record:
        edge = decode_record(record)
        return EdgeProof(src=edge.src, type=edge.type, dst=edge.dst, record=record, siblings=siblings)
    src, code, dst = fields[_SRC], fields[_TYPE], fields[_DST]
    return EdgeProof(src=src, type=code, dst=dst, other=fields.get(_OTHER, b""), siblings=siblings)


def _empty_bits(siblings: Sequence[bytes]) -> bytes:
    bits = sum(1 << level for level, sibling in enumerate(siblings) if sibling == EMPTY)
    return bits.to_bytes((len(siblings) + 7) // 8, "little")
