"""Proofs hold for what is so, and no changed one does."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex import EdgeProof, EdgeType, Ledger, decode_proof, encode_proof, encode_record, verify_proof
from brain_async.errors import InvalidValueError, LedgerCorruptError
from tests.unit.cortex.samples import A, B, filled, fresh, record

REF = EdgeType.REFERENCES


async def proofs(ledger: Ledger, count: int) -> tuple[bytes, list[EdgeProof]]:
    await filled(ledger, count)
    found = [await ledger.prove(UUID(int=1 + number % 7), REF, UUID(int=100 + number)) for number in range(count + 10)]
    return await ledger.root(), found


@pytest.mark.parametrize("count", [1, 2, 3, 40])
async def test_members_and_others_are_proven(count: int) -> None:
    _, ledger = fresh()
    root, found = await proofs(ledger, count)
    assert [proof.included for proof in found] == [number < count and number % 3 == 0 for number in range(count + 10)]
    for proof in found:
        assert verify_proof(root, proof)
        assert decode_proof(encode_proof(proof)) == proof
        assert not verify_proof(bytes(32), proof)
        if proof.included:
            assert proof.edge == await ledger.get_edge(proof.src, proof.type, proof.dst)
        else:
            assert proof.edge is None


async def test_the_empty_ledger_proves_that_nothing_is_there() -> None:
    _, ledger = fresh()
    proof = await ledger.prove(A, REF, B)
    assert (proof.record, proof.other, proof.siblings) == (b"", b"", ())
    assert verify_proof(await ledger.root(), proof)
    assert await ledger.root() == bytes(32)


async def test_every_changed_byte_of_an_encoded_proof_is_detected() -> None:
    _, ledger = fresh()
    root, found = await proofs(ledger, 40)
    kinds = {(proof.included, bool(proof.other)): proof for proof in found}
    assert len(kinds) == 3
    for proof in kinds.values():
        whole = encode_proof(proof)
        for place in range(len(whole)):
            for bits in (0x01, 0x80, 0xFF):
                changed = bytearray(whole)
                changed[place] ^= bits
                assert not verify_proof(root, bytes(changed))
        for cut in range(len(whole)):
            assert not verify_proof(root, whole[:cut])
        assert not verify_proof(root, whole + b"\0")


async def test_a_proof_is_of_one_state() -> None:
    _, ledger = fresh()
    root, found = await proofs(ledger, 20)
    member = next(proof for proof in found if proof.included and not proof.edge.tombstoned)  # type: ignore[union-attr]
    await ledger.remove_edge(member.src, member.type, member.dst, reason="gone")
    assert verify_proof(root, member)
    assert not verify_proof(await ledger.root(), member)
    later = await ledger.prove(member.src, member.type, member.dst)
    assert later.edge is not None
    assert later.edge.tombstoned_reason == "gone"


@pytest.fixture(scope="module")
async def examples() -> tuple[bytes, dict[str, EdgeProof]]:
    """A root, and under it a proof of each sort."""
    _, ledger = fresh()
    root, found = await proofs(ledger, 40)
    return root, {f"{proof.included} {bool(proof.other)}": proof for proof in found}


@given(data=st.data())
def test_no_field_can_be_changed(examples: tuple[bytes, dict[str, EdgeProof]], data: st.DataObject) -> None:
    root, sorts = examples
    proof = sorts[data.draw(st.sampled_from(sorted(sorts)))]
    changes: dict[str, object] = {
        "src": data.draw(st.binary(min_size=15, max_size=17)),
        "type": data.draw(st.integers(-1, 260)),
        "dst": data.draw(st.binary(min_size=15, max_size=17)),
        "record": data.draw(st.sampled_from([b"", b"x", encode_record(record()), encode_record(record(weight=7.0))])),
        "other": data.draw(st.binary(min_size=1, max_size=65) | st.binary(min_size=64, max_size=64)),
        "siblings": tuple(data.draw(st.lists(st.binary(min_size=31, max_size=32), max_size=300))),
    }
    field = data.draw(st.sampled_from(sorted(changes)))
    changed = msgspec.structs.replace(proof, **{field: changes[field]})
    if changed == proof:
        return
    # An absence from a small tree is shared by many edges: only then can the statement change and hold.
    holds = verify_proof(root, changed)
    assert not holds or (not changed.included and field in ("src", "type", "dst"))


@pytest.mark.parametrize("data", [b"", b"\xa0", b"\xa0" + bytes(8), bytes(40)])
def test_bytes_that_are_no_proof_are_refused(data: bytes) -> None:
    with pytest.raises((InvalidValueError, LedgerCorruptError)):
        decode_proof(data)
    assert not verify_proof(bytes(32), data)
