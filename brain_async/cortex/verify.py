"""Verifying a ledger: everything that is derived is computed again from the records and compared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec
from anyio import to_thread
from anyio.lowlevel import checkpoint

from brain_async.cortex.build import build_pages, join_tops
from brain_async.cortex.edge_type import FIRST_HOST_TYPE
from brain_async.cortex.head import Head
from brain_async.cortex.history import entry_value
from brain_async.cortex.journal import JournalEntry, Operation, append_leaf, entry_time, leaf_hash, split_entry
from brain_async.cortex.keys import (
    FORWARD,
    JOURNAL,
    LABEL,
    PAGES,
    REVERSE,
    TAIL_BYTES,
    TYPE,
    backward_key,
    edge_id,
    forward_key_of,
    is_removed,
    journal_key,
    label_key,
    seq_of,
    split_edge_key,
    type_key,
)
from brain_async.cortex.merkle import leaf_key, leaf_value, node_hash, page_name
from brain_async.cortex.record import EdgeRecord, decode_record
from brain_async.cortex.transition import check_label_entry, check_transition
from brain_async.cortex.view import LedgerView
from brain_async.errors import LedgerCorruptError
from brain_async.ports.kv import KeyValueReader

__all__ = ["Verified", "verify"]

_PAIRS = {b"%02x" % first: first for first in range(256)}

_SMALL = 200
"""Leaves that are built into pages within a millisecond or two."""

_TOGETHER = 128
"""Records that are read and checked between two turns of the event loop."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a verified ledger holds: entries, edges (removed ones included), labels, and the roots over them."""

    seq: int
    edges: int
    labels: int
    root: bytes
    journal_root: bytes
    overall_root: bytes


async def verify(view: LedgerView) -> Verified:
    """Compute everything again from the records. Raises LedgerCorruptError, which names the first difference.

    Checked in this order: each edge, its other direction and its whole history; the journal, entry by entry; labels; the
    pages of the tree; the head. Takes about 100 bytes of memory per edge.
    """
    head = await view.head()
    edges = _Edges(view.reader, head)
    await edges.check_forward()
    await edges.check_backward()
    labels = await _check_journal(view.reader, head, edges.entries)
    await _check_labels(view.reader, labels)
    if head.labels != len(labels):
        raise LedgerCorruptError(f"it says {head.labels} labels, there are {len(labels)}", where="m/head")
    root = await _check_tree(view.reader, edges.leaves)
    if head.edges != edges.count:
        raise LedgerCorruptError(f"it says {head.edges} edges, there are {edges.count}", where="m/head")
    if head.root != root:
        raise LedgerCorruptError("its root is not that of the edges", where="m/head")
    return Verified(
        seq=head.seq,
        edges=edges.count,
        labels=len(labels),
        root=root,
        journal_root=head.journal_root,
        overall_root=head.overall_root,
    )


