"""Batch: the changes of one commit, composed. It asks for what it reads and returns what is to be written."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from brain_async.cortex.cbor import from_micros, to_micros
from brain_async.cortex.edge_type import (
    FIRST_HOST_TYPE,
    HOST_TYPE_COUNT,
    TypeLike,
    canonical_code,
    check_code,
    check_label,
    is_host_type,
)
from brain_async.cortex.head import Head, decode_head, encode_head
from brain_async.cortex.journal import Operation, append_leaf, entry_body, leaf_hash
from brain_async.cortex.keys import (
    HEAD,
    TAIL_BYTES,
    backward_key,
    edge_id,
    edge_value,
    forward_key_of,
    journal_key,
    label_key,
    seq_of,
    type_key,
)
from brain_async.cortex.merkle import leaf_key, leaf_value, update_tree
from brain_async.cortex.record import (
    EdgeMetadata,
    EdgeRecord,
    checked_metadata,
    checked_text,
    decode_record,
    encode_record,
    object_id_bytes,
)
from brain_async.errors import EdgeNotFoundError, InvalidEdgeTypeError, LedgerCorruptError, SelfEdgeError
from brain_async.ports.kv import Change, Get, Scan

__all__ = ["Asking", "Batch", "EdgeChange", "EdgeKeyLike", "NewEdge"]

T = TypeVar("T")
Asking = Generator[Get | Scan, Mapping[bytes, bytes], T]
"""A part of a work: yields what it reads."""

EdgeKeyLike = tuple[UUID | bytes, TypeLike, UUID | bytes]
"""(src, type, dst)."""


class NewEdge(msgspec.Struct, frozen=True):
    """An edge to add."""

    src: UUID | bytes
    type: TypeLike
    dst: UUID | bytes
    meta: EdgeMetadata = EdgeMetadata()


class EdgeChange(msgspec.Struct, frozen=True, gc=False):
    """What became of one edge: ``operation`` None means that nothing changed and nothing was journaled.

    ``record`` is the edge as it is now, None when there is none; ``seq`` that of the entry which wrote it, 0 without one.
    """

    operation: Operation | None
    record: EdgeRecord | None
    seq: int


class _State(msgspec.Struct):
    """An edge within a batch: as stored, and as this batch leaves it."""

    record: EdgeRecord | None
    encoded: bytes
    seq: int
    is_new: bool


class Batch:
    """Changes that are committed together, each seeing those before it, with one update of the tree.

    Every method is a generator of the key-value port's requests: run it with ``yield from`` inside a work, then
    ``yield from finish()`` and return the Change, extended by whatever else belongs into the same commit. A batch that is not
    finished writes nothing. ``at`` is an aware time; entries never go back behind those of the journal.
    """

    def __init__(self, at: datetime) -> None:
        self._at = to_micros(at)
        self._head: Head | None = None
        self._seq = 0
        self._peaks: tuple[bytes, ...] = ()
        self._edges: dict[bytes, _State] = {}
        self._changed: dict[bytes, _State] = {}
        self._labels: dict[str, int] = {}
        self._label_count = 0
        self._writes: dict[bytes, bytes | None] = {}

    def add(self, edges: Sequence[NewEdge], *, update: bool = False) -> Asking[list[EdgeChange]]:
        """Add each edge; a removed one is revived with its new metadata, a live one is left as it is.

        With ``update`` a live one takes the new weight and data, and keeps created_at and created_by. Returns one change per
        edge, in order. Raises InvalidEdgeTypeError, SelfEdgeError, ObjectIdRequiredError, InvalidValueError.
        """
        metas = [checked_metadata(edge.meta) for edge in edges]
        keys = yield from self._keys([(edge.src, edge.type, edge.dst) for edge in edges])
        yield from self._load(keys)
        changes = []
        for key, meta in zip(keys, metas, strict=True):
            state = self._edges[key]
            record = state.record
            if record is None or record.tombstoned:
                at = from_micros(self._at) if meta.created_at is None else meta.created_at
                record = EdgeRecord(
                    key[16], key[:16], key[17:], at, meta.created_by, meta.weight, meta.data
                )  # a revived edge starts anew: what it was is in the journal
                changes.append(self._write(key, state, Operation.REVIVE if state.encoded else Operation.ADD, record))
            elif update:
                changes.append(self._update(key, state, record, meta.weight, meta.data, meta.created_by))
            else:
                changes.append(EdgeChange(None, record, state.seq))
        return changes

    def update(self, edge: EdgeKeyLike, *, weight: float | None, data: bytes | None, by: str) -> Asking[EdgeChange]:
        """Give a live edge another weight or other data, None keeping what it has.

        Raises EdgeNotFoundError when there is no live edge, and as ``add`` does.
        """
        meta = checked_metadata(EdgeMetadata(weight=1.0 if weight is None else weight, data=data or b"", created_by=by))
        [key] = yield from self._keys([edge])
        yield from self._load([key])
        state = self._edges[key]
        record = state.record
        if record is None or record.tombstoned:
            raise EdgeNotFoundError("there is no live edge of this source, type and target")
        return self._update(
            key,
            state,
            record,
            record.weight if weight is None else meta.weight,
            record.data if data is None else meta.data,
            by,
        )

    def remove(self, edges: Iterable[EdgeKeyLike], *, reason: str, by: str) -> Asking[list[EdgeChange]]:
        """Tombstone each live edge; missing and removed ones are left as they are. Raises as ``add`` does."""
        reason, by = checked_text(reason, "reason"), checked_text(by, "by")
        keys = yield from self._keys(list(edges))
        yield from self._load(keys)
        at = from_micros(self._at)
        changes = []
        for key in keys:
            state = self._edges[key]
            record = state.record
            if record is None or record.tombstoned:
                changes.append(EdgeChange(None, record, state.seq))
                continue
            removed = msgspec.structs.replace(
                record, tombstoned=True, tombstoned_at=at, tombstoned_reason=reason, tombstoned_by=by
            )
            changes.append(self._write(key, state, Operation.REMOVE, removed))
        return changes

    def register(self, label: str) -> Asking[int]:
        """The byte of a label: the canonical one, the one it has, or else the next of the hosts' bytes, for ever.

        Raises InvalidEdgeTypeError for a label that is blank or too long, or when all bytes are taken.
        """
        name = check_label(label)
        code = canonical_code(name)
        if code is None:
            code = (yield from self._host_codes([name])).get(name)
        if code is None:
            if self._label_count >= HOST_TYPE_COUNT:
                raise InvalidEdgeTypeError(f"all {HOST_TYPE_COUNT} bytes for host labels are taken")
            code = self._labels[name] = FIRST_HOST_TYPE + self._label_count
            self._label_count += 1
            self._journal(Operation.LABEL, label=name, code=code)
            self._writes[label_key(name)] = bytes((code,))
            self._writes[type_key(code)] = name.encode()
        return code

    def finish(self) -> Asking[Change]:
        """What is to be written: the records both ways, the entries, the pages of the tree, and the head."""
        head = self._head
        if head is None or self._seq == head.seq:
            return Change()
        root, edges = head.root, head.edges
        if self._changed:
            leaves = {leaf_key(key): leaf_value(state.encoded) for key, state in self._changed.items()}
            root, pages = yield from update_tree(leaves, edges + len(leaves))
            self._writes.update(pages)
            for key, state in self._changed.items():
                value = edge_value(
                    state.encoded, state.seq, removed=state.record is not None and state.record.tombstoned
                )
                self._writes[forward_key_of(key)] = self._writes[backward_key(key)] = value
                edges += state.is_new
        after = Head(seq=self._seq, at=self._at, edges=edges, labels=self._label_count, root=root, peaks=self._peaks)
        self._writes[HEAD] = encode_head(after)
        return Change(self._writes)

    def head(self) -> Asking[Head]:
        """The head that this batch started from."""
        if self._head is None:
            yield from self._get([])
        assert self._head is not None
        return self._head

    def _update(self, key: bytes, state: _State, record: EdgeRecord, weight: float, data: bytes, by: str) -> EdgeChange:
        if record.weight == weight and record.data == data:
            return EdgeChange(None, record, state.seq)
        return self._write(
            key, state, Operation.UPDATE, msgspec.structs.replace(record, weight=weight, data=data), by=by
        )

    def _write(self, key: bytes, state: _State, operation: Operation, record: EdgeRecord, by: str = "") -> EdgeChange:
        encoded = encode_record(record)
        seq = self._journal(operation, record=encoded, previous=state.seq, by=by)
        state.record, state.encoded, state.seq = record, encoded, seq
        self._changed[key] = state
        return EdgeChange(operation, record, seq)

    def _journal(
        self,
        operation: Operation,
        *,
        record: bytes = b"",
        previous: int = 0,
        by: str = "",
        label: str = "",
        code: int = 0,
    ) -> int:
        self._seq = seq = self._seq + 1
        body = entry_body(seq, operation, self._at, record, previous, by, label, code)
        self._peaks, inner = append_leaf(self._peaks, seq, leaf_hash(body))
        self._writes[journal_key(seq)] = body + inner
        return seq

    def _keys(self, edges: Sequence[EdgeKeyLike]) -> Asking[list[bytes]]:
        """The identities of edges whose types are valid."""
        labels = {check_label(code) for _, code, _ in edges if isinstance(code, str) and canonical_code(code) is None}
        codes = {check_code(code) for _, code, _ in edges if not isinstance(code, str)}
        known = yield from self._host_codes(sorted(labels))
        keys = []
        for source, code, target in edges:
            src, dst = object_id_bytes(source, "src"), object_id_bytes(target, "dst")
            if src == dst:
                raise SelfEdgeError
            keys.append(edge_id(src, self._code(code, known), dst))
        if any(is_host_type(code) for code in codes):
            yield from self.head()
            registered = FIRST_HOST_TYPE + self._label_count
            for code in codes:
                if code >= registered:
                    raise InvalidEdgeTypeError(f"no label is registered for the edge type 0x{code:02X}")
        return keys

    def _code(self, code: TypeLike, known: Mapping[str, int]) -> int:
        if not isinstance(code, str):
            return code
        found = canonical_code(code)
        if found is None:
            found = known.get(check_label(code))
        if found is None:
            raise InvalidEdgeTypeError(f"{code!r} is neither a canonical edge type nor a registered label")
        return found

    def _host_codes(self, names: Sequence[str]) -> Asking[dict[str, int]]:
        """The bytes of those of these labels that are registered."""
        missing = [name for name in names if name not in self._labels]
        if missing:
            answer = yield from self._get([label_key(name) for name in missing])
            for name in missing:
                value = answer.get(label_key(name))
                if value is not None:
                    if len(value) != 1 or not FIRST_HOST_TYPE <= value[0] < FIRST_HOST_TYPE + self._label_count:
                        raise LedgerCorruptError("the label has no byte", where=f"m/label/{name}")
                    self._labels[name] = value[0]
        return {name: self._labels[name] for name in names if name in self._labels}

    def _load(self, keys: Sequence[bytes]) -> Asking[None]:
        wanted = {key: forward_key_of(key) for key in keys if key not in self._edges}
        if not wanted and self._head is not None:
            return
        answer = yield from self._get(list(wanted.values()))
        for key, place in wanted.items():
            value = answer.get(place)
            if value is None:
                self._edges[key] = _State(None, b"", 0, True)
            else:
                self._edges[key] = _stored_state(key, value)

    def _get(self, keys: list[bytes]) -> Asking[Mapping[bytes, bytes]]:
        """Ask for keys, and for the head along with the first of them."""
        if self._head is not None:
            return (yield Get(keys))
        answer = yield Get([HEAD, *keys])
        self._head = head = decode_head(answer.get(HEAD))
        self._seq, self._peaks, self._label_count = head.seq, head.peaks, head.labels
        self._at = max(self._at, head.at)
        return answer


def _stored_state(key: bytes, value: bytes) -> _State:
    encoded = value[:-TAIL_BYTES]
    record = decode_record(encoded)
    if edge_id(record.src, record.type, record.dst) != key:
        raise LedgerCorruptError("the record is of another edge", where=key.hex())
    return _State(record, encoded, seq_of(value), False)
