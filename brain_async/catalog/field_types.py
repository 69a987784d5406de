"""Which JSON values a field type admits: the one rule for filters and for the properties of objects."""

from __future__ import annotations

from brain_async.model.instant import read_instant
from brain_async.model.kind import FieldType

__all__ = ["fits"]


def fits(field_type: str, value: object) -> bool:
    """Whether ``value`` is of ``field_type``: a boolean is no number, a datetime is RFC 3339 text or YYYY-MM-DD."""
    match field_type:
        case FieldType.STRING:
            return isinstance(value, str)
        case FieldType.BOOLEAN:
            return isinstance(value, bool)
        case FieldType.NUMBER:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case FieldType.DATETIME:
            return isinstance(value, str) and _is_instant(value)
    raise AssertionError(f"unknown field type {field_type!r}")


def _is_instant(text: str) -> bool:
    try:
        read_instant(text)
    except ValueError:
        return False
    return True
