"""Keys of the ledger in its key-value store.

::

    e/from/<src:16>/<type:1>/<dst:16>   an edge, forwards
    e/to/<dst:16>/<type:1>/<src:16>     the same edge, backwards, with the same value
    j/<seq:8>                           one entry of the journal; big-endian, from 1, without a gap
    idx/smt/edges/<hex digits>          a page of the Merkle tree, by the digits that lead to it
    m/head                              where the journal and the tree stand
    m/type/<type:1>                     the label that a host registered under this byte
    m/label/<label>                     the byte of that label

Ids and types have fixed lengths, so that a prefix is exact: that of a source holds its edges alone, by (type, peer), that of
a source and a type the edges of that type alone, by peer.

The value of an edge is the encoded record, and after it eight bytes that are no part of the record: the seq of the journal
entry which wrote it, with the highest bit set when the edge is removed. They lead from an edge into its history, and tell a
walk what is live without decoding.
"""

from __future__ import annotations

__all__ = [
    "EDGE_ID_BYTES",
    "FORWARD",
    "HEAD",
    "JOURNAL",
    "LABEL",
    "PAGES",
    "REVERSE",
    "TAIL_BYTES",
    "TYPE",
    "backward_key",
    "edge_id",
    "edge_prefix",
    "edge_value",
    "forward_key",
    "forward_key_of",
    "is_removed",
    "journal_key",
    "label_key",
    "node_prefix",
    "seq_of",
    "split_edge_key",
    "type_key",
]

FORWARD = b"e/from/"
REVERSE = b"e/to/"
JOURNAL = b"j/"
PAGES = b"idx/smt/edges/"
HEAD = b"m/head"
TYPE = b"m/type/"
LABEL = b"m/label/"

EDGE_ID_BYTES = 33
"""Of the identity of an edge: source, type, target."""

TAIL_BYTES = 8

_REMOVED = 1 << 63
_CODES = [bytes((code,)) for code in range(256)]


def edge_id(src: bytes, code: int, dst: bytes) -> bytes:
    """The identity of an edge, EDGE_ID_BYTES long."""
    return src + _CODES[code] + dst


def forward_key(src: bytes, code: int, dst: bytes) -> bytes:
    """Where the edge is found from its source."""
    return b"e/from/%b/%c/%b" % (src, code, dst)


def forward_key_of(edge: bytes) -> bytes:
    """``forward_key`` of an edge's identity."""
    return b"e/from/%b/%b/%b" % (edge[:16], edge[16:17], edge[17:])


def backward_key(edge: bytes) -> bytes:
    """Where the edge of this identity is found from its target."""
    return b"e/to/%b/%b/%b" % (edge[17:], edge[16:17], edge[:16])


def node_prefix(side: bytes, node: bytes) -> bytes:
    """The prefix of every edge of ``node``: FORWARD for those from it, REVERSE for those to it."""
    return side + node + b"/"


def edge_prefix(side: bytes, node: bytes, code: int) -> bytes:
    """The prefix of the edges of one type."""
    return b"%b%b/%c/" % (side, node, code)


def split_edge_key(side: bytes, key: bytes) -> tuple[bytes, int, bytes] | None:
    """(node, type, peer) of an edge's key of that side; None when it is no such key."""
    start = len(side)
    if len(key) != start + 35 or key[start + 16] != 0x2F or key[start + 18] != 0x2F:
        return None
    return key[start : start + 16], key[start + 17], key[start + 19 :]


def edge_value(encoded: bytes, seq: int, *, removed: bool) -> bytes:
    """What is stored for an edge under both of its keys."""
    return encoded + (seq | _REMOVED if removed else seq).to_bytes(8, "big")


def is_removed(value: bytes) -> bool:
    """Whether the edge of this stored value is removed."""
    return value[-8] > 0x7F


def seq_of(value: bytes) -> int:
    """Seq of the entry that wrote this stored value."""
    return int.from_bytes(value[-8:], "big") & ~_REMOVED


def journal_key(seq: int) -> bytes:
    """Of the entry ``seq``."""
    return JOURNAL + seq.to_bytes(8, "big")


def type_key(code: int) -> bytes:
    """Where the label of a host's type is."""
    return TYPE + _CODES[code]


def label_key(label: str) -> bytes:
    """Where the byte of a host's label is."""
    return LABEL + label.encode()