class _Edges:
    """The records: checks them, and collects the leaves of the tree and the entries that belong to edges."""

    def __init__(self, reader: KeyValueReader, head: Head) -> None:
        self._reader = reader
        self._head = head
        self.count = 0
        self.leaves: list[list[bytes]] = [[] for _ in range(256)]
        self.entries = bytearray(head.seq + 1)

    async def check_forward(self) -> None:
        async for part in _parts(self._reader, FORWARD):
            edges = {_edge_of(FORWARD, key): value for key, value in part.items()}
            other = await self._reader.get_many([backward_key(edge) for edge in edges])
            records = {}
            for edge, value in edges.items():
                where = _where(FORWARD, edge)
                records[edge] = _decoded(edge, value, where)
                if other.get(backward_key(edge)) != value:
                    raise LedgerCorruptError("the edge is missing backwards, or differs", where=where)
                key = leaf_key(edge)
                self.leaves[key[0]].append(key + leaf_value(value[:-TAIL_BYTES]))
            self.count += len(edges)
            await self._follow(records, {edge: seq_of(value) for edge, value in edges.items()})
            await checkpoint()

    async def check_backward(self) -> None:
        async for part in _parts(self._reader, REVERSE):
            edges = [_edge_of(REVERSE, key) for key in part]
            other = await self._reader.get_many([forward_key_of(edge) for edge in edges])
            for edge in edges:
                if forward_key_of(edge) not in other:
                    raise LedgerCorruptError("the edge is missing forwards", where=_where(REVERSE, edge))
            await checkpoint()

    async def _follow(self, records: Mapping[bytes, EdgeRecord], steps: dict[bytes, int]) -> None:
        """Walk each edge back from the entry that wrote it to its first, one step for all of them at a time."""
        later: dict[bytes, JournalEntry] = {}
        while steps:
            stored = await self._reader.get_many([journal_key(seq) for seq in steps.values()])
            earlier = {}
            for edge, seq in steps.items():
                value = stored.get(journal_key(seq))
                if value is None or seq > self._head.seq:
                    raise LedgerCorruptError(f"its entry {seq} is missing", where=_where(FORWARD, edge))
                entry, _ = entry_value(journal_key(seq), value)
                record = entry.record
                if record is None or edge_id(record.src, record.type, record.dst) != edge:
                    raise LedgerCorruptError(f"its entry {seq} is of another edge", where=_where(FORWARD, edge))
                if edge in later:
                    check_transition(later[edge], record, seq)
                elif record != records[edge]:
                    raise LedgerCorruptError(f"it differs from its entry {seq}", where=_where(FORWARD, edge))
                self.entries[seq] = record.type
                if not entry.previous:
                    check_transition(entry, None, 0)
                elif entry.previous >= seq:
                    raise LedgerCorruptError("it follows on what is no earlier entry", where=f"j/{seq}")
                else:
                    earlier[edge], later[edge] = entry.previous, entry
            steps = earlier


def _decoded(edge: bytes, value: bytes, where: str) -> EdgeRecord:
    try:
        record = decode_record(value[:-TAIL_BYTES])
    except LedgerCorruptError as error:
        raise LedgerCorruptError(str(error), where=where) from None
    if edge_id(record.src, record.type, record.dst) != edge or is_removed(value) is not record.tombstoned:
        raise LedgerCorruptError("the record is of another edge, or its mark of removal is wrong", where=where)
    return record


async def _check_journal(reader: KeyValueReader, head: Head, of_edges: bytearray) -> dict[str, int]:
    """Every entry in order, and the range over them; returns the labels registered, with their bytes.

    ``of_edges`` has the type of the edge at the seq of each entry that was checked with its edge, else 0.
    """
    labels: dict[str, int] = {}
    peaks: tuple[bytes, ...] = ()
    seq = at = 0
    async for part in _parts(reader, JOURNAL):
        for key, value in part.items():
            seq += 1
            where = f"j/{seq}"
            if key != journal_key(seq) or seq > head.seq:
                raise LedgerCorruptError("the entry is missing, or beyond the head", where=where)
            body, inner = split_entry(seq, value)
            peaks, completed = append_leaf(peaks, seq, leaf_hash(body))
            if inner != completed:
                raise LedgerCorruptError("the inner nodes it completes differ", where=where)
            if not of_edges[seq]:
                entry, _ = entry_value(key, value)
                if entry.operation is not Operation.LABEL:
                    raise LedgerCorruptError("no edge leads to the entry", where=where)
                check_label_entry(entry, len(labels))
                labels[entry.label] = entry.code
            elif of_edges[seq] >= FIRST_HOST_TYPE + len(labels):
                raise LedgerCorruptError("the edge's type was not registered", where=where)
            earlier, at = at, entry_time(body)
            if at < earlier:
                raise LedgerCorruptError("the entry is earlier than the one before", where=where)
        await checkpoint()
    if seq != head.seq:
        raise LedgerCorruptError("the entry is missing", where=f"j/{seq + 1}")
    if peaks != head.peaks or at != head.at:
        raise LedgerCorruptError("its peaks or its time are not those of the journal", where="m/head")
    return labels


