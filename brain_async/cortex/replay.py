"""Replaying a journal: the same entries give the same ledger."""

from __future__ import annotations

from collections.abc import Sequence

from brain_async.cortex.batch import Asking, Batch
from brain_async.cortex.cbor import from_micros, to_micros
from brain_async.cortex.edge_type import FIRST_HOST_TYPE, canonical_code, check_label
from brain_async.cortex.head import Head
from brain_async.cortex.journal import JournalEntry, encode_entry, split_entry
from brain_async.cortex.keys import edge_id, journal_key
from brain_async.cortex.transition import check_label_entry, check_transition
from brain_async.errors import InvalidEdgeTypeError, LedgerCorruptError
from brain_async.ports.kv import Get, Work

__all__ = ["replay_work"]


def replay_work(entries: Sequence[JournalEntry]) -> Work[Head]:
    """Apply entries that follow on the journal; those that are in it already must be the same. Returns the head before.

    Raises LedgerCorruptError naming the first entry that is out of order, is not the stored one, or cannot follow on the edge
    it changes; then nothing was written.
    """
    batch = _Replay(from_micros(0))
    head = yield from batch.head()
    known = [entry for entry in entries if entry.seq <= head.seq]
    if known:
        answer = yield Get([journal_key(entry.seq) for entry in known])
        for entry in known:
            body, _ = split_entry(entry.seq, answer.get(journal_key(entry.seq), b""))
            if body != encode_entry(entry):
                raise LedgerCorruptError("the ledger holds another entry of this seq", where=f"j/{entry.seq}")
    yield from batch.apply([entry for entry in entries if entry.seq > head.seq])
    return (yield from batch.finish()), head


class _Replay(Batch):
    """A batch that writes entries as they are, and at their own times."""

    def apply(self, entries: Sequence[JournalEntry]) -> Asking[None]:
        """Write each entry. Raises LedgerCorruptError."""
        records = [entry.record for entry in entries if entry.record is not None]
        yield from self._load([edge_id(record.src, record.type, record.dst) for record in records])
        for entry in entries:
            where, at = f"j/{entry.seq}", to_micros(entry.at)
            if entry.seq != self._seq + 1 or at < self._at:
                raise LedgerCorruptError(f"the entry does not follow on entry {self._seq}", where=where)
            self._at = at
            record = entry.record
            if record is None:
                yield from self._apply_label(entry, where)
                continue
            if record.type >= FIRST_HOST_TYPE + self._label_count:
                raise LedgerCorruptError("the edge's type is not registered", where=where)
            key = edge_id(record.src, record.type, record.dst)
            state = self._edges[key]
            check_transition(entry, state.record, state.seq)
            self._write(key, state, entry.operation, record, by=entry.by)

    def _apply_label(self, entry: JournalEntry, where: str) -> Asking[None]:
        check_label_entry(entry, self._label_count)
        try:
            is_new = check_label(entry.label) == entry.label and canonical_code(entry.label) is None
            code = (yield from self.register(entry.label)) if is_new else 0
        except InvalidEdgeTypeError:
            code = 0
        if code != entry.code:
            raise LedgerCorruptError("the label is not new, or not in its one spelling", where=where)
