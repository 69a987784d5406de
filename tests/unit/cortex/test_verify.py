"""Verifying finds every byte that was changed, and names the first difference."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise

import pytest

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import EdgeRecord, EdgeType, Ledger, NewEdge, encode_record
from brain_async.cortex.keys import HEAD, backward_key, edge_id, edge_value, forward_key, journal_key
from brain_async.errors import BrainError, LedgerCorruptError
from tests.unit.cortex.samples import NOW, A, B, C, D, everything, filled, fresh, write

REF = EdgeType.REFERENCES
KEY = forward_key(A.bytes, 3, B.bytes)
BACK = backward_key(edge_id(A.bytes, 3, B.bytes))


async def test_a_whole_ledger_is_verified() -> None:
    _, ledger = fresh()
    assert (await ledger.verify()).edges == 0
    await filled(ledger, 300)
    verified, head = await ledger.verify(), await ledger.head()
    assert (verified.seq, verified.edges, verified.labels) == (head.seq, 300, 1)
    assert (verified.root, verified.journal_root, verified.overall_root) == (
        head.root,
        head.journal_root,
        head.overall_root,
    )


async def test_every_byte_of_every_value_counts() -> None:
    store, ledger = fresh()
    await filled(ledger, 8)
    chance = random.Random(11)
    for key, value in (await everything(store)).items():
        for place in range(len(value)):
            changed = bytearray(value)
            changed[place] ^= 1 << chance.randrange(8)
            await write(store, {key: bytes(changed)})
            with pytest.raises(LedgerCorruptError):
                await ledger.verify()
        await write(store, {key: value})
    await ledger.verify()


async def test_every_missing_moved_or_doubled_key_is_found() -> None:
    store, ledger = fresh()
    await filled(ledger, 30)
    for key, value in (await everything(store)).items():
        for writes in ({key: None}, {key + b"\0": value}, {key: value[:-1]}, {key: value + b"\0"}, {key: b""}):
            if key == HEAD and key not in writes:
                continue  # nothing ever reads what follows the head
            await write(store, writes)
            with pytest.raises(LedgerCorruptError):
                await ledger.verify()
            await write(store, {key + b"\0": None, key: value})
    await ledger.verify()


@pytest.mark.parametrize(
    ("writes", "where"),
    [
        ({b"e/from/stray": b"x"}, "e/from/stray"),
        ({b"e/to/stray": b"x"}, "e/to/stray"),
        ({BACK: None}, "e/from/" + A.bytes.hex()),
        ({b"j/stray": b"x"}, "j/"),
        ({journal_key(9): b"x"}, "j/"),
        ({b"idx/smt/edges/zz": b"x"}, "idx/smt/edges/zz"),
        ({b"idx/smt/edges/": None}, "idx/smt/edges/"),
        ({b"m/type/\x40": b"about"}, "m/type/"),
        ({b"m/label/about": b"\x40"}, "m/label/about"),
        ({HEAD: None}, "e/from/"),
    ],
)
async def test_the_difference_is_named(writes: dict[bytes, bytes | None], where: str) -> None:
    store, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(B, REF, C)])
    await write(store, writes)
    with pytest.raises(LedgerCorruptError) as caught:
        await ledger.verify()
    assert where in caught.value.where


async def test_a_forged_edge_is_found_though_both_directions_agree() -> None:
    store, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(B, REF, C)])
    forged = edge_value(encode_record(EdgeRecord(3, A.bytes, D.bytes, NOW)), 1, removed=False)
    other = edge_id(A.bytes, 3, D.bytes)
    await write(store, {forward_key(A.bytes, 3, D.bytes): forged, backward_key(other): forged})
    with pytest.raises(LedgerCorruptError, match="is of another edge"):
        await ledger.verify()
    rewritten = edge_value(encode_record(EdgeRecord(3, A.bytes, B.bytes, NOW, "eve")), 1, removed=False)
    await write(
        store,
        {forward_key(A.bytes, 3, D.bytes): None, backward_key(other): None, KEY: rewritten, BACK: rewritten},
    )
    with pytest.raises(LedgerCorruptError, match="differs from its entry 1"):
        await ledger.verify()


async def test_an_edge_that_was_rolled_back_is_found() -> None:
    store, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    old = (await everything(store))[KEY]
    await ledger.remove_edge(A, REF, B)
    await write(store, {KEY: old, BACK: old})
    with pytest.raises(LedgerCorruptError) as caught:
        await ledger.verify()
    assert caught.value.where == "j/2"


async def test_values_that_were_swapped_are_found() -> None:
    store, ledger = fresh()
    await filled(ledger, 12)
    held = await everything(store)
    keys = sorted(held)
    for one, other in pairwise(keys):
        if held[one] != held[other]:
            await write(store, {one: held[other], other: held[one]})
            with pytest.raises(LedgerCorruptError):
                await ledger.verify()
            await write(store, {one: held[one], other: held[other]})
    await ledger.verify()


CALLS: list[Callable[[Ledger], Awaitable[object]]] = [
    lambda ledger: ledger.add_edge(A, "about", D),
    lambda ledger: ledger.prove(A, REF, D),
    lambda ledger: ledger.edges_out(A, as_of=3),
    lambda ledger: ledger.edges_out(A),
    lambda ledger: ledger.labels(),
    lambda ledger: ledger.prove_entry(3),
    lambda ledger: ledger.remove_edges_of(A),
]


async def test_reads_of_a_damaged_ledger_raise_only_our_errors() -> None:
    store, ledger = fresh()
    await filled(ledger, 12)
    chance = random.Random(5)
    held = await everything(store)
    for key, value in held.items():
        changed = bytearray(value or b"\0")
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        await write(store, {key: bytes(changed)})
        for call in CALLS:
            copy = MemoryKeyValueStore()
            await write(copy, dict(await everything(store)))
            with suppress(BrainError):
                await call(Ledger(copy))
        await write(store, {key: value})
