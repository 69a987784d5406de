"""Reading documents: one text in Markdown, reStructuredText or plain text becomes the sections to search in."""

from __future__ import annotations

from typing import Literal

import msgspec

from brain_async.cli.chapters import Block, Chapter
from brain_async.cli.markdown import read_markdown
from brain_async.cli.passages import split_passages
from brain_async.cli.restructured import read_restructured
from brain_async.errors import InvalidInputError
from brain_async.text import UNSTORABLE

__all__ = ["MediaType", "Section", "split_document", "storable"]

MediaType = Literal["text/markdown", "text/x-rst", "text/plain"]

_BLOCK_SEPARATOR = "\n\n"


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One passage of a document: never blank.

    Attributes:
        headings: the path of headings it stands under, outermost first; empty before the first heading.
        content: Markdown where the document is Markdown, else plain text.
        position: order in the document, from 0.
    """

    headings: tuple[str, ...]
    content: str
    position: int

    @property
    def title(self) -> str:
        """The path of headings, like "Install > From source"."""
        return " > ".join(self.headings)


def split_document(text: str, *, media_type: MediaType, max_chars: int = 2_000) -> list[Section]:
    """The sections of ``text``, in reading order; [] when nothing in it can be read. No text is malformed.

    A section is what stands between two headings; one of more than ``max_chars`` characters is cut further, at paragraph
    ends, else sentence ends, and within code only when one code block is longer than that. All words of the text are in
    the title or content of a section, except what a reader of the rendered document does not see (comments, front matter,
    HTML tags, link targets) and badges. NUL and lone surrogates are dropped.

    Raises InvalidInputError when ``max_chars`` is below 1.
    """
    if max_chars < 1:
        raise InvalidInputError("max_chars must be at least 1", field="max_chars")
    passages = [
        (chapter.headings, passage)
        for chapter in _chapters(storable(text), media_type)
        for passage in _passages(chapter, max_chars)
    ]
    return [
        Section(headings=headings, content=passage, position=position)
        for position, (headings, passage) in enumerate(passages)
    ]


def storable(text: str) -> str:
    """``text`` without NUL and lone surrogates, which no store can keep."""
    return UNSTORABLE.sub("", text)


def _chapters(text: str, media_type: MediaType) -> list[Chapter]:
    if media_type == "text/markdown":
        return read_markdown(text)
    if media_type == "text/x-rst" and (chapters := read_restructured(text)) is not None:
        return chapters
    return [Chapter((), (Block(text),))]


def _passages(chapter: Chapter, max_chars: int) -> list[str]:
    whole = []
    offset = 0
    for block in chapter.blocks:
        end = offset + len(block.text)
        if block.code:
            whole.append((offset, end))
        offset = end + len(_BLOCK_SEPARATOR)
    text = _BLOCK_SEPARATOR.join(block.text for block in chapter.blocks)
    return split_passages(text, max_chars=max_chars, whole=whole)
