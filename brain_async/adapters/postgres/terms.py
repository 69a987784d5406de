"""Index terms as words that the ``simple`` text search configuration of Postgres leaves alone.

pg_textsearch indexes the column ``lex``: the terms of ``analysis.index_terms``, joined by spaces. The parser would split
``1e5x``, drop some Indic signs, and fold letters by the server's locale. So a term that is neither digits only nor an ASCII
letter followed by ASCII letters and digits is spelt in letters: ``zq``, then the UTF-8 bytes as two letters ``a`` to
``p`` each. A term that itself begins with ``zq`` is spelt out too; so the spelling is reversible and no two terms share one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["MAX_LEX_CHARS", "decode_term", "encode_term", "encoded_terms"]

MAX_LEX_CHARS = 800_000
"""Longest ``lex``, in characters: a tsvector holds 1 MB. Only a part of several megabytes reaches it; its end is not found."""

_MOST_KEPT = 1 << 17
_PLAIN = re.compile(r"(?!zq)[a-z][a-z0-9]*|[0-9]+")
_TO_LETTERS = bytes.maketrans(b"0123456789abcdef", b"abcdefghijklmnop")
_FROM_LETTERS = bytes.maketrans(b"abcdefghijklmnop", b"0123456789abcdef")


class _Encoded(dict[str, str]):
    """Terms as they are spelt, worked out when first asked for: a known term costs no call of Python code."""

    def __missing__(self, term: str) -> str:
        if len(self) >= _MOST_KEPT:
            self.clear()
        plain = _PLAIN.fullmatch(term) is not None
        word = self[term] = term if plain else "zq" + term.encode().hex().encode().translate(_TO_LETTERS).decode()
        return word


_ENCODED = _Encoded()


def encode_term(term: str) -> str:
    """``term`` as one ASCII word."""
    return _ENCODED[term]


def decode_term(word: str) -> str:
    """The term that ``encode_term`` made ``word`` of."""
    if not word.startswith("zq"):
        return word
    return bytes.fromhex(word[2:].encode().translate(_FROM_LETTERS).decode()).decode()


def encoded_terms(terms: Iterable[str]) -> list[str]:
    """``terms`` encoded, in order with repeats, at most ``MAX_LEX_CHARS`` when joined by spaces."""
    words = list(map(_ENCODED.__getitem__, terms))
    room = MAX_LEX_CHARS
    if sum(map(len, words)) + len(words) <= room:
        return words
    for number, word in enumerate(words):
        room -= len(word) + 1
        if room < 0:
            return words[:number]
    return words
