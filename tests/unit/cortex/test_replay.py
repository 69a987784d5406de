"""Entries that could not have been written are not replayed, though each is well-formed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import JournalEntry, Ledger, Operation
from brain_async.errors import LedgerCorruptError
from tests.unit.cortex.samples import NOW, A, C, record

GONE = record(tombstoned=True, tombstoned_at=NOW)
ADDED = JournalEntry(seq=1, operation=Operation.ADD, at=NOW, record=record())
REMOVED = JournalEntry(seq=2, operation=Operation.REMOVE, at=NOW, record=GONE, previous=1)
REVIVED = JournalEntry(seq=3, operation=Operation.REVIVE, at=NOW, record=record(weight=2.0), previous=2)
UPDATED = JournalEntry(seq=4, operation=Operation.UPDATE, at=NOW, record=record(data=b"x"), previous=3, by="bob")
LABEL = JournalEntry(seq=5, operation=Operation.LABEL, at=NOW, label="about", code=0x40)
TYPED = JournalEntry(seq=6, operation=Operation.ADD, at=NOW, record=record(type=0x40))
GOOD = [ADDED, REMOVED, REVIVED, UPDATED, LABEL, TYPED]


async def test_the_entries_themselves_are_replayed() -> None:
    ledger = Ledger(MemoryKeyValueStore())
    assert (await ledger.replay(GOOD)).seq == 6
    assert (await ledger.verify()).edges == 2


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        (0, {"operation": Operation.REVIVE}),
        (0, {"operation": Operation.UPDATE}),
        (0, {"operation": Operation.REMOVE, "record": GONE}),
        (0, {"record": GONE}),
        (0, {"previous": 1}),
        (0, {"by": "bob"}),
        (0, {"record": record(type=0x40)}),
        (1, {"operation": Operation.ADD, "record": record(), "previous": 0}),
        (1, {"operation": Operation.REVIVE, "record": record()}),
        (1, {"record": record(dst=C.bytes, tombstoned=True, tombstoned_at=NOW)}),
        (1, {"record": record(weight=2.0, tombstoned=True, tombstoned_at=NOW)}),
        (1, {"record": record(tombstoned=True, tombstoned_at=NOW + timedelta(1))}),
        (1, {"record": record()}),
        (1, {"previous": 0}),
        (1, {"at": NOW - timedelta(seconds=1)}),
        (2, {"record": GONE}),
        (2, {"operation": Operation.UPDATE}),
        (2, {"previous": 1}),
        (3, {"record": record(weight=2.0)}),
        (3, {"record": record(data=b"x", created_by="eve")}),
        (3, {"record": record(data=b"x", created_at=NOW - timedelta(1))}),
        (3, {"operation": Operation.REVIVE}),
        (3, {"label": "about", "code": 0x40}),
        (4, {"code": 0x41}),
        (4, {"code": 0x3F}),
        (4, {"label": ""}),
        (4, {"label": "About"}),
        (4, {"label": "part_of", "code": 0x40}),
        (4, {"label": "x" * 300}),
        (4, {"by": "bob"}),
        (4, {"previous": 1}),
        (5, {"record": record(type=0x41)}),
    ],
)
async def test_an_entry_that_cannot_follow_is_refused(place: int, fields: dict[str, Any]) -> None:
    ledger = Ledger(MemoryKeyValueStore())
    await ledger.replay(GOOD[:place])
    with pytest.raises(LedgerCorruptError) as caught:
        await ledger.replay([msgspec.structs.replace(GOOD[place], **fields)])
    assert caught.value.where == f"j/{place + 1}"
    assert (await ledger.head()).seq == place


async def test_a_label_is_registered_once() -> None:
    ledger = Ledger(MemoryKeyValueStore())
    await ledger.replay(GOOD)
    with pytest.raises(LedgerCorruptError, match="not new"):
        await ledger.replay([JournalEntry(seq=7, operation=Operation.LABEL, at=NOW, label="about", code=0x41)])
    assert await ledger.labels() == {"about": 0x40}
    assert (await ledger.get_edge(A, "about", record().dst)).type == 0x40
