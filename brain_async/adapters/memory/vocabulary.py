"""MemoryVocabulary: the words that texts had, per group, looked up by shared trigrams."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from brain_async.analysis import trigrams
from brain_async.ports.vocabulary import VocabularyWord
from brain_async.spelling import edit_distance, is_common, is_spelling, reachable

__all__ = ["MemoryVocabulary"]

_TRIGRAMS_PER_EDIT = 4
"""An exchange of two letters touches four trigrams, every other edit at most three."""

_NONE = array("i")


class _Words:
    """The words of one group, numbered; none is ever taken out."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.known: set[str] = set()
        self.lengths: array[int] = array("i")
        self.by_trigram: dict[str, array[int]] = {}

    def add(self, words: Iterable[str]) -> None:
        for word in words:
            self.known.add(word)
            for trigram in trigrams(word):
                self.by_trigram.setdefault(trigram, array("i")).append(len(self.words))
            self.words.append(word)
            self.lengths.append(len(word))

    def near(self, word: str, distance: int) -> Iterable[str]:
        wanted = trigrams(word)
        shared = np.zeros(len(self.words), np.intc)
        for trigram in wanted:
            shared[np.frombuffer(self.by_trigram.get(trigram, _NONE), np.intc)] += 1  # each word once in a posting
        close = np.abs(np.frombuffer(self.lengths, np.intc) - len(word)) <= distance
        numbers = np.flatnonzero(close & (shared >= len(wanted) - _TRIGRAMS_PER_EDIT * distance))
        candidates = (self.words[number] for number in numbers.tolist())
        return [each for each in candidates if edit_distance(word, each, distance) <= distance]


class MemoryVocabulary:
    """The words of parts, and apart from them those of first-class objects. Each group has its own."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, _Words] = {}
        self._entities: dict[Hashable, set[str]] = {}

    def add(self, group: Hashable, words: frozenset[str], *, part: bool) -> None:
        """Add the words of one object; those that no vocabulary keeps are left out."""
        if part:
            kept = self._parts.setdefault(group, _Words())
            kept.add(filter(is_spelling, words - kept.known))
        else:
            self._entities.setdefault(group, set()).update(filter(is_spelling, words))

    def near_words(
        self, groups: Sequence[Hashable], words: Iterable[str], documents: Callable[[str], int]
    ) -> dict[str, list[VocabularyWord]]:
        """As in ``ports.vocabulary``, within ``groups``; ``documents`` gives in how many live parts a word stands."""
        near = {}
        for word in words:
            if is_common(word) or documents(word) or self._in_entities(groups, word):
                continue
            for distance in range(1, reachable(word) + 1):
                found = self._near(groups, word, distance)
                near[word] = [VocabularyWord(each, count) for each in found if (count := documents(each))]
                if near[word]:
                    break
        return near

    def _in_entities(self, groups: Iterable[Hashable], word: str) -> bool:
        """Whether a first-class object of one of ``groups`` ever had ``word``."""
        return any(word in self._entities.get(group, ()) for group in groups)

    def _near(self, groups: Iterable[Hashable], word: str, distance: int) -> list[str]:
        """The words that parts of ``groups`` ever had, within ``distance`` of ``word``, ascending."""
        searched = [self._parts[group] for group in groups if group in self._parts]
        return sorted({each for words in searched for each in words.near(word, distance)})
