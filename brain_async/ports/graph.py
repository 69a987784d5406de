"""Ports of the graph: first-class objects as nodes, edges between them, and text and vector search over both.

Scope, filters and k are pushed down: a node or edge of another namespace is neither returned nor counted. Failures,
cancellation and order are as in ``ports.store``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

import msgspec

from brain_async.model.candidate import Candidate, EdgeHit
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor
from brain_async.model.scope import Scope
from brain_async.ports.store import Vector

__all__ = [
    "GraphBulkLoader",
    "GraphEdgeSearcher",
    "GraphObjectSearcher",
    "GraphReader",
    "GraphScanner",
    "GraphWalker",
    "GraphWriter",
    "NodeVersion",
]


@runtime_checkable
class GraphReader(Protocol):
    """Reads edges."""

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        """The edges of every frontier node, in one request: at most ``limit`` per node, each edge once.

        Order per node: the order of ``relation_types`` (canonical spelling; empty means every label, ascending), out before
        in, then the other end's id ascending. Self-loops are left out. Unknown nodes have an empty sequence.
        """
        ...


@runtime_checkable
class GraphWalker(Protocol):
    """Reads two hops in the time of little more than one."""

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        """``neighbors`` of every frontier node, and of as many other nodes as come with them, the nodes next to it first.

        Whatever is there equals what ``neighbors`` gives. Nodes beyond the frontier may be absent, which says nothing about
        their edges: ``neighbors`` is asked about those.
        """
        ...


@runtime_checkable
class GraphWriter(Protocol):
    """Writes nodes and edges. Every method is an idempotent upsert or removal: repeating it changes nothing."""

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        """Make each first-class object's node equal to it: cleared fields are cleared, its edges are kept."""
        ...

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        """Drop the nodes and all their edges; unknown ids are ignored."""
        ...

    async def add_edges(self, scope: Scope, edges: Sequence[Edge]) -> None:
        """Insert or update by key. An update replaces the metadata and keeps created_at unless one is given.

        The first add sets created_at and updated_at where unset.
        """
        ...

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        """Remove by key; unknown keys are ignored."""
        ...


@runtime_checkable
class GraphBulkLoader(Protocol):
    """Prepares for many writes."""

    def bulk(self, nodes: int) -> AbstractAsyncContextManager[None]:
        """A block in which about ``nodes`` nodes are made, quicker where that pays: by an index built when it ends, say.

        Searches may raise SearchIndexNotReadyError meanwhile. Leaving waits until they work again, however the block ends.
        """
        ...


@runtime_checkable
class GraphObjectSearcher(Protocol):
    """Text and vector search over nodes."""

    @property
    def object_search_ready(self) -> bool:
        """Whether the indexes exist; asked once when the engine is built."""
        ...

    async def search_objects_text(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        """Nodes whose entity text holds any word of the query (BM25, words split at punctuation, case folded)."""
        ...

    async def search_objects_vector(
        self, scope: Scope, vector: Vector, filters: Filters, *, k: int
    ) -> Sequence[Candidate]:
        """Nodes by cosine similarity of their embedding."""
        ...


@runtime_checkable
class GraphEdgeSearcher(Protocol):
    """Text search over the notes of edges."""

    async def search_edges(self, scope: Scope, relation_type: str, query: str, *, k: int) -> Sequence[EdgeHit]:
        """Edges of one (canonical) label whose note holds any word of the query: score descending, then key ascending."""
        ...


class NodeVersion(msgspec.Struct, frozen=True, gc=False):
    """A node, and the updated_at of the object that it was made of."""

    object_id: UUID
    updated_at: datetime | None


@runtime_checkable
class GraphScanner(Protocol):
    """Lists what the graph holds, to compare it with what it should hold."""

    async def scan_nodes(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[NodeVersion]:
        """The next ``limit`` nodes by ascending id after ``after``; times to the microsecond."""
        ...

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        """The next ``limit`` edges in ascending (from, to, label) order after ``after``, with their metadata.

        Edges of one key in several namespaces come on one page, which may then be longer.
        """
        ...
