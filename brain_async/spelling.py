"""Spelling: the words a corpus's vocabulary keeps, how far apart two words are, and keys under which near words meet.

A word is looked up in a vocabulary without reading through it. Of three segments of a word one insertion, deletion or
substitution leaves two whole, and of four two of them leave two, at places that differ by no more than the edits allow
(partition as in PassJoin, Li et al. 2011): so near words share a pair of segments. An exchange of neighbours is undone first,
wherever it may have been. Thus ``near_keys`` and ``far_keys`` miss nothing, and what else they bring up is told apart by
``edit_distance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise

from brain_async.analysis import STOP_WORDS, index_terms_and_words, is_unsegmented, words
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

_MIN_LONG_CHARS = TWO_EDITS_CHARS - 2
"""Words from this length on may be two edits away from a query's: they are kept in four segments, shorter ones in three."""

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


def words_of(obj: Object) -> frozenset[str]:
    """The distinct words of what ``obj`` is found by, as a part in the lexical index, else in the graph; of all kinds."""
    if obj.is_part:
        return index_terms_and_words(lexical_text(obj))[1]
    return frozenset(words(entity_index_text(obj)))


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


def vocabulary_keys(word: str) -> list[str]:
    """What a word of the vocabulary is kept under: the pairs of its segments, three pairs of a short word and six of a long."""
    length = len(word)
    bounds = _bounds(length)
    segments = [word[start:end] for start, end in pairwise(bounds)]
    return [
        _key(length, first, second, segments[first], segments[second])
        for first, second in combinations(range(len(segments)), 2)
    ]


def near_keys(word: str) -> frozenset[str]:
    """One of these is among the ``vocabulary_keys`` of every word at distance 1."""
    bounds = _bounds(len(word))
    exchanged = (_key(len(word), 0, 1, each[: bounds[1]], each[bounds[1] : bounds[2]]) for each in _exchanged(word))
    return frozenset(_keys_around(word, 1)).union(exchanged)


def far_keys(word: str) -> frozenset[str]:
    """One of these is among the ``vocabulary_keys`` of every word at distance 2 of ``word``, of nine letters or more."""
    return frozenset(_keys_around(word, 2)).union(*map(near_keys, _exchanged(word)))


def _exchanged(word: str) -> Iterable[str]:
    """``word`` with two neighbouring letters exchanged, for each two."""
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]


@lru_cache(maxsize=2 * MAX_WORD_CHARS)
def _bounds(length: int) -> Sequence[int]:
    """Where the segments of a word of ``length`` letters begin, and its end."""
    count = 3 if length < _MIN_LONG_CHARS else 4
    return [number * length // count for number in range(count + 1)]


def _key(length: int, first: int, second: int, one: str, other: str) -> str:
    return f"{length}.{first}{second}.{one}.{other}"


def _keys_around(word: str, edits: int) -> Iterator[str]:
    """One of these is a key of every word that ``edits`` insertions, deletions or substitutions make ``word`` of."""
    for length, first, second, start, end, next_start, next_end in _places(len(word), edits):
        yield _key(length, first, second, word[start:end], word[next_start:next_end])


@lru_cache(maxsize=2 * MAX_WORD_CHARS)
def _places(letters: int, edits: int) -> Sequence[tuple[int, ...]]:
    """(length of the word looked for, two of its segments, and where each begins and ends in a word of ``letters``)."""
    places = []
    for length in range(max(MIN_WORD_CHARS, letters - edits), letters + edits + 1):
        bounds = _bounds(length)
        longer = letters - length
        # How far before, between and behind the two segments the edits may have moved them.
        shifts = [
            (one, other)
            for one in range(-edits, edits + 1)
            for other in range(-edits, edits + 1)
            if abs(one) + abs(other - one) + abs(longer - other) <= edits
        ]
        for first, second in _pairs(len(bounds) - 1, edits):
            for one, other in shifts:
                start, end = bounds[first] + one, bounds[first + 1] + one
                next_start, next_end = bounds[second] + other, bounds[second + 1] + other
                if start >= 0 and next_end <= letters and end <= next_start:
                    places.append((length, first, second, start, end, next_start, next_end))
    return places


def _pairs(segments: int, edits: int) -> Iterable[tuple[int, int]]:
    """Pairs of which ``edits`` in as many segments leave one whole."""
    return ((0, 2), (1, 3)) if segments > edits + 2 else combinations(range(segments), 2)
