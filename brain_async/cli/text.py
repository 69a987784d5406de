"""Text of others on a terminal: made harmless, cut to fit, with the words that matched marked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from brain_async.analysis import index_terms, query_key_words, similarity
from brain_async.cli.unmarked import unmarked

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Highlighter", "harmless", "one_line", "packed_lines"]

_WORD = re.compile(r"[^\W_]+")
_BLANKS = re.compile(r"\s+")
_ALIKE = 0.4
"""Trigram similarity from which a word is marked as what a misspelt one meant."""


def harmless(text: str) -> str:
    """``text`` without control characters, which could drive the terminal; line ends and tabs stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def one_line(text: str) -> str:
    """``text`` as one harmless line, without the marks of Markdown."""
    return harmless(_BLANKS.sub(" ", unmarked(text))).strip()


def packed_lines(pieces: Iterable[str], separator: str, width: int) -> list[str]:
    """``pieces`` with ``separator`` between them on lines of at most ``width``, where no piece is longer; none is cut."""
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + len(separator) + len(piece) <= width:
            lines[-1] += separator + piece
        else:
            lines.append(piece)
    return lines


class Highlighter:
    """Marks the words of a query in a text: the same word in any form, and with ``fuzzy`` also one that is alike."""

    def __init__(self, query: str, *, fuzzy: bool = False) -> None:
        self._terms = frozenset(index_terms(query))
        self._keys = query_key_words(query) if fuzzy else []

    def excerpt(self, text: str, chars: int) -> Text:
        """The part of ``text`` with most matched words, of at most ``chars`` characters, as one line."""
        from rich.text import Text

        line = one_line(text)
        start = 0
        if len(line) > chars:
            matches = [match.start() for match in _WORD.finditer(line) if self._matches(match[0])]
            starts = [0, *(max(0, position - chars // 4) for position in matches)]
            start = max(starts, key=lambda begin: (sum(begin <= m < begin + chars for m in matches), -begin))
            start = line.rfind(" ", 0, start + 1) + 1 if start else 0
        cut = line[start : start + chars]
        if start + chars < len(line):
            cut = cut.rpartition(" ")[0] or cut
        shown = Text(f"{'…' if start else ''}{cut}{'…' if start + len(cut) < len(line) and cut[-1:] != '…' else ''}")
        self.mark(shown)
        return shown

    def mark(self, text: Text) -> None:
        """Mark the words of ``text`` in place."""
        for match in _WORD.finditer(text.plain):
            if self._matches(match[0]):
                text.stylize("bold yellow", match.start(), match.end())

    def _matches(self, word: str) -> bool:
        if not self._terms.isdisjoint(index_terms(word)):
            return True
        return any(similarity(word.lower(), key) >= _ALIKE for key in self._keys)
