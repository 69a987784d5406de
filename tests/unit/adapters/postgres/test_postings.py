"""Packed postings: what is read is what was packed, and their scores are BM25's."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.postgres.postings import (
    POINTS,
    TermPostings,
    best_docs,
    only_docs,
    read_docs,
    score_postings,
)

Posting = tuple[int, int, int]
"""doc, frequency, length"""

HIGH = 5 << 31


def pack(number: int, packed: Sequence[Posting] = (), later: Sequence[Posting] = (), *, block: int = 2) -> TermPostings:
    """As ``brain_read_postings`` sends them; a block holds docs of equal high bits."""
    blocks = b""
    body = b""
    by_high: dict[int, list[Posting]] = {}
    for posting in packed:
        by_high.setdefault(posting[0] >> 31, []).append(posting)
    for postings in by_high.values():
        for start in range(0, len(postings), block):
            chunk = postings[start : start + block]
            blocks += struct.pack(">qi", chunk[0][0], len(chunk))
            body += b"".join(struct.pack(">q", (doc & (2**31 - 1)) << 32 | tf << 16 | size) for doc, tf, size in chunk)
    return TermPostings(
        number,
        blocks or None,
        body or None,
        b"".join(struct.pack(">q", doc) for doc, _, _ in later) or None,
        b"".join(struct.pack(">q", tf << 32 | size) for _, tf, size in later) or None,
    )


def bm25(
    terms: Mapping[int, Mapping[int, tuple[int, int]]], repeats: Sequence[int], parts: int, length: int
) -> dict[int, float]:
    """The scores by their definition; ``terms`` is number to doc to (frequency, length)."""
    scores: dict[int, float] = {}
    for number, postings in terms.items():
        idf = math.log(1 + (parts - len(postings) + 0.5) / (len(postings) + 0.5))
        for doc, (tf, size) in postings.items():
            norm = 1.2 * (0.25 + 0.75 * size / (length / parts))
            scores[doc] = scores.get(doc, 0.0) + repeats[number - 1] * idf * 2.2 * tf / (tf + norm)
    return scores


docs = st.one_of(st.integers(1, 300), st.integers(HIGH, HIGH + 300))
counts = st.tuples(st.integers(1, 65_535), st.integers(1, 65_535))
postings = st.dictionaries(docs, counts, max_size=12)


@given(
    st.lists(st.tuples(postings, postings, st.sets(docs, max_size=4)), min_size=1, max_size=4),
    st.integers(1, 8),
    st.data(),
)
def test_scores_are_those_of_the_definition(
    terms: list[tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]], set[int]]], k: int, data: st.DataObject
) -> None:
    """Packed postings, later ones, and packed ones that were taken back, with or without a later one in their place."""
    repeats = [data.draw(st.integers(1, 3)) for _ in terms]
    sent, held = [], {}
    for number, (packed, later, gone) in enumerate(terms, start=1):
        replaced = (gone | later.keys()) & packed.keys()
        rows = [(doc, 0, 0) for doc in replaced] + [(doc, *each) for doc, each in later.items()]
        sent.append(pack(number, sorted((doc, *each) for doc, each in packed.items()), rows))
        held[number] = {doc: each for doc, each in packed.items() if doc not in replaced} | later
    total = max(40, *map(len, held.values()))
    right = bm25(held, repeats, total, total * 100)

    found, points = score_postings(sent, repeats, parts=total, length=total * 100)
    sums: Counter[int] = Counter()
    for doc, each in zip(found.tolist(), points.tolist(), strict=True):
        sums[doc] += each
    assert {doc: each / POINTS for doc, each in sums.items()} == pytest.approx(right, rel=1e-6, abs=1e-8)

    best, totals = best_docs(found, points, k, terms=len(terms))
    ranked = sorted(sums.values(), reverse=True)
    least = ranked[min(k, len(ranked)) - 1] if ranked else 0
    assert dict(zip(best.tolist(), totals.tolist(), strict=True)) == {d: s for d, s in sums.items() if s >= least}
    assert totals.tolist() == sorted(totals.tolist(), reverse=True)


def test_points_are_whole_numbers() -> None:
    _, points = score_postings([pack(1, [(1, 3, 17), (2, 1, 9)])], [1], parts=10, length=130)
    assert (points == np.rint(points)).all()
    assert (points > 0).all()


def test_docs_far_apart_keep_their_high_bits() -> None:
    found, _ = score_postings([pack(1, [(7, 1, 5), (HIGH + 7, 1, 5), (HIGH + 9, 2, 5)])], [1], parts=3, length=15)
    assert found.tolist() == [7, HIGH + 7, HIGH + 9]


def test_only_the_wanted_docs_are_left() -> None:
    found, points = score_postings([pack(1, [(1, 1, 5), (2, 2, 5)]), pack(2, [(2, 1, 5)])], [1, 1], parts=9, length=45)
    left, worth = only_docs(found, points, read_docs(struct.pack(">qq", 2, 99)))
    assert left.tolist() == [2, 2]
    assert worth.tolist() == points[1:].tolist()


def test_nothing_has_no_best() -> None:
    best, totals = best_docs(np.empty(0, np.int64), np.empty(0), 5, terms=1)
    assert best.tolist() == totals.tolist() == []
