"""Sorting of returned objects by a column or a property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from brain_async.model.number import format_number
from brain_async.model.results import RichObject

__all__ = ["sort_rich_objects"]

_UNSET = datetime.min.replace(tzinfo=UTC)


def sort_rich_objects(objects: Sequence[RichObject], key: str, *, descending: bool = False) -> list[RichObject]:
    """``objects`` in a new list, ordered by ``key``. Objects that are equal under it keep their order, both ways.

    The key is trimmed and lower-cased: ``created_at`` and ``updated_at`` sort by time (unset first), ``title`` by code
    point, case-sensitive, ``position`` by number (missing counts as -1). Any other key names a property, compared *as
    text*: "10" comes before "9"; missing, null, lists and dicts are the empty text and come first; booleans are "0"
    and "1"; numbers take the float form of ``format_number``; datetimes are RFC 3339 in UTC. A property whose name has
    upper-case letters is never found. ``descending`` turns everything round, so that missing comes last. A blank key
    leaves the order as it is.
    """
    name = key.strip().lower()
    return sorted(objects, key=_sort_key(name), reverse=descending) if name else list(objects)


def _sort_key(name: str) -> Callable[[RichObject], Any]:
    match name:
        case "created_at":
            return lambda obj: _instant(obj.created_at)
        case "updated_at":
            return lambda obj: _instant(obj.updated_at)
        case "title":
            return lambda obj: obj.title
        case "position":
            return lambda obj: -1 if obj.position is None else obj.position
        case _:
            return lambda obj: _property_text(obj.properties.get(name))


def _instant(moment: datetime | None) -> datetime:
    if moment is None:
        return _UNSET
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _property_text(value: object) -> str:
    match value:
        case bool():
            return "1" if value else "0"
        case str():
            return value
        case int() | float():
            return _number_text(value)
        case datetime():
            # A fraction of fixed length, so that the texts sort as the instants do.
            return _instant(value).astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
        case _:
            return ""


def _number_text(value: int | float) -> str:
    try:
        return format_number(float(value))
    except OverflowError:
        return format_number(value)
