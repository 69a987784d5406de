"""The sparse Merkle tree over the edges: 256 bits deep, compressed, kept in pages.

A leaf stands at the 256 bits of the hash of its edge's identity. A subtree without a leaf is EMPTY, one with a single leaf is
that leaf, so that a tree of n leaves is about log2(n) deep and the root depends on the leaves alone, not on the order in which
they came. Leaves are changed, never taken away. Every kind of hash has a prefix of its own, so that none passes for another.

Four levels of the tree are one page, stored under the hex digits that lead to it: the page of ``3f`` holds the nodes below the
first eight bits 0x3f. All pages on the way to a leaf can be asked for at once, because their keys follow from the leaf's, and
neighbouring levels are neighbours in the store. Slot 1 of a page is its top, the children of slot s are 2s and 2s + 1, and the
slots from 16 are the tops of the sixteen pages below. The top is kept in the page above; only the first page has a slot 1.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Generator, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from brain_async.cortex.keys import PAGES
from brain_async.errors import LedgerCorruptError
from brain_async.ports.kv import Get

__all__ = [
    "EMPTY",
    "Page",
    "Reading",
    "decode_page",
    "encode_page",
    "leaf_key",
    "leaf_value",
    "node_hash",
    "page_name",
    "parent_hash",
    "tree_path",
    "update_tree",
]

EMPTY = bytes(32)
"""Hash of a subtree without a leaf."""

T = TypeVar("T")

Reading = Generator[Get, Mapping[bytes, bytes], T]
"""Yields what it reads, and returns what it found."""

Page = list[bytes | None]
"""32 slots: None, an inner hash of 32 bytes, or a leaf of 64, its key and the hash of its record.

Slot 0 is no node: it holds the masks of a page that was read full of inner hashes, which it then stays for ever.
"""

_KEY = b"brain.edge.key\0"
_VALUE = b"brain.edge.record\0"
_LEAF = b"brain.smt.leaf\0"
_NODE = b"brain.smt.node\0"
_PENDING = bytes(32)
_MASKS = struct.Struct(">II")
_FULL = _MASKS.pack(0xFFFFFFFC, 0)
_FULL_ROOT = _MASKS.pack(0xFFFFFFFE, 0)
_HASHES = [struct.Struct("32s" * count) for count in range(33)]
_LEAVES = [struct.Struct("64s" * count) for count in range(33)]
# The slots of a page from its top to each of its sixteen lowest.
_PATHS = [tuple((16 + digit) >> shift for shift in (3, 2, 1, 0)) for digit in range(16)]
_DIGITS = {ord(digit): value for value, digit in enumerate("0123456789abcdef")}


def leaf_key(edge: bytes) -> bytes:
    """Where the edge of this identity stands in the tree."""
    return sha256(_KEY + edge).digest()


def leaf_value(record: bytes) -> bytes:
    """What a leaf commits to: the encoded record."""
    return sha256(_VALUE + record).digest()


def parent_hash(left: bytes, right: bytes) -> bytes:
    """Of an inner node, from the hashes of its children."""
    return sha256(_NODE + left + right).digest()


def node_hash(node: bytes | None) -> bytes:
    """Of what a slot holds."""
    if node is None:
        return EMPTY
    return node if len(node) == 32 else sha256(_LEAF + node).digest()


def _joined(left: bytes | None, right: bytes | None) -> bytes:
    """``parent_hash`` of the ``node_hash`` of each, in one call instead of three: an update makes twenty of them."""
    if left is None:
        left = EMPTY
    elif len(left) == 64:
        left = sha256(_LEAF + left).digest()
    if right is None:
        right = EMPTY
    elif len(right) == 64:
        right = sha256(_LEAF + right).digest()
    return sha256(_NODE + left + right).digest()


def page_name(page: bytes) -> str:
    """How an error names the page under these digits."""
    return (PAGES + page).decode()


def encode_page(page: Sequence[bytes | None]) -> bytes:
    """Two bit masks, of the slots that hold hashes and of those that hold leaves, then both in order of their slots."""
    shape = page[0]
    if shape == _FULL:
        return shape + b"".join(page[2:])  # type: ignore[arg-type]
    if shape == _FULL_ROOT:
        return shape + b"".join(page[1:])  # type: ignore[arg-type]
    hashes = leaves = 0
    inner = []
    outer = []
    bit = 2
    for node in page[1:]:
        if node is not None:
            if len(node) == 32:
                hashes |= bit
                inner.append(node)
            else:
                leaves |= bit
                outer.append(node)
        bit <<= 1
    return b"".join((_MASKS.pack(hashes, leaves), *inner, *outer))


def decode_page(value: bytes, name: bytes) -> Page:
    """The page stored under the digits ``name``. Raises LedgerCorruptError when it is none."""
    if len(value) < 8:
        raise LedgerCorruptError("the page is too short", where=page_name(name))
    hashes, leaves = _MASKS.unpack_from(value)
    inner, outer = hashes.bit_count(), leaves.bit_count()
    unused = 0b11 if name else 0b01
    if len(value) != 8 + 32 * inner + 64 * outer or hashes & leaves or (hashes | leaves) & unused:
        raise LedgerCorruptError("the page has another size than its slots", where=page_name(name))
    page: Page = [None] * 32
    found = _HASHES[inner].unpack_from(value, 8)
    shape = value[:8]
    if shape in (_FULL, _FULL_ROOT):
        page[-inner:] = found
        page[0] = shape
        return page
    slots = iter(found)
    while hashes:
        low = hashes & -hashes
        page[low.bit_length() - 1] = next(slots)
        hashes ^= low
    slots = iter(_LEAVES[outer].unpack_from(value, 8 + 32 * inner))
    while leaves:
        low = leaves & -leaves
        page[low.bit_length() - 1] = next(slots)
        leaves ^= low
    return page


class _Tree:
    """The pages one update has read and changed."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes | None] = {}
        self.pages: dict[bytes, Page] = {}
        self.dirty: dict[bytes, int] = {}

    def read(self, names: Collection[bytes]) -> Reading[None]:
        """Ask the store for these pages."""
        answer = yield Get([PAGES + name for name in names])
        for name in names:
            self.stored[name] = answer.get(PAGES + name)

    def page(self, name: bytes) -> Page | None:
        """The page; None when it was not asked for yet. Only the first can be missing, from the tree without a leaf."""
        page = self.pages.get(name)
        if page is None and name in self.stored:
            value = self.stored[name]
            if value is None and name:
                raise LedgerCorruptError("the page is missing", where=page_name(name))
            page = self.pages[name] = [None] * 32 if value is None else decode_page(value, name)
        return page

    def put(self, leaf: bytes, digits: bytes) -> bytes | None:
        """Put a leaf in its place; returns the digits of the page that has to be read first, and has then changed nothing."""
        name, path = b"", (1, *_PATHS[_DIGITS[digits[0]]])
        trail: list[tuple[bytes, int]] = []
        while True:
            page = self.page(name)
            if page is None:
                return name
            mask = 0
            for slot in path:
                node = page[slot]
                if node is None or len(node) == 64:
                    trail.append((name, mask))
                    self._place(page, name, slot, node, leaf, digits)
                    for passed, slots in trail:
                        self.dirty[passed] = self.dirty.get(passed, 0) | slots
                    return None
                mask |= 1 << slot
            trail.append((name, mask))
            depth = len(name) + 1
            name = digits[:depth]
            path = _PATHS[_DIGITS[digits[depth]]]

    def _place(self, page: Page, name: bytes, slot: int, node: bytes | None, leaf: bytes, digits: bytes) -> None:
        """``leaf`` into the slot; a leaf of another key that is there moves down beside it."""
        if node is None or node[:32] == leaf[:32]:
            page[slot] = leaf
            self.dirty.setdefault(name, 0)
            return
        others = node[:32].hex().encode()
        while True:
            depth = len(name)
            mine, other = 16 + _DIGITS[digits[depth]], 16 + _DIGITS[others[depth]]
            shift = 5 - slot.bit_length()
            mask = 0
            while shift:
                if slot > 1 or not name:
                    page[slot] = _PENDING
                    mask |= 1 << slot
                shift -= 1
                slot = mine >> shift
                if slot != other >> shift:
                    page[slot], page[other >> shift] = leaf, node
                    self.dirty[name] = self.dirty.get(name, 0) | mask
                    return
            page[slot] = _PENDING
            self.dirty[name] = self.dirty.get(name, 0) | mask | 1 << slot
            # The slot held a leaf until now: there is no page below it.
            name = digits[: depth + 1]
            page = self.pages[name] = [None] * 32
            slot = 1

    def hash_up(self) -> bytes:
        """Hash every inner node that changed, once, from below; returns the root."""
        pages = self.pages
        for name in sorted(self.dirty, key=len, reverse=True):
            page, mask = pages[name], self.dirty[name] & 0xFFFF
            while mask:
                slot = mask.bit_length() - 1
                mask ^= 1 << slot
                page[slot] = _joined(page[2 * slot], page[2 * slot + 1])
            if name:
                pages[name[:-1]][16 + _DIGITS[name[-1]]] = _joined(page[2], page[3])
        return node_hash(pages[b""][1])


