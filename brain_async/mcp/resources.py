"""Objects as MCP resources: ``brain://<kind>/<id>``, the kind percent-encoded."""

from __future__ import annotations

from urllib.parse import quote, unquote
from uuid import UUID

__all__ = ["URI_TEMPLATE", "parse_uri", "resource_uri"]

URI_TEMPLATE = "brain://{kind}/{id}"
_SCHEME = "brain://"


def resource_uri(kind: str, object_id: UUID | str) -> str:
    """The address of an object."""
    return f"{_SCHEME}{quote(kind, safe='')}/{object_id}"


def parse_uri(uri: str) -> tuple[str, str] | None:
    """(kind, id as text) of an object's address; None when it is none."""
    if not uri.startswith(_SCHEME):
        return None
    kind, separator, object_id = uri.removeprefix(_SCHEME).partition("/")
    return (unquote(kind), object_id) if kind and separator and object_id else None
