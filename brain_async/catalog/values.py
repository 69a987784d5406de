"""What no backend could keep is refused here, before any write: the same rules whatever the store.

NUL and lone surrogates in text, non-finite numbers, integers beyond signed 64 bit, property values that are not JSON,
oversize, naive datetimes. Runs once per object of a bulk load, so the usual object costs a few microseconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from brain_async.errors import InvalidValueError
from brain_async.languages import SIMPLE, known_language
from brain_async.model.instant import to_utc
from brain_async.model.object import Object
from brain_async.model.relation import EdgeMeta, canonical_relation_type

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_INTEGER",
    "MAX_NAME_BYTES",
    "MAX_NOTE_BYTES",
    "MAX_POSITION",
    "MAX_PROPERTIES_BYTES",
    "MAX_PROPERTY_DEPTH",
    "MAX_RELATION_TYPE_CHARS",
    "MAX_TITLE_BYTES",
    "MIN_INTEGER",
    "MIN_POSITION",
    "check_edge_meta",
    "check_object_values",
    "check_relation_type",
    "check_text",
]

MAX_CONTENT_BYTES = 16 * 1024 * 1024
MAX_TITLE_BYTES = 64 * 1024
"""Of a title, and of a summary, in UTF-8."""
MAX_NOTE_BYTES = 64 * 1024
MAX_NAME_BYTES = 1024
"""Of a kind, content type, embedding model, link status or link role, in UTF-8: they are indexed whole."""
MAX_RELATION_TYPE_CHARS = 256
MAX_PROPERTIES_BYTES = 1024 * 1024
"""Of all properties together, as JSON in UTF-8."""
MAX_PROPERTY_DEPTH = 64
"""Nested dicts and lists, the properties themselves being the first."""
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
MIN_POSITION, MAX_POSITION = -(2**31), 2**31 - 1

_TEXT_FIELDS = {
    "kind": MAX_NAME_BYTES,
    "title": MAX_TITLE_BYTES,
    "summary": MAX_TITLE_BYTES,
    "content": MAX_CONTENT_BYTES,
    "index_context": MAX_CONTENT_BYTES,
    "content_type": MAX_NAME_BYTES,
    "embedding_model": MAX_NAME_BYTES,
}

_MAX_NORM = 3.4028235e38  # float32, the element type of every vector index
_MIN_NORM = 1.1754944e-38

_SHOWN_KEY_CHARS = 64
_PLAIN_KEY = re.compile(r"[\w-]+")

_encode_json = msgspec.json.Encoder().encode


def check_text(field: str, text: str, *, max_bytes: int | None = None) -> None:
    """Raises InvalidValueError naming ``field`` when ``text`` holds a NUL or a lone surrogate, or is too long in UTF-8."""
    _require_type(field, text, str)
    if problem := _text_problem(text):
        raise InvalidValueError(f"{field} {problem}", field=field)
    if max_bytes is not None and len(text) * 4 > max_bytes and len(text.encode()) > max_bytes:
        raise InvalidValueError(f"{field} is longer than {max_bytes:,} bytes of UTF-8: shorten it", field=field)


def check_relation_type(label: str) -> None:
    """Raises InvalidValueError when a relation label is not storable text of at most 256 characters."""
    check_text("relation_type", label)
    if len(canonical_relation_type(label)) > MAX_RELATION_TYPE_CHARS:
        raise InvalidValueError(
            f"relation_type is longer than {MAX_RELATION_TYPE_CHARS} characters: use a short label and put text in the note",
            field="relation_type",
        )


def check_edge_meta(meta: EdgeMeta) -> EdgeMeta:
    """``meta`` with its times in UTC.

    Raises InvalidValueError naming the field: unstorable or overlong text, a confidence that is not a finite number, a
    naive time.
    """
    _check_id("evidence_id", meta.evidence_id)
    return msgspec.structs.replace(
        meta,
        note=_checked_text("note", meta.note, max_bytes=MAX_NOTE_BYTES),
        status=_checked_text("status", meta.status, max_bytes=MAX_NAME_BYTES),
        role=_checked_text("role", meta.role, max_bytes=MAX_NAME_BYTES),
        confidence=_checked_confidence(meta.confidence),
        created_at=_checked_time("created_at", meta.created_at),
        updated_at=_checked_time("updated_at", meta.updated_at),
    )


def check_object_values(obj: Object) -> Object:
    """``obj`` with its times in UTC, its embedding as a tuple of floats, and enums and other kinds of text as plain text.

    Raises InvalidValueError whose ``field`` names what cannot be stored (``properties.a[2].b`` for nested properties)
    and whose message gives the limit: text with NUL or lone surrogates, title or summary above 64 KiB, content or
    index_context above 16 MiB, kind, content_type or embedding_model above 1 KiB (UTF-8), a language that is not known,
    properties that are not JSON, above 1 MiB or nested deeper than 64, a position beyond signed 32 bit, an empty, all-zero or
    non-finite embedding, a naive datetime. It says nothing about what the kind requires; see ``validate_object``.
    """
    checked: dict[str, Any] = {
        field: _checked_text(field, getattr(obj, field), max_bytes=max_bytes)
        for field, max_bytes in _TEXT_FIELDS.items()
    }
    _check_id("id", obj.id)
    _check_id("parent_id", obj.parent_id)
    _check_id("namespace_id", obj.namespace_id)
    _check_properties(obj.properties)
    checked |= {
        "language": _checked_language(obj.language),
        "position": _checked_position(obj.position),
        "embedding": _checked_embedding(obj.embedding),
        "created_at": _checked_time("created_at", obj.created_at),
        "updated_at": _checked_time("updated_at", obj.updated_at),
        "deleted_at": _checked_time("deleted_at", obj.deleted_at),
    }
    changed = any(value is not getattr(obj, field) for field, value in checked.items())
    return msgspec.structs.replace(obj, **checked) if changed else obj


def _checked_text(field: str, text: str, *, max_bytes: int) -> str:
    """``text`` as exactly a str: formatting shows an enum by name, not every subclass is JSON. Raises as ``check_text``."""
    check_text(field, text, max_bytes=max_bytes)
    return str.__str__(text)


def _require_type(field: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise InvalidValueError(f"{field} must be a {expected.__name__}, not {type(value).__name__}", field=field)


def _text_problem(text: str) -> str:
    """What makes ``text`` unstorable, as the end of a sentence; empty when nothing does."""
    if "\x00" in text:
        return "holds a NUL character (U+0000): remove it"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds a lone surrogate, which UTF-8 cannot carry: remove it"
    return ""


def _check_id(field: str, value: object) -> None:
    if value is not None:
        _require_type(field, value, UUID)


def _checked_language(language: str) -> str:
    _require_type("language", language, str)
    if not language:
        return ""
    known = known_language(language)
    if known is None:
        raise InvalidValueError(
            f"language {language[:_SHOWN_KEY_CHARS]!a} is not known: use a name or an ISO 639-1 code of a language that"
            f" can be stemmed, or {SIMPLE!r}",
            field="language",
        )
    return known


def _checked_position(position: object) -> int | None:
    if position is None:
        return None
    if not isinstance(position, int) or isinstance(position, bool) or not MIN_POSITION <= position <= MAX_POSITION:
        raise InvalidValueError("position must be an integer of signed 32 bit", field="position")
    return position if type(position) is int else int(position)


def _checked_confidence(confidence: object) -> float:
    if isinstance(confidence, (int, float)) and not isinstance(confidence, bool):
        try:
            if math.isfinite(confidence):
                return float(confidence)
        except OverflowError:  # an integer too large for any float
            pass
    raise InvalidValueError("confidence must be a finite number", field="confidence")


def _checked_time(field: str, moment: datetime | None) -> datetime | None:
    if moment is None or (type(moment) is datetime and moment.tzinfo is UTC):
        return moment
    _require_type(field, moment, datetime)
    try:
        return to_utc(moment)
    except ValueError as error:
        raise InvalidValueError(f"{field} cannot be stored: {error}", field=field) from None


def _checked_embedding(embedding: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if embedding is None:
        return None
    try:
        # One pass at C speed: the norm is nan or inf as soon as one element is. It refuses text, which float() would read.
        norm = math.hypot(*embedding)
        if type(embedding) is not tuple or set(map(type, embedding)) != {float}:
            embedding = tuple(map(float, embedding))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError("embedding must be a sequence of floats, shape (dim,)", field="embedding") from None
    if not norm <= _MAX_NORM:
        raise InvalidValueError("embedding must be finite in 32-bit floats", field="embedding")
    if norm < _MIN_NORM:
        raise InvalidValueError("embedding is empty or all zero: leave it None instead", field="embedding")
    return embedding


def _check_properties(properties: object) -> None:
    """A walk without recursion; a path is put together only for the message of a refusal."""
    if type(properties) is not dict:
        _refuse(("properties",), "must be a dict with string keys")
    # Every entry takes two bytes of JSON at least, so this also bounds the walk through lists that repeat one another.
    budget = MAX_PROPERTIES_BYTES
    stack: list[tuple[Any, tuple[Any, ...]]] = [(properties, ("properties",))]
    while stack:
        container, path = stack.pop()
        is_dict = type(container) is dict
        budget -= 2 * len(container)
        if budget < 0:
            break
        entries: Iterable[tuple[Any, Any]] = container.items() if is_dict else enumerate(container)
        for key, value in entries:
            if is_dict:
                if type(key) is not str:
                    _refuse(path, f"has a key that is a {type(key).__name__}: keys must be strings")
                if problem := _text_problem(key):
                    _refuse(path, f"has the key {key[:_SHOWN_KEY_CHARS]!a}, which {problem}")
                budget -= len(key)
            kind = type(value)
            if kind is str:
                if problem := _text_problem(value):
                    _refuse((*path, key), problem)
                budget -= len(value)
            elif kind is int:
                if not MIN_INTEGER <= value <= MAX_INTEGER:
                    _refuse((*path, key), "is an integer beyond signed 64 bit: store it as text")
            elif kind is float:
                if not math.isfinite(value):
                    _refuse((*path, key), f"is {value}, which JSON cannot carry: use None")
            elif kind is dict or kind is list:
                if len(path) == MAX_PROPERTY_DEPTH:
                    _refuse((*path, key), f"is nested deeper than {MAX_PROPERTY_DEPTH} levels")
                stack.append((value, (*path, key)))
            elif value is not None and kind is not bool:
                _refuse(
                    (*path, key), f"is a {kind.__name__}: give a JSON value (str, int, float, bool, None, list, dict)"
                )
    if budget < 0 or len(_encode_json(properties)) > MAX_PROPERTIES_BYTES:
        _refuse(("properties",), f"are larger than {MAX_PROPERTIES_BYTES:,} bytes of JSON: put long text in content")


def _refuse(path: tuple[Any, ...], problem: str) -> NoReturn:
    field = str(path[0]) + "".join(_step(step) for step in path[1:])
    raise InvalidValueError(f"{field} {problem}", field=field)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    shown = step[:_SHOWN_KEY_CHARS]
    return f".{shown}" if _PLAIN_KEY.fullmatch(shown) else f"[{shown!a}]"
