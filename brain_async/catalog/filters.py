"""Validation of filters: what a caller gives becomes typed ``Filters`` that any backend can push down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from brain_async.catalog.field_types import fits
from brain_async.catalog.normalize import FIELD_NAME
from brain_async.catalog.registry import KindCatalog
from brain_async.catalog.values import MAX_INTEGER, MIN_INTEGER, check_text
from brain_async.errors import InvalidFilterError, InvalidKindError, InvalidValueError
from brain_async.model.filters import Filters, FilterValue, PropertyFilter
from brain_async.model.instant import format_instant, read_instant, to_utc
from brain_async.model.kind import CORE_FILTER_KEYS, DATE_FILTER_KEYS, FieldType

__all__ = ["parse_instant", "restrict_to_catalog", "validate_filters", "validate_filters_against"]

_TEXT_FIELDS = {"kind": "kinds", "title": "titles"}


def validate_filters(filters: Mapping[str, Any] | None) -> Filters:
    """``filters`` checked without a catalog. All keys must match; a list matches when any of its values does.

    Keys are trimmed. ``kind`` and ``title`` take text or a list of texts. ``created_after``, ``created_before``,
    ``updated_after``, ``updated_before`` take RFC 3339 text with an offset, YYYY-MM-DD (midnight UTC) or an aware
    datetime. Any other key is a property and takes a str, bool, int or finite float, or a non-empty list of these;
    duplicates in a list are dropped, its order is kept. None and an empty mapping restrict nothing.

    Raises InvalidFilterError for a key that is blank, given twice or (a property) not of A-Z a-z 0-9 _, and for a value of
    another shape; InvalidValueError for NUL, lone surrogates, non-finite numbers and integers beyond signed 64 bit.
    ``field`` is the key.
    """
    core: dict[str, Any] = {}
    properties: dict[str, tuple[FilterValue, ...]] = {}
    for given, value in _entries(filters):
        key = given.strip()
        if key in CORE_FILTER_KEYS:
            field, condition = _core_condition(key, value)
            _set_once(core, field, condition, key)
            continue
        if not FIELD_NAME.fullmatch(key):
            raise InvalidFilterError(
                f"filter key {_shown(given)} must be one or more of A-Z, a-z, 0-9 and _: name the property exactly",
                field=key,
            )
        _set_once(properties, key, _distinct([_scalar(key, item) for item in _items(key, value)]), key)
    return _filters(core, properties)


def validate_filters_against(filters: Mapping[str, Any] | None, catalog: KindCatalog) -> Filters:
    """``filters`` checked against the registered kinds; with an empty catalog, ``validate_filters``.

    Beyond what that checks: kinds must be registered; every property key needs a kind filter, must be a field of each
    kind named, and is compared untrimmed; each value must fit the field's type (a boolean is no number; a datetime is
    text as for the date keys, or an aware datetime, compared as its RFC 3339 UTC text); boolean fields take no list.

    Raises as ``validate_filters``, and InvalidKindError for a kind that is not registered.
    """
    if not catalog:
        return validate_filters(filters)
    core: dict[str, Any] = {}
    given_properties: dict[str, Any] = {}
    for key, value in _entries(filters):
        if key in CORE_FILTER_KEYS:
            field, condition = _core_condition(key, value)
            core[field] = condition
        else:
            given_properties[key] = value
    kinds: tuple[str, ...] = core.get("kinds", ())
    for kind in kinds:
        if not kind:
            raise InvalidFilterError("filter 'kind' holds an empty name: name a kind", field="kind")
        if kind not in catalog:
            raise InvalidKindError(f"filter 'kind' names the unregistered kind {kind!r}", field="kind")
    properties = {
        key: _typed_values(key, value, _field_types(key, kinds, catalog)) for key, value in given_properties.items()
    }
    return _filters(core, properties)


def restrict_to_catalog(filters: Filters, catalog: KindCatalog) -> Filters:
    """``filters`` as search and find_exact use them: only objects of registered kinds, if any are registered."""
    if not catalog:
        return filters
    return msgspec.structs.replace(filters, own_kinds=tuple(spec.kind for spec in catalog.kinds))


def parse_instant(key: str, text: str) -> datetime:
    """The UTC instant of RFC 3339 text with an offset (fraction optional) or of YYYY-MM-DD (midnight UTC).

    Raises InvalidFilterError naming ``key``; missing offsets, blank separators, compact and unpadded forms are refused.
    """
    try:
        return read_instant(text)
    except ValueError as error:
        raise InvalidFilterError(
            f"filter {key!r} cannot be read: {error}; write 2026-08-09T00:00:00Z or 2026-08-09", field=key
        ) from None


def _entries(filters: object) -> Iterator[tuple[str, Any]]:
    if filters is None:
        return
    if not isinstance(filters, Mapping):
        raise InvalidFilterError(f"filters must be a mapping, not {type(filters).__name__}", field="filters")
    for key, value in filters.items():
        if not isinstance(key, str):
            raise InvalidFilterError(f"filter keys must be text, not {type(key).__name__}", field="filters")
        yield key, value


def _filters(core: dict[str, Any], properties: Mapping[str, tuple[FilterValue, ...]]) -> Filters:
    return Filters(**core, properties=tuple(PropertyFilter(key, values) for key, values in properties.items()))


def _set_once(conditions: dict[str, Any], name: str, condition: object, key: str) -> None:
    if name in conditions:
        raise InvalidFilterError(f"filter {key!r} is given twice", field=key)
    conditions[name] = condition


def _core_condition(key: str, value: object) -> tuple[str, Any]:
    """(attribute of Filters, its value) for one of the six core keys."""
    if key in DATE_FILTER_KEYS:
        return key, _instant(key, value)
    texts = [_scalar(key, item) for item in _items(key, value)]
    for text in texts:
        if not isinstance(text, str):
            raise InvalidFilterError(f"filter {key!r} takes text or a list of texts, not {_name(text)}", field=key)
    return _TEXT_FIELDS[key], _distinct(texts)


def _instant(key: str, value: object) -> datetime:
    if isinstance(value, str):
        return parse_instant(key, value)
    if isinstance(value, datetime):
        return _aware(key, value)
    raise InvalidFilterError(f"filter {key!r} takes RFC 3339 text or an aware datetime, not {_name(value)}", field=key)


def _aware(key: str, moment: datetime) -> datetime:
    try:
        return to_utc(moment)
    except ValueError as error:
        raise InvalidFilterError(f"filter {key!r} has a datetime that cannot be used: {error}", field=key) from None


def _items(key: str, value: object) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        return (value,)
    if not value:
        raise InvalidFilterError(
            f"filter {key!r} has an empty list: give at least one value, or leave it out", field=key
        )
    return value


def _scalar(key: str, value: object) -> FilterValue:
    """``value`` as exactly a str, bool, int or float; subclasses (enums, numpy floats) lose their own type."""
    if isinstance(value, str):
        check_text(key, value)
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not MIN_INTEGER <= value <= MAX_INTEGER:
            raise InvalidValueError(f"filter {key!r} has an integer beyond signed 64 bit", field=key)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidValueError(f"filter {key!r} is {value}: give a finite number", field=key)
        return float(value)
    raise InvalidFilterError(
        f"filter {key!r} takes text, a boolean, a number or a flat list of these, not {_name(value)}", field=key
    )


def _distinct(values: Sequence[FilterValue]) -> tuple[FilterValue, ...]:
    # Python holds True, 1 and 1.0 equal; they are different filter values.
    return tuple(value for _, value in dict.fromkeys((type(value), value) for value in values))


def _field_types(key: str, kinds: Sequence[str], catalog: KindCatalog) -> set[str]:
    """The types ``key`` has in ``kinds``: each value must fit all of them."""
    if not kinds:
        raise InvalidFilterError(
            f"filter {_shown(key)} is a property: add a 'kind' filter, or use one of {', '.join(CORE_FILTER_KEYS)}",
            field=key,
        )
    types = set()
    for kind in kinds:
        fields = catalog.fields_of(kind)
        if key not in fields:
            known = ", ".join((*CORE_FILTER_KEYS, *fields))
            raise InvalidFilterError(
                f"filter {_shown(key)} is not filterable for kind {kind!r}: use one of {known}", field=key
            )
        types.add(str(fields[key].type))
    return types


def _typed_values(key: str, value: object, types: set[str]) -> tuple[FilterValue, ...]:
    if FieldType.BOOLEAN in types and isinstance(value, (list, tuple)):
        raise InvalidFilterError(
            f"filter {key!r} is a boolean field, which takes no list: give true or false", field=key
        )
    return _distinct([_typed_scalar(key, item, types) for item in _items(key, value)])


def _typed_scalar(key: str, value: object, types: set[str]) -> FilterValue:
    if isinstance(value, datetime) and FieldType.DATETIME in types:
        scalar: FilterValue = format_instant(_aware(key, value))
    else:
        scalar = _scalar(key, value)
    for field_type in types:
        if not fits(field_type, scalar):
            raise InvalidFilterError(f"filter {key!r} takes a {field_type}, not {_name(value)}", field=key)
    return scalar


def _name(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


def _shown(key: str) -> str:
    return ascii(key[:64])
