"""The tree against its definition: a plain recursion over all leaves."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex import merkle
from brain_async.cortex.build import build_pages, join_tops
from brain_async.cortex.keys import PAGES
from brain_async.cortex.merkle import (
    EMPTY,
    Reading,
    decode_page,
    encode_page,
    leaf_key,
    leaf_value,
    tree_path,
    update_tree,
)
from brain_async.errors import LedgerCorruptError

T = TypeVar("T")


def defined_root(leaves: Mapping[bytes, bytes]) -> bytes:
    def root(part: list[tuple[int, bytes]], depth: int) -> bytes:
        if not part:
            return EMPTY
        if len(part) == 1:
            return hashlib.sha256(b"brain.smt.leaf\0" + part[0][1]).digest()
        sides: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
        for key, leaf in part:
            sides[key >> (255 - depth) & 1].append((key, leaf))
        return hashlib.sha256(b"brain.smt.node\0" + root(sides[0], depth + 1) + root(sides[1], depth + 1)).digest()

    return root([(int.from_bytes(key, "big"), key + value) for key, value in leaves.items()], 0)


class Tree:
    """A tree in a dict, which counts the rounds of reading."""

    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}
        self.leaves: dict[bytes, bytes] = {}
        self.root = EMPTY
        self.rounds = 0

    def read(self, reading: Reading[T]) -> T:
        try:
            request = next(reading)
            while True:
                self.rounds += 1
                request = reading.send({key: self.pages[key] for key in request.keys if key in self.pages})
        except StopIteration as done:
            result: T = done.value
            return result

    def put(self, leaves: Mapping[bytes, bytes]) -> None:
        self.root, pages = self.read(update_tree(leaves, len(self.leaves)))
        self.pages |= pages
        self.leaves |= leaves


def close_to(key: bytes, bit: int) -> bytes:
    return (int.from_bytes(key, "big") ^ 1 << 255 - bit).to_bytes(32, "big")


BATCHES = st.lists(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=8), max_size=12)


@given(BATCHES)
def test_any_batches_give_the_defined_root_and_pages(batches: list[list[tuple[int, int]]]) -> None:
    tree = Tree()
    for batch in batches:
        leaves = {}
        for seed, bit in batch:
            key = hashlib.sha256(bytes([seed % 5])).digest()
            leaves[close_to(key, bit) if seed & 32 else key] = hashlib.sha256(seed.to_bytes(4, "big")).digest()
        tree.put(leaves)
        assert tree.root == defined_root(tree.leaves)
    top, pages = build_pages(b"", [key + value for key, value in tree.leaves.items()])
    assert {PAGES + name: page for name, page in pages.items() if name} == {
        key: page for key, page in tree.pages.items() if key != PAGES
    }
    assert merkle.node_hash(top) == tree.root


def test_the_root_does_not_depend_on_order_or_batches() -> None:
    chance = random.Random(7)
    leaves = {chance.randbytes(32): chance.randbytes(32) for _ in range(500)}
    whole, single = Tree(), Tree()
    whole.put(leaves)
    for key in chance.sample(sorted(leaves), len(leaves)):
        single.put({key: leaves[key]})
    assert whole.root == single.root == defined_root(leaves)
    assert whole.pages == single.pages


def test_an_update_reads_in_one_round_and_hashes_about_log2_n(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    tree = Tree()
    tree.put({chance.randbytes(32): chance.randbytes(32) for _ in range(4_096)})
    hashed = 0

    def counted(data: bytes) -> object:
        nonlocal hashed
        hashed += 1
        return hashlib.sha256(data)

    monkeypatch.setattr(merkle, "sha256", counted)
    tree.rounds = 0
    for _ in range(200):
        tree.put({chance.randbytes(32): chance.randbytes(32)})
    assert tree.rounds < 1.3 * 200
    assert 12 < hashed / 200 < 18


def test_the_way_to_a_leaf() -> None:
    chance = random.Random(5)
    tree = Tree()
    tree.put({chance.randbytes(32): chance.randbytes(32) for _ in range(300)})
    for key, value in tree.leaves.items():
        beside, end = tree.read(tree_path(key, 300))
        assert end == key + value
        assert 4 < len(beside) < 40


def test_pages_are_read_as_they_were_written() -> None:
    chance = random.Random(1)
    for _ in range(300):
        page: list[bytes | None] = [None, None] + [
            chance.choice([None, chance.randbytes(32), chance.randbytes(64)]) for _ in range(30)
        ]
        assert decode_page(encode_page(page), b"0")[1:] == page[1:]
    full: list[bytes | None] = [None, None, *(chance.randbytes(32) for _ in range(30))]
    again = decode_page(encode_page(full), b"0")
    again[5] = EMPTY
    full[5] = EMPTY
    assert encode_page(again) == encode_page(full)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\0" * 7,
        b"\0\0\0\4\0\0\0\0",
        b"\0\0\0\4\0\0\0\4" + bytes(96),
        b"\0\0\0\1\0\0\0\0" + bytes(32),
        b"\0\0\0\2\0\0\0\0" + bytes(32),
        b"\0\0\0\4\0\0\0\0" + bytes(33),
    ],
)
def test_bytes_that_are_no_page_are_refused(value: bytes) -> None:
    with pytest.raises(LedgerCorruptError, match="idx/smt/edges/3f"):
        decode_page(value, b"3f")


def test_a_missing_page_is_known_as_such() -> None:
    chance = random.Random(9)
    tree = Tree()
    tree.put({chance.randbytes(32): chance.randbytes(32) for _ in range(300)})
    del tree.pages[PAGES + b"3"]
    with pytest.raises(LedgerCorruptError, match="idx/smt/edges/3: the page is missing"):
        tree.put({b"\x31" * 32: EMPTY})


def test_kinds_of_hashes_are_kept_apart() -> None:
    seen = {leaf_key(EMPTY), leaf_value(EMPTY), merkle.node_hash(EMPTY + EMPTY), merkle.parent_hash(EMPTY, EMPTY)}
    assert len(seen) == 4


def test_a_single_leaf_moves_up_to_the_root() -> None:
    leaf = bytes(range(64))
    top, page = join_tops([None] * 5 + [leaf] + [None] * 10)
    assert (top, page) == (leaf, None)
    top, page = join_tops([leaf, *[None] * 15], is_root=True)
    assert top == leaf
    assert page is not None
    assert decode_page(page, b"")[1] == leaf
    assert join_tops([None] * 16, is_root=True) == (None, None)