def update_tree(leaves: Mapping[bytes, bytes], size: int) -> Reading[tuple[bytes, dict[bytes, bytes]]]:
    """Put leaves, key to value, into a tree of about ``size`` leaves; returns the root and the pages to write, by key.

    Reads in one round as a rule: the pages to the usual depth of such a tree, and in further rounds those below for the few
    leaves that stand deeper. Work that leaves share is done once. Raises LedgerCorruptError when a page is not one.
    """
    tree = _Tree()
    waiting = [(key.hex().encode(), key + value) for key, value in leaves.items()]
    wanted = {digits[:depth] for digits, _ in waiting for depth in range(_usual_pages(size))}
    while wanted:
        yield from tree.read(wanted)
        missing = [(tree.put(leaf, digits), digits, leaf) for digits, leaf in waiting]
        wanted = {name for name, _, _ in missing if name is not None}
        waiting = [(digits, leaf) for name, digits, leaf in missing if name is not None]
    root = tree.hash_up()
    return root, {PAGES + name: encode_page(tree.pages[name]) for name in tree.dirty}


def tree_path(key: bytes, size: int) -> Reading[tuple[list[bytes], bytes | None]]:
    """The way from the root to where the leaf ``key`` stands or would stand, in a tree of about ``size`` leaves.

    Returns the hashes beside the way, from the root down, and the node at its end: the leaf, another leaf, or None. Raises
    LedgerCorruptError when a page is not one.
    """
    tree = _Tree()
    digits = key.hex().encode()
    yield from tree.read([digits[:depth] for depth in range(_usual_pages(size))])
    beside: list[bytes] = []
    name, slots = b"", (1, *_PATHS[_DIGITS[digits[0]]])
    while True:
        page = tree.page(name)
        if page is None:
            yield from tree.read([name])
            continue
        for slot in slots:
            if slot > 1:
                beside.append(node_hash(page[slot ^ 1]))
            node = page[slot]
            if node is None or len(node) == 64:
                return beside, node
        name = digits[: len(name) + 1]
        slots = _PATHS[_DIGITS[digits[len(name)]]]


def _usual_pages(size: int) -> int:
    """How many pages lie on the way to most leaves of a tree of ``size``."""
    return (size.bit_length() + 2) // 4 + 1
