"""URIs of objects: ``brain://<kind>/<uuid>``."""

from __future__ import annotations

from urllib.parse import quote, unquote
from uuid import UUID

from brain_async.errors import InvalidValueError, ObjectIdRequiredError
from brain_async.model.object import NIL_UUID

__all__ = ["format_uri", "parse_uri"]

_SCHEME = "brain://"


def format_uri(kind: str, object_id: UUID) -> str:
    """The URI of an object; what a kind has beside letters, digits and ``_.-~`` is percent-encoded."""
    if not kind.strip():
        raise InvalidValueError("kind must not be blank in a URI", field="kind")
    return f"{_SCHEME}{quote(kind, safe='')}/{object_id}"


def parse_uri(uri: str) -> tuple[str, UUID]:
    """(kind, id). Raises InvalidValueError when it is no such URI, ObjectIdRequiredError for the nil UUID."""
    kind, slash, text = uri.removeprefix(_SCHEME).partition("/")
    try:
        object_id = UUID(text)
        name = unquote(kind, errors="strict")
    except ValueError:
        object_id, name = NIL_UUID, ""
    if not uri.startswith(_SCHEME) or not slash or not name.strip() or str(object_id) != text.lower():
        raise InvalidValueError(f"{uri!r} is no URI of an object: it has the form brain://<kind>/<uuid>", field="uri")
    if object_id == NIL_UUID:
        raise ObjectIdRequiredError("uri")
    return name, object_id
