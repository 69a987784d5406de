"""The journal: entries of one encoding, and a mountain range that proves each of them."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import cbor2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex import JournalEntry, Operation, verify_entry
from brain_async.cortex.journal import (
    JournalProof,
    append_leaf,
    decode_entry,
    encode_entry,
    entry_proof,
    inner_nodes,
    journal_root_of,
    leaf_hash,
    proof_keys,
    split_entry,
)
from brain_async.cortex.keys import journal_key
from brain_async.errors import LedgerCorruptError
from tests.unit.cortex.samples import NOW, record


def entry(seq: int, **fields: object) -> JournalEntry:
    values = {"seq": seq, "operation": Operation.ADD, "at": NOW, "record": record(weight=float(seq))} | fields
    return JournalEntry(**values)  # type: ignore[arg-type]


ENTRIES = [
    entry(1),
    entry(2, operation=Operation.UPDATE, previous=1, by="bob"),
    entry(3, operation=Operation.LABEL, record=None, label="about", code=0x40),
    entry(4, operation=Operation.REMOVE, previous=2, record=record(tombstoned=True, tombstoned_at=NOW)),
    entry(2**40, operation=Operation.REVIVE, previous=4),
]


@pytest.mark.parametrize("one", ENTRIES, ids=lambda one: one.operation.name)
def test_an_entry_is_read_as_it_was_written(one: JournalEntry) -> None:
    body = encode_entry(one)
    assert decode_entry(body) == one
    assert cbor2.dumps(cbor2.loads(body), canonical=True) == body


@pytest.mark.parametrize("one", ENTRIES, ids=lambda one: one.operation.name)
def test_no_other_bytes_mean_the_same_entry(one: JournalEntry) -> None:
    body = encode_entry(one)
    for place in range(len(body)):
        for bit in (1, 128):
            changed = bytearray(body)
            changed[place] ^= bit
            with suppress(LedgerCorruptError):
                assert decode_entry(bytes(changed)) != one


@pytest.mark.parametrize(
    "fields",
    [
        {0: 0, 1: 1, 2: 5, 3: b"x"},
        {0: -1, 1: 1, 2: 5},
        {0: 1, 1: 9, 2: 5},
        {0: 1, 1: 1, 2: 5},
        {0: 1, 1: True, 2: 5},
        {0: 1, 1: 5, 2: 5, 4: -3, 6: "x", 7: 64},
        {0: 1, 1: 5, 2: "5", 6: "x", 7: 64},
        {0: 1, 1: 5, 2: 5, 6: b"x", 7: 64},
        {1: 5, 2: 5},
    ],
)
def test_malformed_entries_are_refused_by_name(fields: dict[int, object]) -> None:
    with pytest.raises(LedgerCorruptError) as caught:
        decode_entry(cbor2.dumps(fields), "j/1")
    assert caught.value.where == "j/1"


def defined_root(bodies: list[bytes]) -> bytes:
    """Perfect trees over the largest powers of two, first entries first."""

    def tree(part: list[bytes]) -> bytes:
        if len(part) == 1:
            return hashlib.sha256(b"brain.journal.leaf\0" + part[0]).digest()
        half = len(part) // 2
        return hashlib.sha256(b"brain.journal.node\0" + tree(part[:half]) + tree(part[half:])).digest()

    peaks, rest = b"", bodies
    while rest:
        size = 1 << (len(rest).bit_length() - 1)
        peaks, rest = peaks + tree(rest[:size]), rest[size:]
    return hashlib.sha256(b"brain.journal.root\0" + len(bodies).to_bytes(8, "big") + peaks).digest()


def journal(length: int) -> tuple[tuple[bytes, ...], dict[bytes, bytes], list[bytes]]:
    peaks: tuple[bytes, ...] = ()
    stored, bodies = {}, []
    for seq in range(1, length + 1):
        body = encode_entry(entry(seq))
        peaks, inner = append_leaf(peaks, seq, leaf_hash(body))
        assert len(inner) == 32 * inner_nodes(seq)
        stored[journal_key(seq)] = body + inner
        assert split_entry(seq, body + inner) == (body, inner)
        bodies.append(body)
    return peaks, stored, bodies


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 33])
def test_the_root_is_the_defined_one_and_every_entry_is_proven(length: int) -> None:
    peaks, stored, bodies = journal(length)
    root = journal_root_of(length, peaks)
    assert root == defined_root(bodies)
    for seq in range(1, length + 1):
        wanted = proof_keys(seq, length)
        proof = entry_proof(seq, length, peaks, {key: stored[key] for key in wanted})
        assert verify_entry(root, proof)
        assert proof.body == bodies[seq - 1]
        assert len(wanted) <= length.bit_length()


@given(st.data())
def test_a_changed_proof_fails(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 20))
    peaks, stored, _ = journal(length)
    root = journal_root_of(length, peaks)
    proof = entry_proof(data.draw(st.integers(1, length)), length, peaks, stored)
    change = {
        "seq": data.draw(st.integers(-1, 40).filter(lambda seq: seq != proof.seq)),
        "length": data.draw(st.integers(-1, 40).filter(lambda other: other != length)),
        "body": flipped(proof.body, data),
        "siblings": changed_hashes(proof.siblings, data),
        "peaks": changed_hashes(proof.peaks, data),
    }
    field = data.draw(st.sampled_from(sorted(change)))
    assert not verify_entry(root, msgspec.structs.replace(proof, **{field: change[field]}))
    assert not verify_entry(flipped(root, data), proof)


def flipped(value: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(value)
    changed[data.draw(st.integers(0, len(value) - 1))] ^= data.draw(st.integers(1, 255))
    return bytes(changed)


def changed_hashes(hashes: tuple[bytes, ...], data: st.DataObject) -> tuple[bytes, ...]:
    if not hashes or data.draw(st.booleans()):
        return data.draw(st.sampled_from([(*hashes, bytes(32)), hashes[1:] or (b"",)]))
    place = data.draw(st.integers(0, len(hashes) - 1))
    return (*hashes[:place], flipped(hashes[place], data), *hashes[place + 1 :])


def test_a_missing_entry_is_named() -> None:
    peaks, stored, _ = journal(4)
    del stored[journal_key(2)]
    with pytest.raises(LedgerCorruptError, match="j/2"):
        entry_proof(1, 4, peaks, stored)
    assert not verify_entry(bytes(32), JournalProof(seq=1, length=0, body=b"", siblings=(), peaks=()))
