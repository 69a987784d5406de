"""Validation of an object against the rules that hold for all, and against its registered kind."""

from __future__ import annotations

from brain_async.catalog.field_types import fits
from brain_async.catalog.registry import KindCatalog
from brain_async.errors import InvalidObjectError, NamespaceRequiredError
from brain_async.model.kind import KindSpec
from brain_async.model.object import NIL_UUID, Object

__all__ = ["validate_object"]


def validate_object(obj: Object, catalog: KindCatalog) -> None:
    """Whether ``put`` would take ``obj``; the catalog adds rules only when it is not empty.

    For all: a non-blank kind, a namespace, a parent_id that is not nil. With kinds registered: the kind is one of them
    (exact spelling); a parent-only kind has no parent_id and a part-only kind has one; required properties are present and
    not null; null properties are skipped; no property is unknown, and each is of its field's type (datetimes as RFC
    3339 text or YYYY-MM-DD). Values that no backend could store are ``check_object_values``'s matter.

    Raises InvalidObjectError naming the field (``kind``, ``parent_id``, ``properties.x``), and NamespaceRequiredError.
    """
    if not obj.kind.strip():
        raise InvalidObjectError("kind is required: give the object a kind", field="kind")
    if obj.namespace_id is None or obj.namespace_id == NIL_UUID:
        raise NamespaceRequiredError("namespace is required: set namespace_id on the object, or put it under a Scope")
    if obj.parent_id == NIL_UUID:
        raise InvalidObjectError("parent_id must not be the nil UUID: leave it None", field="parent_id")
    if not catalog:
        return
    spec = catalog.get(obj.kind)
    if spec is None:
        known = ", ".join(kind.kind for kind in catalog.kinds)
        raise InvalidObjectError(f"kind {obj.kind!r} is not registered: use one of {known}", field="kind")
    _check_place(obj, spec)
    _check_properties(obj, spec, catalog)


def _check_place(obj: Object, spec: KindSpec) -> None:
    if spec.is_parent and not spec.is_part and obj.is_part:
        raise InvalidObjectError(f"kind {spec.kind!r} is for parents: leave parent_id unset", field="parent_id")
    if spec.is_part and not spec.is_parent and not obj.is_part:
        raise InvalidObjectError(f"kind {spec.kind!r} is for parts: set parent_id", field="parent_id")


def _check_properties(obj: Object, spec: KindSpec, catalog: KindCatalog) -> None:
    for field in spec.fields:
        if field.required and obj.properties.get(field.name) is None:
            raise InvalidObjectError(
                f"property {field.name!r} is required by kind {spec.kind!r}", field=f"properties.{field.name}"
            )
    fields = catalog.fields_of(spec.kind)
    for name, value in obj.properties.items():
        if value is None:
            continue
        if name not in fields:
            raise InvalidObjectError(
                f"kind {spec.kind!r} has no property {name!r}: use one of {', '.join(fields) or 'none'}",
                field=f"properties.{name}",
            )
        if not fits(fields[name].type, value):
            raise InvalidObjectError(
                f"property {name!r} of kind {spec.kind!r} takes a {fields[name].type}, not a {type(value).__name__}",
                field=f"properties.{name}",
            )