async def _check_labels(reader: KeyValueReader, labels: Mapping[str, int]) -> None:
    """That exactly the journaled labels are found, both ways."""
    for prefix, wanted in (
        (TYPE, {type_key(code): label.encode() for label, code in labels.items()}),
        (LABEL, {label_key(label): bytes((code,)) for label, code in labels.items()}),
    ):
        async for key, value in reader.scan(prefix):
            if wanted.pop(key, None) != value:
                raise LedgerCorruptError("it is not what the journal registered", where=repr(key))
        if wanted:
            raise LedgerCorruptError("a registered label is missing", where=repr(min(wanted)))


async def _check_tree(reader: KeyValueReader, leaves: list[list[bytes]]) -> bytes:
    """Build the tree again, compare every page, and return the root. ``leaves`` by their first byte; they are used up."""
    tree = _Rebuilt(leaves)
    upper: dict[bytes, bytes] = {}
    async for part in _parts(reader, PAGES):
        for key, value in part.items():
            name = key[len(PAGES) :]
            if len(name) < 2:
                upper[name] = value
                continue
            await tree.advance(_PAIRS.get(name[:2], -1), name)
            if tree.pages.pop(name, None) != value:
                raise LedgerCorruptError("the page is not that of the edges", where=page_name(name))
        await checkpoint()
    await tree.advance(256, b"")
    root, wanted = tree.top()
    for name in sorted(wanted.keys() | upper.keys()):
        if wanted.get(name) != upper.get(name):
            raise LedgerCorruptError("the page is missing, or is not that of the edges", where=page_name(name))
    return root


class _Rebuilt:
    """The tree, one 256th after another."""

    def __init__(self, leaves: list[list[bytes]]) -> None:
        self._leaves = leaves
        self._tops: list[bytes | None] = []
        self.pages: dict[bytes, bytes] = {}

    async def advance(self, part: int, name: bytes) -> None:
        """Build up to the 256th ``part``, that of the page ``name``, in a thread; what came before must have been seen."""
        if part < len(self._tops) - 1:
            raise LedgerCorruptError("no page has this key", where=repr(PAGES + name))
        while len(self._tops) <= part:
            if self.pages:
                raise LedgerCorruptError("the page is missing", where=page_name(min(self.pages)))
            place = len(self._tops)
            if place == 256:
                break
            digits, leaves = b"%02x" % place, self._leaves[place]
            if len(leaves) < _SMALL:
                top, self.pages = build_pages(digits, leaves)
            else:
                top, self.pages = await to_thread.run_sync(build_pages, digits, leaves)
            self._leaves[place] = []
            self._tops.append(top)

    def top(self) -> tuple[bytes, dict[bytes, bytes]]:
        """(root, pages under fewer than two digits)."""
        pages: dict[bytes, bytes] = {}
        firsts = []
        for digit in range(16):
            top, page = join_tops(self._tops[16 * digit : 16 * digit + 16])
            firsts.append(top)
            if page is not None:
                pages[b"%x" % digit] = page
        top, page = join_tops(firsts, is_root=True)
        if page is not None:
            pages[b""] = page
        return node_hash(top), pages


async def _parts(reader: KeyValueReader, prefix: bytes) -> AsyncIterator[dict[bytes, bytes]]:
    """Everything with the prefix, in order, a few at a time."""
    part: dict[bytes, bytes] = {}
    async for key, value in reader.scan(prefix):
        part[key] = value
        if len(part) == _TOGETHER:
            yield part
            part = {}
    if part:
        yield part


def _edge_of(side: bytes, key: bytes) -> bytes:
    found = split_edge_key(side, key)
    if found is None:
        raise LedgerCorruptError("this is no key of an edge", where=repr(key))
    node, code, peer = found
    return edge_id(node, code, peer) if side == FORWARD else edge_id(peer, code, node)


def _where(side: bytes, edge: bytes) -> str:
    src, code, dst = edge[:16].hex(), f"{edge[16]:02x}", edge[17:].hex()
    return f"e/from/{src}/{code}/{dst}" if side == FORWARD else f"e/to/{dst}/{code}/{src}"
