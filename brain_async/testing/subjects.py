"""What the checks are run on, and the objects that they put into it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid4

import numpy as np

from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphEdgeSearcher, GraphObjectSearcher, GraphReader, GraphWriter
from brain_async.ports.store import (
    KindReader,
    KindWriter,
    ObjectReader,
    ObjectWriter,
    PartSearcher,
    PassageReader,
    Vector,
)

__all__ = [
    "BASE_TIME",
    "CheckedEdges",
    "CheckedGraph",
    "CheckedKindStore",
    "CheckedPassages",
    "CheckedStore",
    "dimension_of",
    "direction",
    "family",
    "fresh_scope",
    "new_parent",
    "new_part",
    "put_all",
    "raises",
]

_E = TypeVar("_E", bound=Exception)

BASE_TIME = datetime(2026, 3, 1, 12, tzinfo=UTC)


class CheckedStore(ObjectReader, ObjectWriter, PartSearcher, Protocol):
    """A store that reads, writes and searches, and says the length of its embeddings (None: that of the first one)."""

    @property
    def dimension(self) -> int | None: ...


class CheckedPassages(CheckedStore, PassageReader, Protocol):
    """A store that also reads passages for rerankers."""


class CheckedKindStore(KindReader, KindWriter, Protocol):
    """A store that reads and writes kinds."""


class CheckedEdges(GraphReader, GraphWriter, GraphEdgeSearcher, Protocol):
    """A graph that has edges, whether or not it has nodes."""


class CheckedGraph(CheckedEdges, GraphObjectSearcher, Protocol):
    """A graph with everything, whose object search is ready, and that says the length of its embeddings."""

    @property
    def dimension(self) -> int | None: ...


def fresh_scope() -> Scope:
    """A namespace that nothing else uses."""
    return Scope(uuid4())


def dimension_of(subject: CheckedStore | CheckedGraph) -> int:
    """The length of embeddings to use: the subject's, or 8 while it has none. At least 2."""
    return subject.dimension or 8


def direction(dimension: int, degrees: float) -> Vector:
    """The unit vector at an angle from the first axis towards the second, shape (dimension,), float32."""
    vector = np.zeros(dimension, np.float32)
    vector[:2] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return vector


def new_parent(scope: Scope, **fields: Any) -> Object:
    """A first-class object of kind ``document``."""
    return _filled(scope, {"kind": "document", "title": "A document", **fields})


def new_part(scope: Scope, parent: Object | UUID, **fields: Any) -> Object:
    """A part of kind ``section``."""
    parent_id = parent.key if isinstance(parent, Object) else parent
    return _filled(scope, {"kind": "section", "parent_id": parent_id, **fields})


def family(scope: Scope, parts: Sequence[dict[str, Any]], **parent_fields: Any) -> tuple[Object, list[Object]]:
    """A parent and its parts, given by their fields."""
    parent = new_parent(scope, **parent_fields)
    return parent, [new_part(scope, parent, **{"position": n, **fields}) for n, fields in enumerate(parts)]


async def put_all(store: ObjectWriter, scope: Scope, *objects: Object) -> list[Object]:
    """Put them in one batch, and assert that all were stored."""
    results = await store.put_objects(scope, objects)
    refused = [result for result in results if not isinstance(result, Object)]
    assert not refused, f"put_objects refused valid objects: {refused[:3]}"
    assert [result.id for result in results if isinstance(result, Object)] == [obj.id for obj in objects], (
        "put_objects must return one result per input, in input order"
    )
    return [result for result in results if isinstance(result, Object)]


async def raises(error: type[_E], call: Awaitable[object]) -> _E:
    """The error that ``call`` raises, which must be of exactly this class."""
    try:
        result = await call
    except Exception as raised:
        if type(raised) is error:
            return raised
        raise
    raise AssertionError(f"expected {error.__name__}, got the result {result!r}")


def _filled(scope: Scope, fields: dict[str, Any]) -> Object:
    moment = fields.get("updated_at") or BASE_TIME
    defaults = {
        "id": uuid4(),
        "namespace_id": scope.namespace_id,
        "language": "english",
        "created_at": moment,
        "updated_at": moment,
    }
    embedding = fields.get("embedding")
    if isinstance(embedding, np.ndarray):
        fields = {**fields, "embedding": tuple(embedding.tolist())}
    return Object(**{**defaults, **fields})
