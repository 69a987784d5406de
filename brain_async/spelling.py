"""Spelling: the words a corpus's vocabulary keeps, how far apart two words are, and keys under which near words meet.

A word is looked up in a vocabulary without reading through it. Words at distance 1 share a key of ``deletion_keys`` (the
neighbourhood of Mor and Fraenkel 1982). Of four segments of a word two insertions, deletions or substitutions leave two
whole, at places that differ by no more than the edits allow: words at distance 2 share a pair of segments, or are at distance
1 of a word that two letters of the query were exchanged for. So ``near_keys`` and ``far_keys`` miss nothing, and what else
they bring up is told apart by ``edit_distance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from brain_async.analysis import STOP_WORDS, is_unsegmented, words
from brain_async.model.object import Object
from brain_async.text import entity_index_text, lexical_text

__all__ = [
    "COMMON_WORDS",
    "MAX_WORD_CHARS",
    "MIN_RESPELT_CHARS",
    "MIN_WORD_CHARS",
    "TWO_EDITS_CHARS",
    "edit_distance",
    "far_keys",
    "is_common",
    "is_spelling",
    "near_keys",
    "reachable",
    "surface_words",
    "vocabulary_keys",
    "words_of",
]

MIN_WORD_CHARS = 3
MAX_WORD_CHARS = 32
"""Length of the words a vocabulary keeps."""

MIN_RESPELT_CHARS = 4
"""Shorter words of a query are never respelt."""

TWO_EDITS_CHARS = 9
"""Words of a query from this length on may be two edits away from what is meant; shorter ones, one."""

_SEGMENTS = 4
_MIN_SEGMENTED_CHARS = TWO_EDITS_CHARS - 2

_FRAGMENTS = frozenset(
    "aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn ain".split()  # noqa: SIM905
)
_CONTRACTIONS = frozenset({"cant", *(f"{fragment}t" for fragment in _FRAGMENTS)})

COMMON_WORDS = frozenset(word for word in STOP_WORDS if len(word) >= MIN_RESPELT_CHARS) - _FRAGMENTS
"""Stop words that a misspelt word may stand for, although no index holds them."""


def is_common(word: str) -> bool:
    """Whether ``word``, lower-case, is known whatever the corpus holds: a stop word, or ``dont`` and its like."""
    return word in STOP_WORDS or word in _CONTRACTIONS


def is_spelling(word: str) -> bool:
    """Whether a vocabulary keeps ``word`` (lower-case): 3 to 32 letters of a script that parts words, and no stop word."""
    return (
        MIN_WORD_CHARS <= len(word) <= MAX_WORD_CHARS
        and word.isalpha()
        and word not in STOP_WORDS
        and (word.isascii() or not is_unsegmented(word))
    )


def surface_words(text: str) -> frozenset[str]:
    """The distinct ``analysis.words`` of ``text``: as they stand in it, with those that no vocabulary keeps."""
    return frozenset(words(text))


def words_of(obj: Object) -> frozenset[str]:
    """The ``surface_words`` of what ``obj`` is found by: as a part in the lexical index, else in the graph."""
    return surface_words(lexical_text(obj) if obj.is_part else entity_index_text(obj))


def reachable(word: str) -> int:
    """How many edits ``word``, of a query, may be away from what is meant."""
    return 2 if len(word) >= TWO_EDITS_CHARS else 1


def edit_distance(left: str, right: str, limit: int) -> int:
    """Insertions, deletions, substitutions and exchanges of neighbours that make ``right`` of ``left``.

    No letter is edited twice (optimal string alignment); ``limit + 1`` where it takes more than ``limit``.
    """
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        current = [i]
        for j, other in enumerate(right, start=1):
            cost = min(row[j] + 1, current[-1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return min(row[-1], limit + 1)


def vocabulary_keys(word: str) -> frozenset[str]:
    """What a word of the vocabulary is kept under."""
    if len(word) < _MIN_SEGMENTED_CHARS:
        return near_keys(word)
    starts = _segment_starts(len(word))
    segments = [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]
    return near_keys(word).union(
        _segment_key(len(word), first, second, segments[first], segments[second])
        for first, second in combinations(range(_SEGMENTS), 2)
    )


def near_keys(word: str) -> frozenset[str]:
    """One of these is among the ``vocabulary_keys`` of every word at distance 1: ``word``, and with each letter left out."""
    return frozenset({word, *(word[:place] + word[place + 1 :] for place in range(len(word)))})


def far_keys(word: str) -> frozenset[str]:
    """One of these is among the ``vocabulary_keys`` of every word at distance 2 of ``word``, of nine letters or more."""
    return frozenset(_segment_keys_around(word)).union(*map(near_keys, _exchanged(word)))


def _exchanged(word: str) -> Iterable[str]:
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _segment_starts(length: int) -> list[int]:
    return [number * length // _SEGMENTS for number in range(_SEGMENTS)]


def _segment_key(length: int, first: int, second: int, one: str, other: str) -> str:
    return f"{length}.{first}{second}.{one}.{other}"


def _segment_keys_around(word: str) -> Iterator[str]:
    for length in range(len(word) - 2, len(word) + 3):
        starts = _segment_starts(length)
        ends = [*starts[1:], length]
        longer = len(word) - length
        # How far before, between and behind the two segments the edits may have moved them.
        shifts = [
            (one, other)
            for one in range(-2, 3)
            for other in range(-2, 3)
            if abs(one) + abs(other - one) + abs(longer - other) <= 2
        ]
        for first, second in combinations(range(_SEGMENTS), 2):
            for one, other in shifts:
                start, end = starts[first] + one, ends[first] + one
                next_start, next_end = starts[second] + other, ends[second] + other
                if start >= 0 and next_end <= len(word) and end <= next_start:
                    yield _segment_key(length, first, second, word[start:end], word[next_start:next_end])
