"""Taking the marks of Markdown out of a stretch of text, which may be cut off anywhere, without losing a word."""

from __future__ import annotations

import re

__all__ = ["unmarked"]

# Marks that come in pairs are taken only where both are there, and only around whole words: `a*b*c`, `#884` and `__init__`
# stay as they are. Every repetition is bounded: a mark without its partner must not be searched for to the end.
_MARKS = re.compile(
    r"""
    (?P<fence> (?<![^\s]) (?:`{3,}|~{3,}) [\w+\#.-]* )
    | (?P<ticks> (?<!`) `{1,2} (?!`) ) (?P<code> .{1,300}? ) (?<!`) (?P=ticks) (?!`)
    | !? \[ (?P<label> [^\]\n]{1,200} ) \] \( [^)\n]{0,500} \)
    | (?P<stars> (?<![\w*\\]) \*{1,3} (?![\s*]) ) (?P<strong> [^*]{1,300} ) (?<!\s) (?P=stars) (?![\w*])
    | (?P<lead> ^[ \t]* (?: \#{1,6} | [*+-] | > ) (?=[ \t]) )
    | (?P<heading> (?<!\S) \#{1,6} (?!\S) )
    | (?P<rule> (?<!\S) (?: -{3,} | ={3,} | ~{3,} | _{3,} | \*{3,} ) (?!\S) )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_DELIMITER_ROW = re.compile(r"\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?(?![^\s|]))?")
_ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$", re.MULTILINE)
_ROW_END = re.compile(r"(?<!\S)\|\s+\|(?!\S)")
_ROW_SEPARATOR = " · "


def unmarked(text: str) -> str:
    """``text`` without Markdown's marks: of headings, lists, quotes, emphasis, code and links, whose label stays.

    The language beside a code fence goes with it. Of a table the cells stay, between bars, and the rows between dots. What
    is no complete mark stays as it is.
    """
    return _MARKS.sub(_shown, _without_grid(text))


def _without_grid(text: str) -> str:
    with_rows, rows = _DELIMITER_ROW.subn("", text)
    if not rows and not text.lstrip().startswith("|"):
        return text
    lines = _ROW.sub(lambda match: f"{match[1].strip()}{_ROW_SEPARATOR}", with_rows)
    # A text on one line has lost where its rows end, but not the two bars there.
    return _ROW_END.sub(_ROW_SEPARATOR.strip(), lines).strip().removesuffix(_ROW_SEPARATOR.strip())


def _shown(match: re.Match[str]) -> str:
    if match["code"] is not None:
        return match["code"]
    if inner := match["label"] or match["strong"]:
        return _MARKS.sub(_shown, inner)
    return ""
