"""Index texts and snippets: pure functions from an object's fields to the text that is embedded, indexed or shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from brain_async.model.kind import ContextSpec
from brain_async.model.number import format_number
from brain_async.model.object import Object

__all__ = [
    "ENTITY_CONTENT_CHARS",
    "MAX_QUERY_CHARS",
    "SNIPPET_CHARS",
    "UNSTORABLE",
    "clean_query",
    "embedding_text",
    "entity_index_text",
    "format_number",
    "index_context",
    "index_text",
    "index_text_with_parent",
    "lexical_text",
    "snippet",
]

ENTITY_CONTENT_CHARS = 2_000
SNIPPET_CHARS = 240
MAX_QUERY_CHARS = 2_000

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates, which no store can keep."""


def clean_query(query: str) -> str:
    """``query`` as the channels see it: NUL and lone surrogates removed, trimmed, cut to 2,000 characters."""
    return UNSTORABLE.sub("", query).strip()[:MAX_QUERY_CHARS]


def _property_lines(properties: Mapping[str, Any]) -> list[str]:
    lines = []
    for key in sorted(properties):
        match properties[key]:
            case bool(flag):
                lines.append(f"{key}: {'true' if flag else 'false'}")
            case str(text) if text.strip():
                lines.append(f"{key}: {text.strip()}")
            case int() | float() as number:
                lines.append(f"{key}: {format_number(number)}")
    return lines


def entity_index_text(obj: Object) -> str:
    """What a first-class object is found by in the graph, and embedded as.

    Lines: title, summary, one ``key: value`` per scalar property in key order, content cut to 2,000 characters; blanks
    are left out.
    """
    lines = [
        obj.title.strip(),
        obj.summary.strip(),
        *_property_lines(obj.properties),
        obj.content.strip()[:ENTITY_CONTENT_CHARS],
    ]
    return "\n".join(line for line in lines if line)


def lexical_text(obj: Object) -> str:
    """What a part is found by in the lexical index: its title, summary, content and ``index_context``."""
    return f"{obj.title} {obj.summary} {obj.content} {obj.index_context}"


def index_text(obj: Object) -> str:
    """What a part is embedded as: its non-blank title, summary and content, trimmed, a line each."""
    return "\n".join(line for line in (obj.title.strip(), obj.summary.strip(), obj.content.strip()) if line)


def index_text_with_parent(obj: Object, parent_title: str) -> str:
    """``index_text`` under its parent's title; the title alone when the part has no text."""
    return "\n".join(line for line in (parent_title.strip(), index_text(obj)) if line)


def _context_lines(spec: ContextSpec, obj: Object, parent_title: str) -> list[str]:
    title = parent_title.strip() if spec.parent_title else ""
    day = obj.created_at.date().isoformat() if spec.date and obj.created_at is not None else ""
    named = {name: obj.properties[name] for name in spec.properties if name in obj.properties}
    return [title, day, *_property_lines(named), obj.index_context.strip()]


def index_context(spec: ContextSpec, obj: Object, parent_title: str = "", siblings: Sequence[str] = ()) -> str:
    """The ``Object.index_context`` of a part by ``spec``: what its surroundings add to its lexical text, a line each.

    The title of the parent, the day, the properties in key order, what the part already has, and ``siblings``, the contents
    of its neighbours in their order; blanks are left out. For ``PostgresStore.bulk_load``; ``put`` does it by itself.
    """
    lines = [*_context_lines(spec, obj, parent_title), *(text.strip() for text in siblings)]
    return "\n".join(line for line in lines if line)


def embedding_text(spec: ContextSpec, obj: Object, parent_title: str = "", siblings: Sequence[str] = ()) -> str:
    """What a part is embedded as by ``spec``: the lines of ``index_context``, with ``index_text`` before the neighbours.

    A model that cuts long texts thus loses the neighbours first.
    """
    lines = [*_context_lines(spec, obj, parent_title), index_text(obj), *(text.strip() for text in siblings)]
    return "\n".join(line for line in lines if line)


def snippet(content: str) -> str:
    """The first 240 characters of the trimmed content, and an ellipsis when it was cut."""
    trimmed = content.strip()
    return trimmed if len(trimmed) <= SNIPPET_CHARS else trimmed[:SNIPPET_CHARS] + "…"
