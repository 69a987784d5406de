"""Ports of the object store: objects, kinds, and the search channels over parts.

Every method takes the scope and shows or touches nothing outside it. Every method raises BackendError (BackendTimeoutError,
PoolExhaustedError) for its backend's failures, with the driver's error as the cause, and nothing else but what it names.
Cancelling any call leaves the backend usable; a cancelled write happened entirely or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.config import ChannelName
from brain_async.errors import BrainError
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.kind import KindSpec
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = [
    "PASSAGE_CHARS",
    "FusedSearcher",
    "Hydration",
    "KindReader",
    "KindWriter",
    "ObjectReader",
    "ObjectWriter",
    "PartSearcher",
    "PassageReader",
    "Vector",
]

PASSAGE_CHARS = 4_000
"""Characters of a passage's content that a reranker gets to see."""

Vector = NDArray[np.float32]
"""Shape (dim,), float32, finite, not all zero."""


class Hydration(msgspec.Struct, frozen=True):
    """What one page needs of the store, read in one statement. Invisible ids are absent.

    ``objects`` hold everything but content and embedding; ``parts`` hold id, title, position, parent_id and the first 512
    characters of their content after leading white space, enough for a snippet.
    """

    objects: Mapping[UUID, Object]
    parts: Mapping[UUID, Object]


@runtime_checkable
class ObjectReader(Protocol):
    """Reads live objects. Deleted, foreign and unknown ids are all simply absent."""

    async def get(self, scope: Scope, object_id: UUID) -> Object | None:
        """The object with its content (embedding left out), or None."""
        ...

    async def get_many(self, scope: Scope, object_ids: Sequence[UUID]) -> Sequence[Object]:
        """The visible ones without content and embedding, in the order asked, each once. Any number of ids."""
        ...

    async def hydrate(self, scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID] = ()) -> Hydration:
        """Objects for a page and parts for its evidence."""
        ...

    async def list_children(
        self, scope: Scope, parent_ids: Sequence[UUID], *, limit: int | None = None
    ) -> Mapping[UUID, Sequence[Object]]:
        """Live parts of each parent, without content: position ascending, None last, then id; at most ``limit`` each.

        A parent without visible parts has an empty sequence. Whether the parent itself is visible is not checked.
        """
        ...

    async def scan(self, scope: Scope, *, first_class: bool, after: UUID | None, limit: int) -> Sequence[Object]:
        """The next ``limit`` live objects by ascending id after ``after``, with content (2,000 characters at least) and
        embedding: only those without parent_id when ``first_class``, only parts otherwise. For rebuilding projections."""
        ...


@runtime_checkable
class PassageReader(Protocol):
    """Reads what rerankers judge by: the contents or the embeddings of many objects, in one statement."""

    async def read_passages(
        self, scope: Scope, object_ids: Sequence[UUID], *, content: bool, embedding: bool
    ) -> Mapping[UUID, Object]:
        """The visible ones by id, parts and first-class objects alike; any number of ids.

        Each has its id, title, summary and parent_id, with ``content`` the first 4,000 characters of its content, and
        with ``embedding`` its embedding as stored, None where it has none; nothing else is filled in.
        """
        ...


@runtime_checkable
class ObjectWriter(Protocol):
    """Writes objects that the engine has filled in and validated: id, kind, namespace_id, created_at, updated_at are set."""

    async def put_objects(self, scope: Scope, objects: Sequence[Object]) -> Sequence[Object | BrainError]:
        """Insert or replace each by id, in one transaction; one result per input, in input order.

        The stored object (created_at of the first put kept, deleted_at cleared, index_context and embedding left out), or
        the error that kept this one out while its neighbours were stored: NamespaceMismatchError when the id is owned by
        another namespace, ParentNotFirstClassError when parent_id is not a live first-class object of the same namespace (or
        of this batch), also when an object that has parts would become a part; InvalidValueError when an id comes twice in
        the batch (the first is stored). Raises DimensionMismatchError, before any write, for a wrong embedding length.
        Writes lock rows in ascending id order, so that concurrent batches never deadlock.
        """
        ...

    async def soft_delete(self, scope: Scope, object_id: UUID, *, at: datetime) -> None:
        """Set deleted_at and updated_at. Its parts stay readable by id, but are no search candidates while it is deleted.

        Raises ObjectNotFoundError when missing, already deleted or foreign.
        """
        ...


@runtime_checkable
class KindReader(Protocol):
    """Reads the durable kind rows (kinds are shared by all namespaces)."""

    async def list_kinds(self) -> Sequence[KindSpec]:
        """All, sorted by kind name."""
        ...


@runtime_checkable
class KindWriter(Protocol):
    """Writes the durable kind rows."""

    async def put_kinds(self, kinds: Sequence[KindSpec]) -> None:
        """Insert or replace by name, in ascending name order, in one transaction. Raises InvalidKindError on a blank name."""
        ...


@runtime_checkable
class PartSearcher(Protocol):
    """The search channels over live parts whose parent is live.

    Each returns at most ``k`` candidates that pass scope and filters (pushed down: fewer than ``k`` only when no more
    exist), each id once, ordered by ``rank_order`` also at the cut. ``k <= 0`` and an input without a term give [].
    """

    async def search_lexical(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """BM25 (k1 1.2, b 0.75) over the terms of ``brain_async.analysis.index_terms``, of each part in its own language;
        scores > 0. A part's text is ``text.lexical_text``, its ``index_context`` as of its last put included.

        The query's terms are ``query_terms`` in all languages of the parts that the scope has ever held. A term that the
        query repeats counts as often as it is repeated. No operator has a meaning.
        """
        ...

    async def search_trigram(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """Fuzzy match of the query's words against the part's key terms (``brain_async.analysis.key_terms``).

        Each of the query's first 8 distinct key words takes its at most 3 nearest dictionary terms of the namespace with
        trigram similarity >= 0.3 (as pg_trgm defines it); a part's score is the sum over query words of the best
        similarity among its own terms, divided by the number of query words: in (0, 1].
        """
        ...

    async def search_vector(self, scope: Scope, vector: Vector, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """Cosine similarity in [-1, 1] over parts with an embedding; approximate above the backend's exact threshold,
        but true distance order and no starvation under filters. Raises DimensionMismatchError."""
        ...


@runtime_checkable
class FusedSearcher(Protocol):
    """Several channels of a PartSearcher in one request."""

    async def search_fused(
        self,
        scope: Scope,
        query: str,
        vector: Vector | None,
        filters: Filters,
        channels: Sequence[ChannelName],
        *,
        k: int,
    ) -> Mapping[ChannelName, Sequence[Candidate]]:
        """For each of ``channels`` (some of lexical, trigram and vector) what its own method gives for the same arguments.

        Without a ``vector`` the vector channel finds nothing. Raises what any of the methods raises, and then gives nothing.
        """
        ...
