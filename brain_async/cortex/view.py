"""LedgerView: one moment of a ledger, to read from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from brain_async.cortex.edge_type import (
    EdgeType,
    TypeLike,
    canonical_code,
    check_code,
    check_label,
    is_host_type,
)
from brain_async.cortex.head import Head, decode_head
from brain_async.cortex.history import entry_at, entry_value, last_seq_until, states_at
from brain_async.cortex.journal import JournalEntry, JournalProof, entry_proof, proof_keys
from brain_async.cortex.keys import (
    FORWARD,
    HEAD,
    JOURNAL,
    REVERSE,
    TAIL_BYTES,
    TYPE,
    edge_id,
    edge_prefix,
    forward_key,
    is_removed,
    journal_key,
    label_key,
    node_prefix,
    seq_of,
)
from brain_async.cortex.merkle import Reading, leaf_key, tree_path
from brain_async.cortex.proof import EdgeProof
from brain_async.cortex.record import EdgeRecord, checked_time, decode_record, object_id_bytes
from brain_async.errors import (
    EdgeNotFoundError,
    InvalidEdgeTypeError,
    InvalidValueError,
    LedgerCorruptError,
)
from brain_async.ports.kv import KeyValueReader

__all__ = ["LedgerView"]

T = TypeVar("T")


class LedgerView:
    """Reads from one moment of the store, as long as the block that opened it. Writers go on beside it, and do not show.

    Ids are UUIDs or their 16 bytes; types are bytes or labels. Every method raises ObjectIdRequiredError,
    InvalidEdgeTypeError or InvalidValueError for an argument that is none, LedgerCorruptError for stored bytes that the
    ledger did not write, and the store's BackendErrors.
    """

    def __init__(self, reader: KeyValueReader) -> None:
        self.reader = reader

    async def get_edge(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> EdgeRecord:
        """The edge, also a removed one. Raises EdgeNotFoundError when it was never created."""
        code = check_code(type) if isinstance(type, int) else await self.type_code(type)
        key = forward_key(object_id_bytes(src, "src"), code, object_id_bytes(dst, "dst"))
        value = await self.reader.get(key)
        if value is None:
            raise EdgeNotFoundError("there never was an edge of this source, type and target")
        return decode_record(value[:-TAIL_BYTES])

    async def count_live(self) -> int:
        """How many edges are live. Reads all of them; ``head().edges`` counts the removed ones too, and costs nothing."""
        return sum([not is_removed(value) async for _, value in self.reader.scan(FORWARD)])

    def iter_edges_out(
        self, src: UUID | bytes, types: Iterable[TypeLike] = (), *, include_tombstoned: bool = False
    ) -> AsyncIterator[EdgeRecord]:
        """The edges from ``src`` by ascending (type, dst), of these types only when any are given.

        Read as they are consumed: stopping early costs nothing.
        """
        return self._iter_edges(FORWARD, object_id_bytes(src, "src"), types, include_tombstoned)

    def iter_edges_in(
        self, dst: UUID | bytes, types: Iterable[TypeLike] = (), *, include_tombstoned: bool = False
    ) -> AsyncIterator[EdgeRecord]:
        """The edges to ``dst`` by ascending (type, src), otherwise as ``iter_edges_out``."""
        return self._iter_edges(REVERSE, object_id_bytes(dst, "dst"), types, include_tombstoned)

    async def edges_out(
        self, src: UUID | bytes, types: Iterable[TypeLike] = (), *, as_of: int | datetime | None = None
    ) -> list[EdgeRecord]:
        """The live edges from ``src`` by ascending (type, dst): now, or as they were once.

        ``as_of`` is a seq of the journal, or an aware time: what counts is every entry up to it. Raises InvalidValueError for
        a seq outside the journal, or a naive time.
        """
        return await self._edges_at(FORWARD, object_id_bytes(src, "src"), types, as_of)

    async def edges_in(
        self, dst: UUID | bytes, types: Iterable[TypeLike] = (), *, as_of: int | datetime | None = None
    ) -> list[EdgeRecord]:
        """The live edges to ``dst`` by ascending (type, src), otherwise as ``edges_out``."""
        return await self._edges_at(REVERSE, object_id_bytes(dst, "dst"), types, as_of)

    async def history(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> list[JournalEntry]:
        """Every entry of one edge, oldest first; [] when it was never created."""
        key = forward_key(object_id_bytes(src, "src"), await self.type_code(type), object_id_bytes(dst, "dst"))
        value = await self.reader.get(key)
        seq = 0 if value is None else seq_of(value)
        entries = []
        while seq:
            entry = await entry_at(self.reader, seq)
            if not 0 <= entry.previous < seq:
                raise LedgerCorruptError("the entry does not follow the one it names", where=f"j/{seq}")
            entries.append(entry)
            seq = entry.previous
        return entries[::-1]

    async def head(self) -> Head:
        """Where the journal and the tree stand."""
        return decode_head(await self.reader.get(HEAD))

    async def root(self) -> bytes:
        """Of the Merkle tree over all edges, 32 bytes; zeros when there is none. It depends on the records alone."""
        return (await self.head()).root

    async def journal_root(self) -> bytes:
        """Commits to every entry of the journal, in order, 32 bytes."""
        return (await self.head()).journal_root

    async def overall_root(self) -> bytes:
        """Commits to ``root`` and ``journal_root``, 32 bytes."""
        return (await self.head()).overall_root

    async def prove(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> EdgeProof:
        """Proof that the edge is under ``root`` with its record, or that it never was. See ``proof.verify_proof``."""
        ends = object_id_bytes(src, "src"), object_id_bytes(dst, "dst")
        code = await self.type_code(type)
        key = leaf_key(edge_id(ends[0], code, ends[1]))
        head = await self.head()
        value = await self.reader.get(forward_key(ends[0], code, ends[1]))
        siblings, end = await self._read(tree_path(key, head.edges))
        found = end is not None and end[:32] == key
        if found is not (value is not None):
            raise LedgerCorruptError("the tree and the records differ", where=forward_key(ends[0], code, ends[1]).hex())
        return EdgeProof(
            src=ends[0],
            type=code,
            dst=ends[1],
            record=b"" if value is None else value[:-TAIL_BYTES],
            other=b"" if found or end is None else end,
            siblings=tuple(siblings),
        )

    async def prove_entry(self, seq: int) -> JournalProof:
        """Proof that entry ``seq`` is under ``journal_root``. Raises InvalidValueError for a seq outside the journal."""
        head = await self.head()
        if not 1 <= seq <= head.seq:
            raise InvalidValueError(f"the journal has the entries 1 to {head.seq}, not {seq}", field="seq")
        return entry_proof(seq, head.seq, head.peaks, await self.reader.get_many(proof_keys(seq, head.seq)))

    async def iter_journal(self, *, after: int = 0, reverse: bool = False) -> AsyncIterator[JournalEntry]:
        """The entries past ``after``, ascending; with ``reverse`` those before it, or all for 0, descending."""
        start = journal_key(after) if after > 0 else None
        async for key, value in self.reader.scan(JOURNAL, after=start, reverse=reverse):
            yield entry_value(key, value)[0]

    async def labels(self) -> dict[str, int]:
        """The registered labels with their bytes, by ascending byte."""
        found = {}
        async for key, value in self.reader.scan(TYPE):
            try:
                found[value.decode()] = key[len(TYPE)]
            except (UnicodeDecodeError, IndexError):
                raise LedgerCorruptError("the label is malformed", where=repr(key)) from None
        return found

    async def type_code(self, type: TypeLike) -> int:
        """The byte of a type. Raises InvalidEdgeTypeError for a label that is not registered."""
        if not isinstance(type, str):
            return check_code(type)
        code = canonical_code(type)
        if code is not None:
            return code
        value = await self.reader.get(label_key(check_label(type)))
        if value is None:
            raise InvalidEdgeTypeError(f"{type!r} is neither a canonical edge type nor a registered label")
        return value[0]

    async def type_label(self, code: int) -> str:
        """The label of a byte. Raises InvalidEdgeTypeError when it has none."""
        if not is_host_type(check_code(code)):
            return EdgeType(code).label
        known = {byte: label for label, byte in (await self.labels()).items()}
        if code not in known:
            raise InvalidEdgeTypeError(f"no label is registered for the edge type 0x{code:02X}")
        return known[code]

    async def prefixes(self, side: bytes, node: bytes, types: Iterable[TypeLike]) -> list[bytes]:
        """The key prefixes that hold the edges of ``node`` on one side: one per type, or one for all types."""
        codes = sorted({await self.type_code(type) for type in types})
        return [edge_prefix(side, node, code) for code in codes] or [node_prefix(side, node)]

    async def _iter_edges(
        self, side: bytes, node: bytes, types: Iterable[TypeLike], include_tombstoned: bool
    ) -> AsyncIterator[EdgeRecord]:
        for prefix in await self.prefixes(side, node, types):
            async for _, value in self.reader.scan(prefix):
                if include_tombstoned or not is_removed(value):
                    yield decode_record(value[:-TAIL_BYTES])

    async def _edges_at(
        self, side: bytes, node: bytes, types: Iterable[TypeLike], as_of: int | datetime | None
    ) -> list[EdgeRecord]:
        if as_of is None:
            return [record async for record in self._iter_edges(side, node, types, False)]
        seq = await self._seq_at(as_of)
        values = [
            value for prefix in await self.prefixes(side, node, types) async for _, value in self.reader.scan(prefix)
        ]
        return [record for record in await states_at(self.reader, values, seq) if not record.tombstoned]

    async def _seq_at(self, as_of: int | datetime) -> int:
        head = await self.head()
        if isinstance(as_of, datetime):
            return await last_seq_until(self.reader, head.seq, checked_time(as_of, "as_of"))
        if isinstance(as_of, bool) or not isinstance(as_of, int) or not 0 <= as_of <= head.seq:
            raise InvalidValueError(f"as_of must be an aware time, or a seq from 0 to {head.seq}", field="as_of")
        return as_of

    async def _read(self, reading: Reading[T]) -> T:
        try:
            request = next(reading)
            while True:
                request = reading.send(await self.reader.get_many(request.keys))
        except StopIteration as done:
            result: T = done.value
            return result
