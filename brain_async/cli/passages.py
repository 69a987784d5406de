"""Cutting a text to passages of bounded length at the best places there are."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["split_passages"]

# Each matches up to a place where a cut may fall.
_PARAGRAPH = re.compile(r"(?=\n[ \t]*\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*(?=\s)(?!\s+[a-z])|(?<=[。！？])")
_LINE = re.compile(r"(?=\n)")
_SPACE = re.compile(r"(?=\s)")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_BLANKS = re.compile(r"\s+")


def split_passages(text: str, *, max_chars: int, whole: Sequence[tuple[int, int]] = ()) -> list[str]:
    """``text`` in passages of at most ``max_chars`` characters (at least 1), in order, none of them blank.

    A cut falls, in this order of preference, on the last paragraph end or else sentence end that leaves a passage of at
    least a quarter of ``max_chars``, on an earlier one, on a line end, on white space, and only within a word that is
    longer than a passage. Nothing but white space at the cuts is dropped.

    Args:
        whole: ascending, disjoint (start, end) offsets of stretches, such as code, that are cut, at line ends, only when
            one alone is longer than a passage.
    """
    passages = []
    start = _skip_blank(text, 0, _BLANK_LINES)
    while start < len(text):
        end = len(text) if len(text) - start <= max_chars else _best_cut(text, start, start + max_chars, whole)
        passage = text[start:end].rstrip()
        if passage.strip():
            passages.append(passage)
        # After a cut at a line end the next line keeps its indentation, which means something in code and lists.
        at_line_end = text.startswith("\n", end)
        start = _skip_blank(text, end, _BLANK_LINES if at_line_end else _BLANKS)
    return passages


def _skip_blank(text: str, start: int, blank: re.Pattern[str]) -> int:
    match = blank.match(text, start)
    return match.end() if match else start


def _best_cut(text: str, start: int, limit: int, whole: Sequence[tuple[int, int]]) -> int:
    comfortable = start + max(1, (limit - start) // 4)
    choices = (
        (_PARAGRAPH, comfortable),
        (_SENTENCE, comfortable),
        (_PARAGRAPH, start + 1),
        (_SENTENCE, start + 1),
        (_LINE, start + 1),
        (_SPACE, start + 1),
    )
    for pattern, least in choices:
        if cut := _last_cut(pattern, text, start, least, limit, whole):
            return cut
    return (
        _last_cut(_LINE, text, start, start + 1, limit, ())
        or _last_cut(_SPACE, text, start, start + 1, limit, ())
        or limit
    )


def _last_cut(
    pattern: re.Pattern[str], text: str, start: int, least: int, limit: int, whole: Sequence[tuple[int, int]]
) -> int:
    """The last offset in [least, limit] where ``pattern`` allows a cut with text before it, outside ``whole``; else 0."""
    cuts = [match.end() for match in pattern.finditer(text, start, limit + 2)]
    for cut in reversed(cuts):
        if least <= cut <= limit and not _is_inside(cut, whole) and not text[start:cut].isspace():
            return cut
    return 0


def _is_inside(cut: int, whole: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(whole, cut, key=lambda span: span[0]) - 1
    return index >= 0 and whole[index][0] < cut < whole[index][1]
