"""Building the pages of a Merkle tree from all of its leaves: what updating it leaf by leaf must have led to."""

from __future__ import annotations

from collections.abc import Sequence

from brain_async.cortex.merkle import encode_page, node_hash, parent_hash

__all__ = ["build_pages", "join_tops"]


def build_pages(digits: bytes, leaves: Sequence[bytes]) -> tuple[bytes | None, dict[bytes, bytes]]:
    """(top, pages by their digits) of the subtree under ``digits``, of leaves of 64 bytes in any order."""
    pages: dict[bytes, bytes] = {}
    return _build(digits, sorted(leaves), pages), pages


def _build(name: bytes, leaves: list[bytes], pages: dict[bytes, bytes]) -> bytes | None:
    if len(leaves) < 2:
        return leaves[0] if leaves else None
    place, low = divmod(len(name), 2)
    groups: list[list[bytes]] = [[] for _ in range(16)]
    for leaf in leaves:
        groups[leaf[place] & 15 if low else leaf[place] >> 4].append(leaf)
    tops = [_build(name + b"%x" % digit, group, pages) for digit, group in enumerate(groups)]
    top, page = join_tops(tops)
    if page is not None:
        pages[name] = page
    return top


def join_tops(tops: Sequence[bytes | None], *, is_root: bool = False) -> tuple[bytes | None, bytes | None]:
    """(top, encoded page) over the tops of the sixteen subtrees; no page where a single leaf moves up, or there is none.

    The page of the root keeps its top itself, whatever it is.
    """
    page: list[bytes | None] = [None] * 16
    page += tops
    for slot in range(15, 0, -1):
        left, right = page[2 * slot], page[2 * slot + 1]
        alone = left if right is None else right if left is None else None
        if left is None and right is None:
            continue
        if alone is not None and len(alone) == 64:
            page[slot] = alone
            page[2 * slot] = page[2 * slot + 1] = None
        else:
            page[slot] = parent_hash(node_hash(left), node_hash(right))
    top = page[1]
    if is_root:
        return top, None if top is None else encode_page(page)
    page[1] = None
    return top, None if top is None or len(top) == 64 else encode_page(page)
