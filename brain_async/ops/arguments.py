"""The arguments of the verbs, checked before any work: a wrong type is this library's error, and names the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from brain_async.errors import (
    InvalidFilterError,
    InvalidInputError,
    ObjectIdRequiredError,
    QueryRequiredError,
    ResultSetStoreRequiredError,
)
from brain_async.model.object import NIL_UUID
from brain_async.ports.paging import ResultSetStore
from brain_async.text import clean_query

__all__ = [
    "checked",
    "checked_filters",
    "checked_ids",
    "checked_list",
    "checked_seconds",
    "checked_texts",
    "required_id",
    "required_query",
    "required_result_sets",
]

T = TypeVar("T")


def checked(value: T, expected: type, field: str) -> T:
    """``value``. Raises InvalidInputError when it is not an ``expected``; a boolean is no number."""
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise InvalidInputError(f"{field} must be a {expected.__name__}, not {_name(value)}", field=field)
    return value


def checked_list(items: Iterable[T], field: str) -> list[T]:
    """``items`` as a list. Raises InvalidInputError for anything but a collection; text and mappings are none."""
    if not isinstance(items, (str, bytes, Mapping)) and isinstance(items, Iterable):
        try:
            return list(items)
        except TypeError:  # a numpy array of no dimension says that it is iterable
            pass
    raise InvalidInputError(f"{field} must be a list, not {_name(items)}", field=field)


def checked_texts(texts: Iterable[str], field: str) -> list[str]:
    """``texts`` as a list. Raises InvalidInputError for anything but a collection of texts; one text alone is none."""
    return _items(texts, str, field)


def checked_ids(ids: Iterable[UUID], field: str) -> list[UUID]:
    """``ids`` as a list, without repetitions and nil ids, order kept. Raises InvalidInputError."""
    return [object_id for object_id in dict.fromkeys(_items(ids, UUID, field)) if object_id != NIL_UUID]


def checked_filters(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of ``filters``, whose entries are not looked at. Raises InvalidFilterError when it is no mapping."""
    if filters is None:
        return {}
    if not isinstance(filters, Mapping):
        raise InvalidFilterError(f"filters must be a mapping, not {_name(filters)}", field="filters")
    return dict(filters)


def checked_seconds(value: float, field: str) -> float:
    """``value``. Raises InvalidInputError when it is no finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise InvalidInputError(f"{field} must be a number of seconds above 0, not {value!r}", field=field)
    return value


def required_query(query: str) -> str:
    """``query`` cleaned. Raises InvalidInputError when it is no text, QueryRequiredError when nothing is left of it."""
    cleaned = clean_query(checked(query, str, "query"))
    if not cleaned:
        raise QueryRequiredError
    return cleaned


def required_id(object_id: UUID | None, field: str = "object_id") -> UUID:
    """``object_id``. Raises ObjectIdRequiredError when it is None or nil, InvalidInputError when it is no UUID."""
    if object_id is None or checked(object_id, UUID, field) == NIL_UUID:
        raise ObjectIdRequiredError(field)
    return object_id


def required_result_sets(result_sets: ResultSetStore | None) -> ResultSetStore:
    """``result_sets``. Raises ResultSetStoreRequiredError when there is none, InvalidInputError when it is no such store."""
    if result_sets is None:
        raise ResultSetStoreRequiredError
    return checked(result_sets, ResultSetStore, "result_sets")


def _items(items: Iterable[T], expected: type[T], field: str) -> list[T]:
    found = checked_list(items, field)
    for index, item in enumerate(found):
        if not isinstance(item, expected):
            raise InvalidInputError(
                f"{field}[{index}] must be a {expected.__name__}, not {_name(item)}", field=f"{field}[{index}]"
            )
    return found


def _name(value: object) -> str:
    return "None" if value is None else type(value).__name__
