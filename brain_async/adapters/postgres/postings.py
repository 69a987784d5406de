"""Postings as the lexical index of the portable backend packs them, and their BM25 scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK_POSTINGS", "POINTS", "TermPostings", "best_docs", "only_docs", "read_docs", "score_postings"]

BLOCK_POSTINGS = 320
"""Postings that are packed into one row, 8 bytes each: three such rows fill a page."""

POINTS = 1e9
"""Points of one unit of score. They are whole numbers, so that sums below 2**53 do not depend on the order of adding."""

_LOW_DOC = 31
_SPREAD_DOCS = 1 << 26
_TERM_BYTES = 12
_BLOCK = np.dtype([("first_doc", ">i8"), ("held", ">i4")])

Docs = NDArray[np.int64]
Points = NDArray[np.float64]


class TermPostings(NamedTuple):
    """The postings of one query term in one namespace, as ``brain_read_postings`` gives them.

    Attributes:
        number: of the term within the query, from 1.
        blocks: first doc and number of postings of each packed block, 12 bytes each; None without any.
        packed: the postings of the blocks, 8 bytes each: the low 31 bits of the doc, 16 of the term's frequency in it,
            16 of its length in terms.
        docs: the doc of each posting that was written later, 8 bytes each; None without any.
        counts: the term's frequency (32 bits) and the length (32 bits) of each of those. A frequency of 0 takes back the
            packed posting of that doc.
    """

    number: int
    blocks: bytes | None
    packed: bytes | None
    docs: bytes | None
    counts: bytes | None


class Postings(NamedTuple):
    """Postings unpacked, each array of shape (n,), in no order: doc, frequency of the term in it, its length in terms."""

    docs: Docs
    frequencies: Docs
    lengths: Docs


def read_docs(sent: bytes) -> Docs:
    """Docs as the server sends them, 8 bytes each."""
    return np.frombuffer(sent, ">i8").astype(np.int64)


def _unpacked(term: TermPostings) -> Postings:
    """The postings of the term that count."""
    parts: list[Postings] = []
    if term.packed is not None and term.blocks is not None:
        packed = np.frombuffer(term.packed, ">i8").astype(np.int64)
        blocks = np.frombuffer(term.blocks, _BLOCK)
        docs = packed >> 32
        high = blocks["first_doc"] >> _LOW_DOC
        if high.any():
            docs += np.repeat(high << _LOW_DOC, blocks["held"])
        parts.append(Postings(docs, packed >> 16 & 0xFFFF, packed & 0xFFFF))
    if term.docs is not None and term.counts is not None:
        docs, counts = read_docs(term.docs), read_docs(term.counts)
        frequencies = counts >> 32
        taken_back = docs[frequencies == 0]
        if len(taken_back) and parts:
            kept = ~np.isin(parts[0].docs, taken_back)
            parts[0] = Postings(*(column[kept] for column in parts[0]))
        later = frequencies > 0
        parts.append(Postings(docs[later], frequencies[later], counts[later] & 0xFFFFFFFF))
    if not parts:
        return Postings(*np.empty((3, 0), np.int64))
    return parts[0] if len(parts) == 1 else Postings(*map(np.concatenate, zip(*parts, strict=True)))


def score_postings(
    terms: Sequence[TermPostings], repeats: Sequence[int], *, parts: float, length: float
) -> tuple[Docs, Points]:
    """What each posting is worth: (docs, points), both of shape (n,); a doc comes once for each term that it holds.

    BM25 with k1 1.2 and b 0.75 (Robertson and Zaragoza 2009), idf = ln(1 + (N - df + 0.5) / (df + 0.5)).

    Args:
        repeats: how often the query holds the terms 1, 2, ...: they count that often.
        parts: N, the number of live parts.
        length: the number of terms of all of them.
    """
    unpacked = list(map(_unpacked, terms))
    frequency: dict[int, int] = {}
    for term, postings in zip(terms, unpacked, strict=True):
        frequency[term.number] = frequency.get(term.number, 0) + len(postings.docs)
    weights = [
        POINTS
        * 2.2
        * repeats[term.number - 1]
        * np.log1p((parts - frequency[term.number] + 0.5) / (frequency[term.number] + 0.5))
        for term in terms
    ]
    docs, frequencies, lengths = map(np.concatenate, zip(*unpacked, strict=True))
    weight = np.repeat(weights, [len(postings.docs) for postings in unpacked])
    norms = lengths * (0.9 * parts / length) + 0.3
    return docs, np.rint(weight * frequencies / (frequencies + norms))


def only_docs(docs: Docs, points: Points, wanted: Docs) -> tuple[Docs, Points]:
    """The postings of ``wanted`` docs."""
    kept = np.isin(docs, wanted)
    return docs[kept], points[kept]


def best_docs(docs: Docs, points: Points, k: int, *, terms: int) -> tuple[Docs, Points]:
    """The ``k`` docs with the most points in all, and those that tie with the last of them; most points first.

    Args:
        docs, points: as from ``score_postings``.
        terms: how often a doc comes at most.
    """
    if not len(docs):
        return docs, points
    first = docs.min()
    if docs.max() - first < _SPREAD_DOCS:
        # Untouched pages of the totals cost nothing: they may be far more than there are postings.
        names, places = None, docs - first
    else:
        names, places = np.unique(docs, return_inverse=True)
    totals = np.bincount(places, weights=points)
    reached = totals[places]
    # The k best docs are among the k * terms best postings by the total of their doc.
    wanted = min(len(reached), k * terms)
    lowest = np.partition(reached, len(reached) - wanted)[len(reached) - wanted]
    found = np.unique(places[reached >= lowest])
    score = totals[found]
    if len(found) > k:
        found = found[score >= np.partition(score, len(score) - k)[len(score) - k]]
        score = totals[found]
    order = np.argsort(-score, kind="stable")
    best = found[order]
    return best + first if names is None else names[best], score[order]
