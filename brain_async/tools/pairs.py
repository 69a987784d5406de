"""Filters and properties: mappings with keys a schema cannot know, which strict modes want written as lists of pairs.

A model is told the list; a plain JSON object is read as well, since models that are not held to the schema write that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brain_async.model.kind import CORE_FILTER_KEYS, FieldSpec, FieldType, KindSpec
from brain_async.tools.failure import RefusalError
from brain_async.tools.parameters import Shape, shown, wrong_type

__all__ = ["filters", "properties"]

MAX_PAIRS = 200
MAX_TOLD_KEYS = 200
"""Where the kinds have more fields than this together, the schema does not list them."""

_SCALARS: list[dict[str, Any]] = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]
_VALUE: dict[str, Any] = {"anyOf": [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}}]}
_FIELD_SCHEMAS: dict[str, dict[str, Any]] = {
    FieldType.STRING: {"type": "string"},
    FieldType.NUMBER: {"type": "number"},
    FieldType.BOOLEAN: {"type": "boolean"},
    FieldType.DATETIME: {"type": "string"},
}


def filters(kinds: Sequence[KindSpec]) -> Shape:
    """Filters over the registered kinds; with none registered, any key."""
    keys = list(dict.fromkeys([*CORE_FILTER_KEYS, *(field.name for spec in kinds for field in spec.fields)]))
    told = keys if kinds and len(keys) <= MAX_TOLD_KEYS else ()
    return _pairs("key", told)


def properties(spec: KindSpec | None) -> Shape:
    """The properties of a kind: an object of its fields; without a spec, pairs of any name."""
    pairs = _pairs("name", ())

    def read(value: object, path: str) -> dict[str, Any]:
        # A null says that there is no such property.
        return {name: each for name, each in pairs.read(value, path).items() if each is not None}

    if spec is None:
        return Shape(pairs.schema, read)
    schema = {
        "type": "object",
        "properties": {
            field.name: {**_FIELD_SCHEMAS[str(field.type)], "description": _described(field)} for field in spec.fields
        },
        "required": [field.name for field in spec.fields if field.required],
        "additionalProperties": False,
    }
    return Shape(schema, read)


def _described(field: FieldSpec) -> str:
    words = [field.description.rstrip(".")] if field.description else []
    if field.type == FieldType.DATETIME:
        words.append("2026-08-09T00:00:00Z or 2026-08-09")
    if field.examples:
        words.append(f"such as {', '.join(field.examples)}")
    return "; ".join(words) or field.name


def _pairs(name: str, told: Sequence[str]) -> Shape:
    """A list of ``{name: text, "value": ...}``, or one object, read as a dict."""

    def read(value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, (Mapping, list, tuple)):
            raise wrong_type(path, f"a list of objects with {name} and value", value)
        if len(value) > MAX_PAIRS:
            raise RefusalError(
                "too_long", f"{path} has {len(value):,} entries, at most {MAX_PAIRS} are taken", argument=path
            )
        if isinstance(value, Mapping):
            entries = [(key, each, path) for key, each in value.items()]
        else:
            entries = [(*_pair(each, f"{path}[{index}]"), f"{path}[{index}]") for index, each in enumerate(value)]
        found: dict[str, Any] = {}
        for key, each, where in entries:
            if not isinstance(key, str):
                raise wrong_type(f"{where}.{name}", "text", key)
            if key in found:
                raise RefusalError(
                    "given_twice",
                    f"{where} gives {shown(key)} a second time",
                    argument=where,
                    hint="give every name once; as a filter, put all values that are accepted into one list",
                )
            found[key] = each
        return found

    def _pair(item: object, where: str) -> tuple[object, object]:
        if not isinstance(item, Mapping):
            raise wrong_type(where, f"an object with {name} and value", item)
        for field in item:
            if field not in (name, "value"):
                raise RefusalError(
                    "unknown_argument", f"{where} has no {shown(field)}", argument=where, hint=f"give {name} and value"
                )
        for field in (name, "value"):
            if field not in item:
                raise RefusalError(
                    "missing_argument", f"{where} lacks {field}", argument=where, hint=f"give {name} and value"
                )
        return item[name], item["value"]

    key_schema: dict[str, Any] = {"type": "string", "enum": list(told)} if told else {"type": "string"}
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {name: key_schema, "value": _VALUE},
            "required": [name, "value"],
            "additionalProperties": False,
        },
    }
    return Shape(schema, read)
