"""Journals that are exported and imported again: the same ledger, or an error that names where it ends."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import EdgeMetadata, EdgeType, Ledger, NewEdge
from brain_async.cortex.journal import JournalEntry
from brain_async.cortex.transfer import REPLAY_BATCH
from brain_async.errors import InvalidValueError, LedgerCorruptError
from tests.unit.cortex.samples import A, B, C, everything, filled, fresh

REF = EdgeType.REFERENCES


async def exported(ledger: Ledger, after: int = 0) -> bytes:
    return b"".join([frame async for frame in ledger.export_journal(after=after)])


async def entries(ledger: Ledger) -> list[JournalEntry]:
    async with ledger.snapshot() as view:
        return [entry async for entry in view.iter_journal()]


@pytest.mark.parametrize("size", [1, 3, 1000, 10**9])
async def test_an_import_gives_the_same_store(size: int) -> None:
    store, ledger = fresh()
    await filled(ledger)
    stream = await exported(ledger)
    copy = MemoryKeyValueStore()
    head = await Ledger(copy).import_journal([stream[start : start + size] for start in range(0, len(stream), size)])
    assert head == await ledger.head()
    assert await everything(copy) == await everything(store)


async def test_a_replay_of_more_than_one_commit_gives_the_same_roots() -> None:
    _, ledger = fresh()
    await filled(ledger, 2 * REPLAY_BATCH)
    again = Ledger(MemoryKeyValueStore())
    assert await again.replay(await entries(ledger)) == await ledger.head()
    assert await again.verify() == await ledger.verify()

    async def as_stream() -> AsyncIterator[JournalEntry]:
        for entry in await entries(ledger):
            yield entry

    assert await again.replay(as_stream()) == await ledger.head()


async def test_an_empty_journal() -> None:
    _, ledger = fresh()
    assert (await Ledger(MemoryKeyValueStore()).import_journal([await exported(ledger)])).seq == 0
    assert (await Ledger(MemoryKeyValueStore()).replay([])).seq == 0


async def test_what_came_since_can_be_added() -> None:
    _, ledger = fresh()
    await filled(ledger, 10)
    copy = Ledger(MemoryKeyValueStore())
    before = await copy.import_journal([await exported(ledger)])
    await ledger.add_edge(A, REF, B)
    assert await copy.import_journal([await exported(ledger, after=before.seq)]) == await ledger.head()
    assert await copy.import_journal([await exported(ledger)]) == await ledger.head()
    for after in (-1, 10_000):
        with pytest.raises(InvalidValueError):
            await exported(ledger, after=after)


async def test_an_import_with_a_gap_or_into_another_ledger_is_refused() -> None:
    _, ledger = fresh()
    await filled(ledger, 10)
    with pytest.raises(LedgerCorruptError, match="j/5: the entry does not follow on entry 0"):
        await Ledger(MemoryKeyValueStore()).import_journal([await exported(ledger, after=4)])
    _, other = fresh()
    await other.add_edge(A, REF, C, EdgeMetadata(data=b"other"))
    with pytest.raises(LedgerCorruptError, match="j/1: the ledger holds another entry"):
        await other.import_journal([await exported(ledger)])
    assert (await other.head()).seq == 1


async def test_every_cut_is_noticed() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(A, REF, C)])
    stream = await exported(ledger)
    for end in range(len(stream)):
        with pytest.raises(LedgerCorruptError):
            await Ledger(MemoryKeyValueStore()).import_journal([stream[:end]])
    with pytest.raises(LedgerCorruptError, match="after the last frame"):
        await Ledger(MemoryKeyValueStore()).import_journal([stream, b"", b"\0"])


async def test_every_changed_byte_is_noticed() -> None:
    _, ledger = fresh()
    await ledger.register_label("about")
    await ledger.add_edges([NewEdge(A, REF, B, EdgeMetadata(weight=0.5, data=b"\xa0")), NewEdge(A, "about", C)])
    await ledger.remove_edge(A, REF, B, reason="wrong")
    stream = await exported(ledger)
    chance = random.Random(2)
    for place in range(len(stream)):
        changed = bytearray(stream)
        changed[place] ^= 1 << chance.randrange(8)
        with pytest.raises(LedgerCorruptError):
            await Ledger(MemoryKeyValueStore()).import_journal([bytes(changed)])


@pytest.mark.parametrize("order", [[1], [0, 0], [0, 2], [0, 1, 2, 2], [0, 1, 3]])
async def test_entries_out_of_order_are_refused(order: list[int]) -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    await ledger.remove_edge(A, REF, B)
    await ledger.add_edge(A, REF, B)
    await ledger.add_edge(A, REF, C)
    found = await entries(ledger)
    again = Ledger(MemoryKeyValueStore())
    with pytest.raises(LedgerCorruptError):
        await again.replay([found[place] for place in order])
    assert (await again.head()).seq == 0
