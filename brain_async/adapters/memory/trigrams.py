"""TrigramIndex: a dictionary of key terms per group, searched by pg_trgm's similarity."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from brain_async.adapters.memory.columns import Scores, Slots
from brain_async.analysis import TRIGRAM_THRESHOLD, trigrams

__all__ = ["NEAREST_TERMS", "TrigramIndex"]

NEAREST_TERMS = 3


def _nearness(match: tuple[str, float]) -> tuple[float, str]:
    term, similarity = match
    return (-similarity, term)


class _Dictionary:
    """The terms of one group, numbered; a term that no part uses any more stays, and is passed over."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self.numbers: dict[str, int] = {}
        self.sizes: array[int] = array("i")
        self.by_trigram: dict[str, array[int]] = {}
        self.parts: list[array[int]] = []

    def add(self, slot: int, terms: Iterable[str]) -> None:
        for term in terms:
            number = self.numbers.get(term)
            if number is None:
                number = self.numbers[term] = len(self.terms)
                self.terms.append(term)
                self.parts.append(array("i"))
                self.sizes.append(len(trigrams(term)))
                for trigram in trigrams(term):
                    self.by_trigram.setdefault(trigram, array("i")).append(number)
            self.parts[number].append(slot)

    def remove(self, slot: int, terms: Iterable[str]) -> None:
        for term in terms:
            parts = self.parts[self.numbers[term]]
            place = int(np.flatnonzero(np.frombuffer(parts, np.intc) == slot)[0])
            last = parts.pop()
            if place < len(parts):
                parts[place] = last

    def nearest(self, word: str) -> list[tuple[str, float]]:
        """The nearest terms in use, with their similarity: most similar first, then by term."""
        wanted = trigrams(word)
        postings = [self.by_trigram[trigram] for trigram in wanted if trigram in self.by_trigram]
        if not postings:
            return []
        shared = np.bincount(np.concatenate([np.frombuffer(posting, np.intc) for posting in postings]))
        numbers = np.flatnonzero(shared)
        sizes = np.frombuffer(self.sizes, np.intc)[numbers]
        counts = shared[numbers].astype(np.float32)
        # float32, as pg_trgm computes it, so that both stores agree on what reaches the threshold and on ties.
        similarities = counts / (len(wanted) + sizes - shared[numbers]).astype(np.float32)
        near = similarities >= TRIGRAM_THRESHOLD
        matches = [
            (self.terms[number], similarity)
            for number, similarity in zip(numbers[near].tolist(), similarities[near].tolist(), strict=True)
            if self.parts[number]
        ]
        return heapq.nsmallest(NEAREST_TERMS, matches, key=_nearness)


class TrigramIndex:
    """Parts by the key terms they hold, matched fuzzily. Each group has its own dictionary."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Dictionary] = {}

    @property
    def groups(self) -> Sequence[Hashable]:
        """The groups that ever held parts."""
        return list(self._groups)

    def add(self, group: Hashable, slot: int, terms: Sequence[str]) -> None:
        """Index a part under a slot that is not indexed now; ``terms`` are distinct."""
        self._groups.setdefault(group, _Dictionary()).add(slot, terms)

    def remove(self, group: Hashable, slot: int, terms: Sequence[str]) -> None:
        """Take out a part that was added with ``terms``."""
        self._groups[group].remove(slot, terms)

    def search(self, groups: Iterable[Hashable], words: Sequence[str], rows: int) -> tuple[Slots, Scores]:
        """The slots (below ``rows``) that hold a term near one of ``words``, in no order, and their scores in (0, 1].

        Of several groups, the nearest terms are chosen over all their dictionaries together.
        """
        searched = [self._groups[group] for group in groups if group in self._groups]
        total = np.zeros(rows)
        for word in words:
            union = {match for dictionary in searched for match in dictionary.nearest(word)}
            nearest = heapq.nsmallest(NEAREST_TERMS, union, key=_nearness)
            best = np.zeros(rows)
            for term, similarity in reversed(nearest):  # the nearest last, so that it stands where a part has several
                for dictionary in searched:
                    number = dictionary.numbers.get(term)
                    if number is not None and dictionary.parts[number]:
                        best[np.frombuffer(dictionary.parts[number], np.intc)] = similarity
            total += best
        slots = np.flatnonzero(total)
        return slots, total[slots] / max(1, len(words))
