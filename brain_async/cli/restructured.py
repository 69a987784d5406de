"""Reading reStructuredText: chapters by its sections, rendered as plain text, and its links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain_async.cli.chapters import Block, Chapter, ChapterWriter
from brain_async.cli.readable import readable

if TYPE_CHECKING:
    from docutils import nodes

__all__ = ["read_restructured", "restructured_links"]

# docutils refuses a document with a longer line, since some of its patterns are slow on those.
_LONGEST_LINE = 10_000

_ROLE = re.compile(r":[\w:.+-]+:`(?:([^`<]*[^`<\s])\s*<[^`>]*>|([^`]*))`")
_LINK = re.compile(r"(?<![:`\w])`([^`<>]{0,300})<([^<>`\s]{1,1000})>`__?")
_DOC_ROLE = re.compile(r":doc:`(?:([^`<>]{0,300})<([^<>`]{1,1000})>|([^<>`]{1,1000}))`")
_TARGET = re.compile(r"^\.\. _`?([^:`\n]{1,300})`?: +(\S{1,1000})$", re.MULTILINE)
_TOCTREE = re.compile(r"^( *)\.\. toctree::[^\n]*\n((?:\1 +\S[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)
_TOCTREE_ENTRY = re.compile(r"(.*?)\s*<([^<>]+)>")


def read_restructured(text: str) -> list[Chapter] | None:
    """The chapters of ``text``; None when docutils cannot read it, and it is best taken as plain text.

    Directives and roles that docutils does not know keep their text. Nothing is included, executed or printed.
    """
    from docutils import nodes

    document = _parse(text)
    if document is None:
        return None
    writer = ChapterWriter()
    render = _Renderer(document)

    def write(parent: nodes.Element, level: int) -> None:
        for child in parent.children:
            if isinstance(child, nodes.section):
                write(child, level + 1)
            elif isinstance(child, nodes.title) and isinstance(parent, nodes.section):
                writer.heading(level, render.inline(child))
            else:
                for block in render.blocks(child):
                    writer.block(block.text, code=block.code)

    try:
        write(document, 0)
    except RecursionError:
        return None
    return writer.finish()


def restructured_links(text: str) -> list[tuple[str, str]]:
    """Every link of ``text`` as (address, label): inline links, ``:doc:`` roles, named targets, toctree entries."""
    found = [(match.start(), match[2], match[1]) for match in _LINK.finditer(text)]
    found += [(match.start(), match[2] or match[3], match[1] or "") for match in _DOC_ROLE.finditer(text)]
    # A target that ends with an underscore is the name of another one.
    found += [(match.start(), match[2], match[1]) for match in _TARGET.finditer(text) if not match[2].endswith("_")]
    for tree in _TOCTREE.finditer(text):
        for line in tree[2].splitlines():
            entry = line.strip()
            if entry and not entry.startswith(":"):
                titled = _TOCTREE_ENTRY.fullmatch(entry)
                found.append((tree.start(), titled[2] if titled else entry, titled[1] if titled else ""))
    found.sort(key=lambda link: link[0])
    return [(address.strip(), " ".join(label.split())) for _, address, label in found]


def _parse(text: str) -> nodes.document | None:
    # Imported on first use: most commands read no document.
    from docutils import frontend, utils
    from docutils.parsers.rst import Parser

    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):
        return None
    settings = frontend.get_default_settings(Parser)
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.syntax_highlight = "none"
    settings.halt_level = settings.report_level = 5
    settings.warning_stream = False
    document = utils.new_document("", settings)
    try:
        Parser().parse(text, document)
    except Exception:
        # Malformed input trips bare assertions and index errors inside docutils; no file may stop an ingest.
        return None
    return document


class _Renderer:
    """Turns the nodes of one document into readable plain text."""

    def __init__(self, document: nodes.document) -> None:
        self._substitutions = {name.lower(): node for name, node in document.substitution_defs.items()}

    def inline(self, node: nodes.Node) -> str:
        """The text of a node of running text; badges (linked images) vanish."""
        from docutils import nodes

        if isinstance(node, nodes.Text):
            # docutils keeps escaped characters as NUL and the character; astext gives the character alone.
            return node.astext()
        if isinstance(node, nodes.problematic):
            return _ROLE.sub(lambda role: role[1] or role[2], node.astext())
        if isinstance(node, nodes.substitution_reference):
            definition = self._substitutions.get(node["refname"].lower())
            return node.astext() if definition is None else "".join(map(self.inline, definition.children))
        if isinstance(node, nodes.image):
            return (
                "" if isinstance(node.parent, (nodes.reference, nodes.substitution_definition)) else node.get("alt", "")
            )
        if isinstance(node, (nodes.footnote_reference, nodes.citation_reference)):
            return f"[{node.astext()}]"
        if isinstance(node, nodes.system_message):
            return ""
        return "".join(map(self.inline, node.children))

    def blocks(self, node: nodes.Node) -> Iterator[Block]:
        """The blocks of a body element, in reading order."""
        from docutils import nodes

        if isinstance(node, nodes.system_message):
            yield from self._quoted(node)
        elif isinstance(node, (nodes.literal_block, nodes.doctest_block, nodes.math_block)):
            yield Block(node.astext(), code=True)
        elif isinstance(node, (nodes.Invisible, nodes.transition)):
            return
        elif isinstance(node, (nodes.bullet_list, nodes.enumerated_list)):
            yield Block("\n".join(self._items(node)))
        elif isinstance(node, (nodes.definition_list, nodes.field_list, nodes.option_list)):
            yield Block("\n".join(map(self._entry, node.children)))
        elif isinstance(node, nodes.table):
            yield from (Block(self.inline(title)) for title in node.findall(nodes.title))
            yield Block("\n".join(map(self._row, node.findall(nodes.row))))
        elif isinstance(node, nodes.line_block):
            yield Block("\n".join(map(self.inline, node.findall(nodes.line))))
        elif isinstance(node, (nodes.TextElement, nodes.image, nodes.reference)):
            yield Block(self.inline(node))
        else:
            for child in node.children:
                yield from self.blocks(child)

    def _quoted(self, message: nodes.system_message) -> Iterator[Block]:
        """What docutils could not make sense of. Lesser messages quote text that is in the document as well."""
        from docutils import nodes

        explanation = message.children[0].astext() if message.children else ""
        if message["level"] < 3 and not explanation.endswith("directive disabled."):
            return
        for quoted in message.findall(nodes.literal_block):
            source = quoted.astext()
            yield Block(readable(source.partition("\n")[2]) if source.startswith(".. raw::") else source)

    def _items(self, items: nodes.Element) -> Iterator[str]:
        for number, item in enumerate(items.children, start=int(items.get("start", 1))):
            mark = "- " if "bullet" in items else f"{_ordinal(number, items)} "
            yield mark + self._body(item).replace("\n", "\n" + " " * len(mark))

    def _entry(self, entry: nodes.Node) -> str:
        """``term: text`` of a definition, field or option."""
        terms = [self.inline(child).strip() for child in entry.children[:-1]]
        body = self._body(entry.children[-1]).replace("\n", "\n  ") if entry.children else ""
        return f"{' '.join(terms)}: {body}" if terms else body

    def _row(self, row: nodes.Node) -> str:
        return " | ".join(" ".join(self._body(cell).split()) for cell in row.children)

    def _body(self, node: nodes.Node) -> str:
        return "\n".join(block.text for child in node.children for block in self.blocks(child) if block.text.strip())


def _ordinal(number: int, items: nodes.Element) -> str:
    """The mark of a list item as it was written; Roman numbers become Arabic ones."""
    first = {"loweralpha": "a", "upperalpha": "A"}.get(items["enumtype"])
    text = chr(ord(first) + number - 1) if first else str(number)
    return f"{items['prefix']}{text}{items['suffix']}"
