"""KindSpec and FieldSpec: the host's schema of object kinds and their filterable fields."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = [
    "CORE_FILTER_KEYS",
    "DATE_FILTER_KEYS",
    "MAX_SIBLING_RADIUS",
    "ContextSpec",
    "FieldSpec",
    "FieldType",
    "FilterUsage",
    "KindSchema",
    "KindSpec",
]

DATE_FILTER_KEYS = ("created_after", "created_before", "updated_after", "updated_before")
CORE_FILTER_KEYS = ("kind", "title", *DATE_FILTER_KEYS)


MAX_SIBLING_RADIUS = 10


class FieldType(StrEnum):
    """The type of a filterable property."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATETIME = "datetime"


class FieldSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One filterable property of a kind. ``operators`` is set by normalising, whatever the host gave.

    ``type`` is a FieldType's value; it is a plain string here so that an unknown one is refused with our error.
    """

    name: str
    type: FieldType | str = ""
    operators: tuple[str, ...] = ()
    description: str = ""
    required: bool = False
    examples: tuple[str, ...] = ()


class ContextSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which of its surroundings a part is found by, besides its own title, summary and content.

    Attributes:
        parent_title: the title of its parent.
        date: the day (UTC) of its ``created_at``, as ``2026-08-09``.
        properties: names of fields of its kind, each a line ``name: value`` where the part has a scalar value.
        sibling_radius: how many parts before and after it, in the order of ``list_children``, lend their content, the first
            4,000 characters of each; 0 to 10.
    """

    parent_title: bool = False
    date: bool = False
    properties: tuple[str, ...] = ()
    sibling_radius: int = 0


class KindSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kind: its fields, and whether its objects are parts, parents, or either (both flags equal).

    ``lexical_context`` and ``embedding_context`` say what parts of the kind are found by besides their own text, in the
    lexical and in the vector channel. They change no content, no snippet and no trigram. The text is made whenever a part is
    put, from what the store and the same ``put_many`` hold then; what changes later (the parent's title, a neighbour, this
    spec) counts from the part's next put.
    """

    kind: str
    description: str = ""
    is_part: bool = False
    is_parent: bool = False
    fields: tuple[FieldSpec, ...] = ()
    lexical_context: ContextSpec = ContextSpec()
    embedding_context: ContextSpec = ContextSpec(parent_title=True)


class FilterUsage(msgspec.Struct, frozen=True, kw_only=True):
    """How the fields of a schema may be used in filters, in words a model can act on."""

    tools: tuple[str, ...]
    note: str


class KindSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Engine.schema`` returns: kinds sorted by name, and how to filter on them."""

    kinds: tuple[KindSpec, ...]
    filter_usage: FilterUsage
