"""Reading back: what the edges were at an earlier entry of the journal, or at an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from anyio.lowlevel import checkpoint

from brain_async.cortex.journal import JournalEntry, decode_entry, split_entry
from brain_async.cortex.keys import JOURNAL, TAIL_BYTES, journal_key, seq_of
from brain_async.cortex.record import EdgeRecord, decode_record
from brain_async.errors import LedgerCorruptError
from brain_async.ports.kv import KeyValueReader

__all__ = ["entry_at", "entry_value", "last_seq_until", "states_at"]

_PROBES = 16

_TURN = 256
"""Records that are decoded between two turns of the event loop."""


def entry_value(key: bytes, value: bytes) -> tuple[JournalEntry, bytes]:
    """(entry, inner nodes) stored under a journal key. Raises LedgerCorruptError when they are not that entry's."""
    seq = int.from_bytes(key[len(JOURNAL) :], "big")
    where = f"j/{seq}"
    if len(key) != len(JOURNAL) + 8 or not seq:
        raise LedgerCorruptError("this is no key of the journal", where=repr(key))
    body, inner = split_entry(seq, value)
    entry = decode_entry(body, where)
    if entry.seq != seq:
        raise LedgerCorruptError(f"the entry says that it is {entry.seq}", where=where)
    return entry, inner


async def entry_at(reader: KeyValueReader, seq: int) -> JournalEntry:
    """The entry. Raises LedgerCorruptError when it is missing or malformed."""
    value = await reader.get(journal_key(seq))
    if value is None:
        raise LedgerCorruptError("the journal entry is missing", where=f"j/{seq}")
    return entry_value(journal_key(seq), value)[0]


async def last_seq_until(reader: KeyValueReader, last: int, moment: datetime) -> int:
    """Seq of the last entry not later than ``moment``; 0 when all are. Entries never go back in time.

    Looks at _PROBES entries at once, because a read of many costs a distant store no more than a read of one.
    """
    low, high = 0, last
    while low < high:
        probes = sorted({low + -((low - high) * part // _PROBES) for part in range(1, _PROBES + 1)} - {low})
        stored = await reader.get_many([journal_key(probe) for probe in probes])
        for probe in probes:
            entry, _ = entry_value(journal_key(probe), stored.get(journal_key(probe), b""))
            if entry.at > moment:
                high = probe - 1
                break
            low = probe
    return low


async def states_at(reader: KeyValueReader, values: Sequence[bytes], seq: int) -> list[EdgeRecord]:
    """What the edges of these stored values were at entry ``seq``, in order, without those not created by then.

    Each step goes one entry back for all edges together, so that there are as many reads as the most often changed edge had
    changes since.
    """
    found: list[EdgeRecord | None] = [None] * len(values)
    back = {}
    for place, value in enumerate(values):
        if seq_of(value) <= seq:
            found[place] = decode_record(value[:-TAIL_BYTES])
        else:
            back[place] = seq_of(value)
        if place % _TURN == _TURN - 1:
            await checkpoint()
    while back:
        stored = await reader.get_many([journal_key(wanted) for wanted in back.values()])
        earlier = {}
        for count, (place, wanted) in enumerate(back.items()):
            if count % _TURN == _TURN - 1:
                await checkpoint()
            value = stored.get(journal_key(wanted), b"")
            entry, _ = entry_value(journal_key(wanted), value)
            if wanted <= seq:
                found[place] = entry.record
            elif entry.previous >= wanted:
                raise LedgerCorruptError("the entry does not follow the one it names", where=f"j/{wanted}")
            elif entry.previous:
                earlier[place] = entry.previous
        back = earlier
    return [record for record in found if record is not None]
