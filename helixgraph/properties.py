"""Names and values of node and edge properties.

A node's own fields have fixed names; the host's properties are kept in one nested map, ``properties``, so that a property
called namespace_id or embedding never touches the node's own, and replacing the map removes what the object no longer
has. Properties that the host wants indexed are kept a second time, as ``p_<name>``. Times are integers, microseconds
since 1970, because the engine's own DateTime keeps milliseconds only.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from brain_async.analysis import plain_terms
from brain_async.model.filters import FilterValue, number_key
from brain_async.model.instant import to_utc
from brain_async.model.scope import Scope

__all__ = [
    "EDGE_FIELDS",
    "LABEL",
    "MAX_QUERY_TERMS",
    "NODE_FIELDS",
    "RELATION_LABEL",
    "UNSET_TIME",
    "filter_values",
    "index_key",
    "index_name",
    "index_words",
    "micros",
    "moment",
    "namespace_of",
    "namespace_value",
    "property_map",
    "property_path",
    "query_words",
    "scoped",
    "tagged",
]

LABEL: Final = "Object"
RELATION_LABEL: Final = "RelationType"
"""Of the nodes that name, each, a label that edges have."""

NODE_FIELDS: Final = (
    "namespace_id",
    "kind",
    "title",
    "summary",
    "search_text",
    "properties",
    "position",
    "created_at",
    "updated_at",
    "scan_key",
)
"""What every node has beside object_id (and embedding, where the object has one). A node with object_id alone stands for an
end of an edge whose object was not ensured: it belongs to nobody and is never found by a search."""

EDGE_FIELDS: Final = ("namespace_id", "note", "status", "role", "confidence", "evidence_id", "updated_at")
"""What every edge has beside ends, created_at and (with a note) search_text."""

UNSET_TIME: Final = -(2**62)
MAX_QUERY_TERMS: Final = 256

_MAX_KEY_CHARS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(at: datetime | None) -> int:
    """Microseconds since 1970; ``UNSET_TIME`` for None, which is before every time."""
    return UNSET_TIME if at is None else (to_utc(at) - _EPOCH) // _MICROSECOND


def moment(value: object) -> datetime | None:
    """The inverse of ``micros``."""
    return _EPOCH + timedelta(microseconds=value) if isinstance(value, int) and value != UNSET_TIME else None


def namespace_value(namespace_id: UUID | None) -> str:
    """How a namespace is kept: "" for none, since an index by namespace takes no null."""
    return "" if namespace_id is None else str(namespace_id)


def namespace_of(value: object) -> UUID | None:
    """The inverse of ``namespace_value``."""
    return UUID(value) if isinstance(value, str) and value else None


def scoped(scope: Scope) -> dict[str, str]:
    """The parameter by which a query is kept to a namespace; none for an unrestricted scope."""
    return {} if scope.namespace_id is None else {"namespace_id": namespace_value(scope.namespace_id)}


def tagged(value: object) -> str | None:
    """A scalar as text that is equal exactly when type and value are: 1 and 1.0 are one number, "1" and True are others.

    None for what no filter matches: null, lists and maps.
    """
    match value:
        case bool(flag):
            return "b:true" if flag else "b:false"
        case str(text):
            return f"s:{text}"
        case int() | float():
            number = number_key(value).normalize()  # 64 bit integers and floats have fewer digits than it keeps
            return f"n:{number}" if number else "n:0"
        case _:
            return None


def property_path(key: str) -> str:
    """The path of the host's property ``key``: what would be read as a path separator is escaped."""
    return f"properties.{_escaped(key)}"


def property_map(properties: Mapping[str, Any]) -> dict[str, str]:
    """The host's scalar properties as they are kept, by escaped name."""
    found = ((_escaped(key), tagged(value)) for key, value in properties.items())
    return {key: value for key, value in found if value is not None}


def filter_values(values: tuple[FilterValue, ...]) -> list[str]:
    """The kept forms that a property filter accepts."""
    return [text for value in values if (text := tagged(value)) is not None]


def index_name(key: str) -> str:
    """The node property that holds the ``index_key`` of an indexed property."""
    return f"p_{_escaped(key)}"


def index_key(kept: str | None) -> str:
    """What an index holds of a kept value, "" of none: long ones by their digest, since an index takes 64 KB at most."""
    if kept is None:
        return ""
    return kept if len(kept) <= _MAX_KEY_CHARS else f"h:{sha256(kept.encode()).hexdigest()}"


def index_words(text: str) -> str:
    """``text`` as it is indexed: its plain terms, which the engine then only splits at blanks."""
    return " ".join(plain_terms(text))


def query_words(query: str) -> str:
    """A query in the form of ``index_words``: distinct terms, at most ``MAX_QUERY_TERMS``; "" when it has none."""
    return " ".join(list(dict.fromkeys(plain_terms(query)))[:MAX_QUERY_TERMS])


def _escaped(key: str) -> str:
    return key.replace("%", "%25").replace(".", "%2E").replace("$", "%24") or "%"
