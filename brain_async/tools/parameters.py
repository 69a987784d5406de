"""Parameters of tools: the JSON Schema a model is told, and the reading of what it sends, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from brain_async.model.object import NIL_UUID
from brain_async.tools.failure import RefusalError

__all__ = [
    "ID",
    "INTEGER",
    "NUMBER",
    "Parameter",
    "Shape",
    "choice",
    "ids",
    "object_schema",
    "read_arguments",
    "shown",
    "text",
    "texts",
    "wrong_type",
]

MAX_LIST = 1000
"""Items of a list argument."""

_SHOWN = 64
_HYPHENATED = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# UUID() alone takes digits of any script and hyphens anywhere.
_UUID = re.compile(
    rf"{_HYPHENATED}|\{{{_HYPHENATED}\}}|urn:uuid:{_HYPHENATED}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII
)


class Shape(msgspec.Struct, frozen=True):
    """What values a parameter takes.

    ``read(value, path)`` gives the value as the engine takes it. It raises RefusalError, which names ``path``.
    """

    schema: Mapping[str, Any]
    read: Callable[[object, str], Any]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a tool. Left out or null, it is not passed on."""

    name: str
    description: str
    shape: Shape
    required: bool = False


def object_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties, and no others."""
    return {
        "type": "object",
        "properties": {each.name: {**each.shape.schema, "description": each.description} for each in parameters},
        "required": [each.name for each in parameters if each.required],
        "additionalProperties": False,
    }


def read_arguments(parameters: Sequence[Parameter], arguments: Mapping[Any, object]) -> dict[str, Any]:
    """The arguments given, each read. Raises RefusalError for the first one that is unknown, wrong or missing."""
    known = {each.name: each for each in parameters}
    for name in arguments:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise RefusalError(
                "unknown_argument", f"there is no argument {shown(name)}", argument=str(name)[:_SHOWN], hint=takes
            )
    values: dict[str, Any] = {}
    for each in parameters:
        given = arguments.get(each.name)
        if given is not None:
            values[each.name] = _read(each, given)
        elif each.required:
            raise RefusalError("missing_argument", f"{each.name} is required", argument=each.name, hint=_right(each))
    return values


def _read(parameter: Parameter, given: object) -> Any:
    try:
        return parameter.shape.read(given, parameter.name)
    except RefusalError as refusal:
        if not refusal.hint:
            refusal.hint = _right(parameter)
        raise


def _right(parameter: Parameter) -> str:
    return f"{parameter.name}: {parameter.description}"


def text(*, most: int, required: bool = False, trim: bool = True) -> Shape:
    """Text of at most ``most`` characters; not blank where it is required."""

    def read(value: object, path: str) -> str:
        if not isinstance(value, str):
            raise wrong_type(path, "text", value)
        if len(value) > most:
            raise RefusalError(
                "too_long", f"{path} has {len(value):,} characters, at most {most:,} are taken", argument=path
            )
        if required and not value.strip():
            raise RefusalError("missing_argument", f"{path} is blank", argument=path)
        return value.strip() if trim else value

    return Shape({"type": "string"}, read)


def choice(*values: str) -> Shape:
    """One of ``values``, in any case."""

    def read(value: object, path: str) -> str:
        found = value.strip().lower() if isinstance(value, str) else value
        if found not in values:
            raise RefusalError(
                "invalid_choice", f"{path} is {shown(value)}", argument=path, hint=f"use one of {', '.join(values)}"
            )
        return str(found)

    return Shape({"type": "string", "enum": list(values)}, read)


def texts(*, most: int = MAX_LIST, each: int = 256, known: Sequence[str] = ()) -> Shape:
    """A list of texts, blank ones dropped. ``known`` are the values a model is told of; others go on to the engine."""
    return _list(text(most=each), most, {"type": "string", "enum": list(known)} if known else {"type": "string"})


def ids(*, most: int = MAX_LIST) -> Shape:
    """A list of ids; blank items are skipped."""
    return _list(ID, most, ID.schema)


def _list(item: Shape, most: int, item_schema: Mapping[str, Any]) -> Shape:
    def read(value: object, path: str) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise wrong_type(path, "a list", value)
        if len(value) > most:
            raise RefusalError(
                "too_long", f"{path} has {len(value):,} items, at most {most:,} are taken", argument=path
            )
        return [
            item.read(each, f"{path}[{index}]")
            for index, each in enumerate(value)
            if not (isinstance(each, str) and not each.strip())
        ]

    return Shape({"type": "array", "items": dict(item_schema)}, read)


def _read_id(value: object, path: str) -> UUID:
    if not isinstance(value, str):
        raise wrong_type(path, "a UUID as text", value)
    trimmed = value.strip()
    if not trimmed:
        raise RefusalError("missing_argument", f"{path} is blank", argument=path)
    found = UUID(trimmed.lower()) if _UUID.fullmatch(trimmed) else None
    if found is None or found == NIL_UUID:
        problem = f"is not a UUID: {shown(value)}" if found is None else "is the nil UUID"
        raise RefusalError(
            "invalid_id", f"{path} {problem}", argument=path, hint="use an id exactly as a result gave it"
        )
    return found


def _read_integer(value: object, path: str) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(path, "a whole number", value)
    return value


def _read_number(value: object, path: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(path, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise RefusalError("invalid_value", f"{path} is too large", argument=path) from None


ID = Shape({"type": "string"}, _read_id)
INTEGER = Shape({"type": "integer"}, _read_integer)
NUMBER = Shape({"type": "number"}, _read_number)


def wrong_type(path: str, expected: str, value: object) -> RefusalError:
    """The refusal of a value of another type than JSON's ``expected``."""
    return RefusalError("wrong_type", f"{path} must be {expected}, not {_type_name(value)}", argument=path)


def shown(value: object) -> str:
    """A value as an error quotes it: short, and in ASCII."""
    quoted = ascii(value)
    return quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}..."


def _type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
    return f"a {type(value).__name__}"
