"""Stage 0: respell. Words of a query that the corpus does not hold give way to the corpus's own, before any channel runs.

Left alone are quoted words, identifiers (anything with digits, underscores, dots, slashes or the like, mixed case, all
capitals), words of fewer than 4 letters, and words that the corpus knows. Of the words within reach, the likeliest by
trigram similarity and frequency is taken: similarity x ln(1 + documents).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from brain_async.analysis import is_identifier_like, is_unsegmented, similarity
from brain_async.model.scope import Scope
from brain_async.ports.vocabulary import Vocabulary, VocabularyWord
from brain_async.spelling import (
    COMMON_WORDS,
    MAX_WORD_CHARS,
    MIN_RESPELT_CHARS,
    edit_distance,
    is_common,
    near_keys,
    reachable,
    vocabulary_keys,
)
from brain_async.text import MAX_QUERY_CHARS

__all__ = ["QueryWord", "Respelt", "likeliest", "respell", "respellable", "respelt"]

MAX_WORDS = 64
"""Words of one query that are looked at."""

MIN_SIMILARITY = 0.1
"""Trigram similarity below which a word is no candidate: a short word with all but a letter or two changed."""

COMMON_DOCUMENTS = 1_000_000
"""What a stop word counts for: more than any word of a corpus."""

_COMMON_BY_KEY: dict[str, list[str]] = {}
for _word in COMMON_WORDS:
    for _key in vocabulary_keys(_word):
        _COMMON_BY_KEY.setdefault(_key, []).append(_word)

_QUOTED = re.compile(r'"[^"]*"|“[^”]*”|«[^»]*»|`[^`]*`')
_LETTERS = r"[^\W\d_]+"
# What is not of such a shape, punctuation around it aside, is an identifier, a path, an address, a flag.
_PLAIN = re.compile(rf"(?<!\S)[(\[{{'‘“¿¡]*{_LETTERS}(?:[-'’‐‑–—,;]{_LETTERS})*[)\]}}'’”,;:.!?…]*(?!\S)")
_WORD = re.compile(_LETTERS)


class QueryWord(msgspec.Struct, frozen=True, gc=False):
    """A word of a query: where it stands, and its lower-case form."""

    start: int
    end: int
    folded: str


class Respelt(msgspec.Struct, frozen=True):
    """The query that the channels are given, and each (word as typed, word put in its place) in the order of the query."""

    query: str
    changes: tuple[tuple[str, str], ...] = ()


async def respell(vocabulary: Vocabulary, scope: Scope, query: str) -> Respelt:
    """``query`` in the corpus's spelling; one like an identifier stays as it is. Raises what the vocabulary raises."""
    found = [] if is_identifier_like(query) else respellable(query)
    if not found:
        return Respelt(query)
    near = await vocabulary.near_words(scope, list(dict.fromkeys(word.folded for word in found)))
    chosen = {word: choice for word, candidates in near.items() if (choice := likeliest(word, candidates)) is not None}
    return respelt(query, found, chosen) if chosen else Respelt(query)


def respellable(query: str) -> list[QueryWord]:
    """The words of ``query`` that may be respelt, in order, at most 64: neither quoted nor identifiers nor stop words."""
    # Digits in the place of what is quoted, as no word with a digit is respelt.
    masked = _QUOTED.sub(lambda match: "0" * len(match.group()), query[:MAX_QUERY_CHARS])
    return list(_respellable(masked))[:MAX_WORDS]


def _respellable(text: str) -> Iterator[QueryWord]:
    for chunk in _PLAIN.finditer(text):
        for match in _WORD.finditer(text, chunk.start(), chunk.end()):
            word = match.group()
            folded = word.lower()
            if (
                MIN_RESPELT_CHARS <= len(word) <= MAX_WORD_CHARS
                and folded[1:] == word[1:]
                and unicodedata.is_normalized("NFKC", folded)
                and not is_unsegmented(folded)
                and not is_common(folded)
            ):
                yield QueryWord(match.start(), match.end(), folded)


def likeliest(word: str, candidates: Iterable[VocabularyWord]) -> str | None:
    """The one of ``candidates``, and of the stop words one edit away, that ``word`` most likely stands for, if any.

    The nearest only; of equally near ones the greatest similarity x ln(1 + documents), then the first by its letters.
    """
    limit = reachable(word)
    rated = [(edit_distance(word, each.word, limit), each.word, each.documents) for each in candidates]
    common = {each for key in near_keys(word) for each in _COMMON_BY_KEY.get(key, ())}
    rated += [(1, each, COMMON_DOCUMENTS) for each in common if edit_distance(word, each, 1) == 1]
    best = min(
        (
            (distance, -likeness * math.log1p(documents), each)
            for distance, each, documents in rated
            if (likeness := similarity(word, each)) >= MIN_SIMILARITY
        ),
        default=None,
    )
    return None if best is None else best[2]


def respelt(query: str, words: Sequence[QueryWord], chosen: Mapping[str, str]) -> Respelt:
    """``query`` with each of ``words`` that is ``chosen`` for replaced, a capital kept."""
    pieces: list[str] = []
    changes: dict[tuple[str, str], None] = {}
    place = 0
    for word in words:
        if word.folded in chosen:
            typed, put = query[word.start : word.end], chosen[word.folded]
            put = put.capitalize() if typed[0].isupper() else put
            pieces += [query[place : word.start], put]
            changes[typed, put] = None
            place = word.end
    return Respelt("".join((*pieces, query[place:])), tuple(changes))
