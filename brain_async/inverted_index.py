"""InvertedIndex: BM25 over term postings, kept apart by group."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BM25_B", "BM25_K1", "InvertedIndex", "Scores", "Slots"]

Slots = NDArray[np.int64]
"""Shape (n,): row numbers."""

Scores = NDArray[np.float64]
"""Shape (n,): one score a slot."""

BM25_K1 = 1.2
BM25_B = 0.75

_MIN_REMOVED = 1024
_FREQUENCY_BITS = 16


class _Group:
    """The documents of one group. Documents are numbered in order of arrival; a removed one keeps its number, with the
    slot -1, until more are removed than are left, and so does a hidden one until it is shown again. A posting is a
    document's number with the term's frequency in its low 16 bits: one array a term costs half the memory and the garbage
    collector's time of two."""

    def __init__(self) -> None:
        self.postings: dict[str, array[int]] = {}
        self.slots: array[int] = array("i")
        self.lengths: array[int] = array("i")
        self.numbers: dict[int, int] = {}
        self.hidden: dict[int, int] = {}
        self.length = 0

    def add(self, slot: int, terms: Sequence[str]) -> None:
        number = len(self.slots)
        self.slots.append(slot)
        self.lengths.append(len(terms))
        self.numbers[slot] = number
        self.length += len(terms)
        high = number << _FREQUENCY_BITS
        for term, frequency in Counter(terms).items():
            posting = self.postings.get(term)
            if posting is None:
                self.postings[term] = array("q", (high | frequency,))
            else:
                posting.append(high | frequency)

    def remove(self, slot: int) -> None:
        self.hide(slot)
        del self.hidden[slot]
        removed = len(self.slots) - len(self.numbers) - len(self.hidden)
        if removed > max(_MIN_REMOVED, len(self.numbers)):
            self._compact()

    def hide(self, slot: int) -> None:
        number = self.numbers.pop(slot, None)
        if number is not None:
            self.hidden[slot] = number
            self.slots[number] = -1
            self.length -= self.lengths[number]

    def show(self, slot: int) -> None:
        number = self.hidden.pop(slot, None)
        if number is not None:
            self.numbers[slot] = number
            self.slots[number] = slot
            self.length += self.lengths[number]

    def matching(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The live documents that hold ``term``, and how often each does."""
        posting = self.postings.get(term)
        if posting is None:
            return None
        packed = np.frombuffer(posting, np.int64)
        numbers = packed >> _FREQUENCY_BITS
        frequencies = packed & ((1 << _FREQUENCY_BITS) - 1)
        if len(self.slots) > len(self.numbers):
            live = np.frombuffer(self.slots, np.intc)[numbers] >= 0
            numbers, frequencies = numbers[live], frequencies[live]
        return numbers, frequencies

    def _compact(self) -> None:
        # All postings as one array, since a few numpy calls for each of many thousand terms would stall the loop.
        live = np.frombuffer(self.slots, np.intc) >= 0
        live[list(self.hidden.values())] = True
        packed = np.frombuffer(b"".join(self.postings.values()), np.int64)
        kept = live[packed >> _FREQUENCY_BITS]
        sizes = [len(posting) for posting in self.postings.values()]
        ends = np.concatenate([[0], np.cumsum(kept)])[np.cumsum(sizes, dtype=np.intp)].tolist()
        gone = (np.arange(len(live)) - np.cumsum(live) + 1) << _FREQUENCY_BITS
        packed = packed[kept]
        renumbered = (packed - gone[packed >> _FREQUENCY_BITS]).tobytes()
        postings, start = {}, 0
        for term, end in zip(self.postings, ends, strict=True):
            if end > start:
                postings[term] = array("q", renumbered[start * 8 : end * 8])
            start = end
        self.postings = postings
        self.lengths = array("i", np.frombuffer(self.lengths, np.intc)[live].tobytes())
        self.slots = array("i", np.frombuffer(self.slots, np.intc)[live].tobytes())
        self.numbers = {slot: number for number, slot in enumerate(self.slots) if slot >= 0}
        renumbered_to = np.cumsum(live) - 1
        self.hidden = {slot: int(renumbered_to[number]) for slot, number in self.hidden.items()}


class InvertedIndex:
    """BM25 with k1 1.2 and b 0.75 (Robertson and Zaragoza 2009), idf = ln(1 + (N - df + 0.5) / (df + 0.5)).

    N, df and the average length are those of the groups searched, so groups do not influence each other's scores. A term
    that the query repeats counts as often as it is repeated. A document holds at most 65,535 terms.
    """

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}

    @property
    def groups(self) -> Sequence[Hashable]:
        """The groups that hold documents, in order of their first one."""
        return list(self._groups)

    def add(self, group: Hashable, slot: int, terms: Sequence[str]) -> None:
        """Index a document under a slot that is not indexed now."""
        self._groups.setdefault(group, _Group()).add(slot, terms)

    def remove(self, group: Hashable, slot: int) -> None:
        """Take out a document that was added."""
        documents = self._groups[group]
        documents.remove(slot)
        if not documents.numbers and not documents.hidden:
            del self._groups[group]

    def set_searchable(self, group: Hashable, slot: int, searchable: bool) -> None:
        """Show a document, or hide it: it is then neither found nor counted. Nothing happens to one that is not indexed."""
        documents = self._groups.get(group)
        if documents is None:
            return
        if searchable:
            documents.show(slot)
        else:
            documents.hide(slot)

    def frequency(self, groups: Iterable[Hashable], term: str) -> int:
        """How many documents of ``groups`` hold ``term``."""
        matches = [self._groups[group].matching(term) for group in groups if group in self._groups]
        return sum(len(match[0]) for match in matches if match is not None)

    def search(self, groups: Iterable[Hashable], terms: Iterable[str]) -> tuple[Slots, Scores]:
        """The slots of ``groups`` that hold any of ``terms``, in no order, and their scores, all above 0."""
        searched = [self._groups[group] for group in groups if group in self._groups]
        total = sum(len(group.numbers) for group in searched)
        average = sum(group.length for group in searched) / total if total else 0.0
        sums = [np.zeros(len(group.slots)) for group in searched]
        norms = [
            BM25_K1 * (1 - BM25_B) + (BM25_K1 * BM25_B / (average or 1.0)) * np.frombuffer(group.lengths, np.intc)
            for group in searched
        ]
        for term, repeats in Counter(terms).items():
            matches = [group.matching(term) for group in searched]
            holding = sum(len(match[0]) for match in matches if match is not None)
            idf = np.log1p((total - holding + 0.5) / (holding + 0.5))
            for match, scores, norm in zip(matches, sums, norms, strict=True):
                if match is not None:
                    numbers, frequencies = match[0], match[1]
                    scores[numbers] += repeats * idf * (BM25_K1 + 1) * frequencies / (frequencies + norm[numbers])
        found: list[tuple[Slots, Scores]] = []
        for group, scores in zip(searched, sums, strict=True):
            held = np.flatnonzero(scores)
            found.append((np.frombuffer(group.slots, np.intc)[held].astype(np.int64), scores[held]))
        if not found:
            return np.empty(0, np.int64), np.empty(0)
        return np.concatenate([slots for slots, _ in found]), np.concatenate([scores for _, scores in found])
