"""KindSpec and FieldSpec: the host's schema of object kinds and their filterable fields."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["CORE_FILTER_KEYS", "DATE_FILTER_KEYS", "FieldSpec", "FieldType", "FilterUsage", "KindSchema", "KindSpec"]

DATE_FILTER_KEYS = ("created_after", "created_before", "updated_after", "updated_before")
CORE_FILTER_KEYS = ("kind", "title", *DATE_FILTER_KEYS)


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


class KindSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kind: its fields, and whether its objects are parts, parents, or either (both flags equal)."""

    kind: str
    description: str = ""
    is_part: bool = False
    is_parent: bool = False
    fields: tuple[FieldSpec, ...] = ()


class FilterUsage(msgspec.Struct, frozen=True, kw_only=True):
    """How the fields of a schema may be used in filters, in words a model can act on."""

    tools: tuple[str, ...]
    note: str


class KindSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Engine.schema`` returns: kinds sorted by name, and how to filter on them."""

    kinds: tuple[KindSpec, ...]
    filter_usage: FilterUsage
