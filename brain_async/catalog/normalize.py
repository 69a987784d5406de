"""Normalising of kind specs: what a host writes becomes what the catalog and the store keep."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

import msgspec

from brain_async.catalog.values import MAX_NAME_BYTES, check_text
from brain_async.errors import InvalidKindError, InvalidValueError
from brain_async.model.kind import CORE_FILTER_KEYS, MAX_SIBLING_RADIUS, ContextSpec, FieldSpec, FieldType, KindSpec

__all__ = ["FIELD_NAME", "normalize_kind", "normalize_kinds"]

FIELD_NAME = re.compile("[A-Za-z0-9_]+")
"""What a field name, and so a filterable property key, consists of (use with fullmatch)."""

_TYPES = ", ".join(FieldType)


def normalize_kinds(specs: Iterable[KindSpec]) -> list[KindSpec]:
    """Each of ``specs`` normalised, in order. Raises InvalidKindError for the first bad one, or a kind given twice."""
    normalized: dict[str, KindSpec] = {}
    for spec in specs:
        kind = normalize_kind(spec)
        if kind.kind in normalized:
            raise InvalidKindError(f"kind {kind.kind!r} is given twice in one batch", field="kind")
        normalized[kind.kind] = kind
    return list(normalized.values())


def normalize_kind(spec: KindSpec) -> KindSpec:
    """``spec`` with name, description and field names trimmed, types as FieldType, and the operators its types allow.

    Raises InvalidKindError: blank kind, a field name that is blank, given twice, a core filter key or not of
    A-Z a-z 0-9 _, a missing or unknown type, a flag that is no boolean, text that cannot be stored, a context of properties
    that are no fields of the kind or of a radius beyond 0 to 10. ``field`` is ``kind``, ``description``, ``fields[i].name``
    and the like.
    """
    _require(spec, KindSpec, "kind spec")
    _require(spec.is_part, bool, "is_part")
    _require(spec.is_parent, bool, "is_parent")
    _require(spec.fields, (tuple, list), "fields")
    kind = _text("kind", spec.kind, max_bytes=MAX_NAME_BYTES)
    if not kind:
        raise InvalidKindError("kind is blank: give it a name", field="kind")
    fields: dict[str, FieldSpec] = {}
    for index, field in enumerate(spec.fields):
        normalized = _normalize_field(field, kind, f"fields[{index}]")
        if normalized.name in fields:
            raise InvalidKindError(
                f"kind {kind!r} has the field {normalized.name!r} twice", field=f"fields[{index}].name"
            )
        fields[normalized.name] = normalized
    return msgspec.structs.replace(
        spec,
        kind=kind,
        description=_text("description", spec.description),
        fields=tuple(fields.values()),
        lexical_context=_normalize_context(spec.lexical_context, fields, kind, "lexical_context"),
        embedding_context=_normalize_context(spec.embedding_context, fields, kind, "embedding_context"),
    )


def _normalize_context(context: ContextSpec, fields: Container[str], kind: str, where: str) -> ContextSpec:
    _require(context, ContextSpec, where)
    _require(context.parent_title, bool, f"{where}.parent_title")
    _require(context.date, bool, f"{where}.date")
    _require(context.properties, (tuple, list), f"{where}.properties")
    radius = context.sibling_radius
    if type(radius) is not int or not 0 <= radius <= MAX_SIBLING_RADIUS:
        raise InvalidKindError(
            f"sibling_radius must be an integer from 0 to {MAX_SIBLING_RADIUS}, not {radius!r}",
            field=f"{where}.sibling_radius",
        )
    names = tuple(_text(f"{where}.properties", name) for name in context.properties)
    if unknown := [name for name in names if name not in fields]:
        raise InvalidKindError(
            f"kind {kind!r} has no field {unknown[0]!r} to take into the index", field=f"{where}.properties"
        )
    names = tuple(dict.fromkeys(names))
    # Left as it is, a default is known as one when it is encoded, and left out.
    return context if names == context.properties else msgspec.structs.replace(context, properties=names)


def _normalize_field(field: FieldSpec, kind: str, where: str) -> FieldSpec:
    _require(field, FieldSpec, where)
    _require(field.required, bool, f"{where}.required")
    _require(field.examples, (tuple, list), f"{where}.examples")
    name = _text(f"{where}.name", field.name, max_bytes=MAX_NAME_BYTES)
    if not name:
        raise InvalidKindError(f"a field of kind {kind!r} has no name", field=f"{where}.name")
    if name in CORE_FILTER_KEYS:
        raise InvalidKindError(
            f"field {name!r} of kind {kind!r} is a core filter key already: rename it", field=f"{where}.name"
        )
    if not FIELD_NAME.fullmatch(name):
        raise InvalidKindError(
            f"field {name!r} of kind {kind!r} may consist of A-Z, a-z, 0-9 and _ only", field=f"{where}.name"
        )
    field_type = _field_type(field.type, name, kind, f"{where}.type")
    return msgspec.structs.replace(
        field,
        name=name,
        type=field_type,
        operators=("eq",) if field_type is FieldType.BOOLEAN else ("eq", "in"),
        description=_text(f"{where}.description", field.description),
        examples=tuple(_text(f"{where}.examples", example) for example in field.examples),
    )


def _field_type(given: object, name: str, kind: str, where: str) -> FieldType:
    if given is None or (isinstance(given, str) and not given):
        raise InvalidKindError(f"field {name!r} of kind {kind!r} has no type: give one of {_TYPES}", field=where)
    _require(given, str, where)
    for field_type in FieldType:
        if given == field_type:
            return field_type
    raise InvalidKindError(
        f"field {name!r} of kind {kind!r} has the unknown type {given!r}: give one of {_TYPES}", field=where
    )


def _text(field: str, text: str, *, max_bytes: int | None = None) -> str:
    try:
        check_text(field, text, max_bytes=max_bytes)
    except InvalidValueError as error:
        raise InvalidKindError(str(error), field=field) from None
    return text.strip()


def _require(value: object, expected: type | tuple[type, ...], what: str) -> None:
    if not isinstance(value, expected):
        names = " or ".join(one.__name__ for one in (expected if isinstance(expected, tuple) else (expected,)))
        raise InvalidKindError(f"{what} must be a {names}, not {type(value).__name__}", field=what)
