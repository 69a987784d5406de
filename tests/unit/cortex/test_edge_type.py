"""Edge types: the bytes of the canonical ones, and the labels of hosts."""

from __future__ import annotations

import pytest

from brain_async.cortex import EdgeType
from brain_async.cortex.edge_type import canonical_code, check_code, check_label, is_host_type
from brain_async.errors import InvalidEdgeTypeError
from tests.unit.cortex.samples import A, B, fresh

CANONICAL = {
    "derived_from": 0x01,
    "supersedes": 0x02,
    "references": 0x03,
    "contradicts": 0x04,
    "corroborates": 0x05,
    "consents_to": 0x06,
    "dispatched_to": 0x07,
    "attested_by": 0x08,
    "cited_in": 0x09,
    "tombstones": 0x0A,
    "part_of": 0x0B,
    "instance_of": 0x0C,
    "caused_by": 0x0D,
    "observed_by": 0x0E,
}


def test_the_canonical_bytes_never_change() -> None:
    assert {member.label: int(member) for member in EdgeType} == CANONICAL
    assert canonical_code(" Derived_From ") == 1
    assert canonical_code("about") is None


@pytest.mark.parametrize("code", [-1, 0, 0x0F, 0x3F, 0x100, True, 3.0, None])
def test_any_other_byte_is_refused(code: int) -> None:
    with pytest.raises(InvalidEdgeTypeError):
        check_code(code)


def test_the_bytes_of_hosts() -> None:
    assert [check_code(code) for code in (1, 0x0E, 0x40, 0xFF)] == [1, 0x0E, 0x40, 0xFF]
    assert [is_host_type(code) for code in (0x0E, 0x3F, 0x40, 0xFF)] == [False, False, True, True]


@pytest.mark.parametrize("label", ["", "  ", "x" * 201, "é" * 101, "\ud800"])
def test_a_label_that_cannot_be_kept_is_refused(label: str) -> None:
    with pytest.raises(InvalidEdgeTypeError):
        check_label(label)


async def test_labels_get_the_next_byte_and_keep_it() -> None:
    _, ledger = fresh()
    assert await ledger.register_label("about") == 0x40
    assert await ledger.register_label("blocks") == 0x41
    assert await ledger.register_label(" About ") == 0x40
    assert await ledger.register_label("References") == 0x03
    assert (await ledger.head()).seq == 2
    assert await ledger.labels() == {"about": 0x40, "blocks": 0x41}
    async with ledger.snapshot() as view:
        assert await view.type_label(0x41) == "blocks"
        assert await view.type_label(0x0B) == "part_of"
        assert await view.type_code("BLOCKS") == 0x41
        with pytest.raises(InvalidEdgeTypeError):
            await view.type_label(0x42)


async def test_all_bytes_can_be_taken_and_then_no_more() -> None:
    _, ledger = fresh()
    codes = [await ledger.register_label(f"label {number}") for number in range(192)]
    assert codes == list(range(0x40, 0x100))
    with pytest.raises(InvalidEdgeTypeError, match="192"):
        await ledger.register_label("one more")
    assert await ledger.register_label("label 7") == 0x47
    assert (await ledger.verify()).labels == 192


@pytest.mark.parametrize("type", ["about", "", "x" * 300, 0x40, 0xFF, 0, 0x3F])
async def test_an_edge_of_an_unknown_type_is_refused_and_nothing_is_written(type: str | int) -> None:
    _, ledger = fresh()
    with pytest.raises(InvalidEdgeTypeError):
        await ledger.add_edge(A, type, B)
    assert (await ledger.head()).seq == 0
