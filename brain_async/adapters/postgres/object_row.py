"""One object as the columns that are written, validated."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.postgres.vectors import storable_embedding
from brain_async.errors import InvalidValueError
from brain_async.model.object import Object
from brain_async.spelling import words_of
from brain_async.text import UNSTORABLE

__all__ = ["ObjectRow", "object_row"]

_INT64 = range(-(2**63), 2**63)


class ObjectRow(NamedTuple):
    """One object as columns of ``PUT_SQL``, in the order of its parameters; ``embedding`` beside them, no columns last."""

    id: UUID
    namespace_id: UUID | None
    parent_id: UUID | None
    position: int | None
    kind: str
    title: str
    summary: str
    content: str
    content_type: str
    properties: str
    lex: str | None
    lex_len: int
    terms: str
    embedding: NDArray[np.float32] | None
    embedding_model: str
    created_at: datetime
    updated_at: datetime
    language: str
    words: frozenset[str]
    index_context: str


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode_properties(obj: Object) -> str:
    try:
        text = _JSON.encode(obj.properties) if obj.properties else "{}"
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"properties of {obj.id} are not JSON: {error}", field="properties") from error
    # Either an escaped NUL, or a harmless backslash before "u0000": only reading it back tells.
    suspicious = "\\u0000" in text or UNSTORABLE.search(text)
    if suspicious and any(map(UNSTORABLE.search, _texts(json.loads(text)))):
        raise InvalidValueError(f"properties of {obj.id} hold NUL or a lone surrogate", field="properties")
    return text


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return list(chain.from_iterable(map(_texts, value)))
        case dict():
            return list(chain.from_iterable(map(_texts, chain(value, value.values()))))
        case _:
            return []


def _utc(obj: Object, field: str) -> datetime:
    value: datetime | None = getattr(obj, field)
    if value is None or value.tzinfo is None:
        raise InvalidValueError(f"{field} of {obj.id} must be set and aware", field=field)
    return value.astimezone(UTC)


_TEXT_FIELDS = ("kind", "title", "summary", "content", "content_type", "language", "embedding_model")


def object_row(obj: Object, dimension: int) -> ObjectRow:
    """``obj`` as it is stored, its terms still to come. Raises InvalidValueError for what Postgres cannot hold."""
    texts = (obj.kind, obj.title, obj.summary, obj.content, obj.content_type, obj.language, obj.embedding_model)
    if UNSTORABLE.search("".join(texts)):
        field = next(name for name, text in zip(_TEXT_FIELDS, texts, strict=True) if UNSTORABLE.search(text))
        raise InvalidValueError(f"{field} of {obj.id} holds NUL or a lone surrogate", field=field)
    if obj.position is not None and obj.position not in _INT64:
        raise InvalidValueError(f"position of {obj.id} is beyond 64 bits", field="position")
    return ObjectRow(
        id=obj.key,
        namespace_id=obj.namespace_id,
        parent_id=obj.parent_id,
        position=obj.position,
        kind=obj.kind,
        title=obj.title,
        summary=obj.summary,
        content=obj.content,
        content_type=obj.content_type,
        properties=_encode_properties(obj),
        lex=None,
        lex_len=0,
        terms="",
        embedding=None if obj.embedding is None else storable_embedding(obj.embedding, dimension),
        embedding_model=obj.embedding_model,
        created_at=_utc(obj, "created_at"),
        updated_at=_utc(obj, "updated_at"),
        language=obj.language,
        words=frozenset() if obj.is_part else words_of(obj),  # a part is analysed later
        index_context=obj.index_context,
    )
