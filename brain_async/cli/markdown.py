"""Reading Markdown: chapters by its headings, and its relative links."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from brain_async.cli.chapters import Chapter, ChapterWriter
from brain_async.cli.readable import readable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["markdown_links", "read_markdown"]

_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?=\s*[\w\"'-]+[ \t]*:).*?\n(?:---|\.\.\.)|\+\+\+[ \t]*\n.*?\n\+\+\+)[ \t]*(?:\n|\Z)", re.DOTALL
)


def read_markdown(text: str) -> list[Chapter]:
    """The chapters of CommonMark ``text`` with tables; front matter is skipped, code is kept verbatim.

    Headings inside quotes and lists begin no chapter. Link reference definitions are left out, their addresses stand
    where they are used.
    """
    source = _FRONT_MATTER.sub("", text)
    environment: dict[str, Any] = {}
    tokens = _parser(inline=False).parse(source, environment)
    references = {
        " ".join(label.lower().split()): found["href"] for label, found in environment.get("references", {}).items()
    }
    # The parser counts lines by "\n" alone, str.splitlines would see more.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    writer = ChapterWriter()
    code = [token.map for token in tokens if token.type in ("fence", "code_block") and token.map]
    for index, token in enumerate(tokens):
        if token.level or not token.map or token.nesting < 0:
            continue
        if token.type == "heading_open":
            writer.heading(int(token.tag[1:]), _plain(tokens[index + 1], environment))
            continue
        first, last = token.map
        for code_first, code_last in code:
            if first <= code_first and code_last <= last:
                _write_prose(writer, lines[first:code_first], references)
                writer.block("\n".join(lines[code_first:code_last]), code=True)
                first = code_last
        _write_prose(writer, lines[first:last], references)
    return writer.finish()


def markdown_links(text: str) -> list[tuple[str, str]]:
    """Every link of ``text`` as (address, label), in reading order; images and bare addresses are none."""
    links = []
    for token in _parser(inline=True).parse(_FRONT_MATTER.sub("", text)):
        children = token.children or []
        for index, child in enumerate(children):
            if child.type == "link_open" and child.info != "auto":
                links.append((str(child.attrGet("href") or ""), _label(children[index + 1 :])))
    return links


@cache
def _parser(*, inline: bool) -> MarkdownIt:
    # Imported on first use: the parser costs 50 ms, which commands that read no document need not pay.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    return parser if inline else parser.disable("inline")


def _write_prose(writer: ChapterWriter, lines: list[str], references: dict[str, str]) -> None:
    writer.block(readable("\n".join(lines), references))


def _plain(heading: Token, environment: dict[str, Any]) -> str:
    (inline,) = _parser(inline=True).parseInline(heading.content, environment)
    return readable("".join(_texts(inline.children or [])))


def _label(children: list[Token]) -> str:
    inside = []
    for child in children:
        if child.type == "link_close":
            break
        inside.append(child)
    return " ".join("".join(_texts(inside)).split())


def _texts(children: list[Token]) -> list[str]:
    return [
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in children
        if child.type in ("text", "code_inline", "softbreak", "hardbreak", "image")
    ]
