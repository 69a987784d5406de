"""Chapter: what a reader of one markup language found under one heading, before it is cut to size."""

from __future__ import annotations

import re

import msgspec

__all__ = ["Block", "Chapter", "ChapterWriter"]

_WORD = re.compile(r"\w")


class Block(msgspec.Struct, frozen=True):
    """A paragraph, list, table or the like; ``code`` is kept verbatim and in one piece where it fits."""

    text: str
    code: bool = False


class Chapter(msgspec.Struct, frozen=True):
    """The blocks between one heading and the next, under the path of headings that leads there (outermost first)."""

    headings: tuple[str, ...]
    blocks: tuple[Block, ...]


class ChapterWriter:
    """Collects headings and blocks in reading order; ``chapters`` is the result so far.

    A heading directly followed by a deeper one has no chapter of its own, since its text is in the path of the next. A
    heading that nothing follows becomes a chapter whose only block is the heading, so that it is not lost.
    """

    def __init__(self) -> None:
        self.chapters: list[Chapter] = []
        self._path: list[tuple[int, str]] = []
        self._blocks: list[Block] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a chapter. ``level`` counts from 1; lower is further out. A blank heading is ignored."""
        title = " ".join(text.split())
        if not title:
            return
        self._close(next_level=level)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))

    def block(self, text: str, *, code: bool = False) -> None:
        """Add a block to the current chapter. Blank code is ignored, and so is prose without a letter or digit (rules)."""
        if text.strip() if code else _WORD.search(text):
            self._blocks.append(Block(text.strip("\n"), code))

    def finish(self) -> list[Chapter]:
        """The chapters, after the last one is closed."""
        self._close(next_level=0)
        return self.chapters

    def _close(self, *, next_level: int) -> None:
        is_bare_heading = not self._blocks and bool(self._path)
        if is_bare_heading and next_level <= self._path[-1][0]:
            self._blocks.append(Block(self._path[-1][1]))
        if self._blocks:
            self.chapters.append(Chapter(tuple(title for _, title in self._path), tuple(self._blocks)))
        self._blocks = []
