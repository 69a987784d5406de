"""HelixGraph: the graph ports on HelixDB."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import anyio.to_thread
from anyio import CancelScope
from helixdb import AsyncClient

from brain_async.errors import DimensionMismatchError, LinkArgumentsError, SearchIndexNotReadyError
from brain_async.model.candidate import Candidate, EdgeHit, rank_order
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from brain_async.ports.graph import NodeVersion
from brain_async.ports.store import Vector
from helixgraph import bootstrap, hops, queries
from helixgraph.client import Connection
from helixgraph.properties import namespace_of, namespace_value, query_words
from helixgraph.rows import Row, chunked, edge_hit, edge_key, edge_row, node_candidate, node_row, owned_by
from helixgraph.scan import Scanner, register_relation
from helixgraph.search import Restriction, best, restriction

__all__ = ["HelixGraph"]

_ROWS: Final = 250  # of one write: the engine re-indexes at most 512 texts at once
_INDEXED_VECTORS: Final = 64  # of one write: each costs more the larger the index is, and all must fit the deadline
_BULK_LEAST: Final = 1_000  # nodes: fewer are indexed as they come, in seconds
_BYTES: Final = 4 << 20  # of one write, well below the server's 16 MiB


class HelixGraph:
    """Nodes and edges in HelixDB, a projection that can be filled again from store and ledger.

    Implements every port of ``brain_async.ports.graph``. Entity texts and notes are matched by whole words, case folded,
    neither stemmed nor stopped. A write leaves alone, without an error, what its scope does not see. Parts are not taken as
    nodes. An end of an edge need not be an ensured object.

    Scores of the text search are BM25 with the statistics of the whole index, or of the namespace's with ``tenants``;
    those of the vector search are cosines. ``bootstrap`` must have run before searches and edges work well; the openers of
    ``helixgraph`` do it.

    Args:
        client: an open ``helixdb.AsyncClient``, server or embedded; it stays the caller's to close.
        dimension: length of every embedding.
        tenants: whether text and vector index are kept apart by namespace: quicker with many namespaces, slower for
            unrestricted scopes, which ask one namespace after another.
        indexed_properties: names of the objects' properties that filters often select few objects by. Such a filter then
            costs 5 ms rather than 80 at 3,000 nodes. Ensure the objects again after a change.
        timeout: seconds a request may take; BackendTimeoutError after that. None for no limit.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        dimension: int,
        tenants: bool = False,
        indexed_properties: Sequence[str] = (),
        timeout: float | None = 30.0,
    ) -> None:
        self._connection = Connection(client, timeout=timeout)
        self._scanner = Scanner(self._connection)
        self._dimension = dimension
        self._tenants = tenants
        self._indexed = tuple(dict.fromkeys(indexed_properties))
        self._ready = False
        self._vectors_ready = False
        self._indexed_labels: set[tuple[str, bool]] = set()

    @property
    def dimension(self) -> int:
        """Length of every embedding."""
        return self._dimension

    @property
    def tenants(self) -> bool:
        """Whether the search indexes are kept apart by namespace."""
        return self._tenants

    @property
    def ready(self) -> bool:
        """Whether ``bootstrap`` found or made every index."""
        return self._ready and self._vectors_ready

    @property
    def object_search_ready(self) -> bool:
        """The same as ``ready``."""
        return self.ready

    # Indexes

    async def bootstrap(self, *, tenants: bool | None = None, bulk: bool = False) -> None:
        """Create the indexes that are missing and wait for them. Idempotent; several processes may do it at once.

        Args:
            tenants: replaces the constructor's choice.
            bulk: leave out the vector index, which is built in a quarter of the time after a large load; call
                ``bootstrap`` again then, or use ``bulk``.

        Raises SearchIndexNotReadyError when a build is blocked or aborted, or when an index was made with another
        dimension or tenant setting (``rebuild_indexes`` changes those).
        """
        if tenants is not None:
            self._tenants = tenants
        self._ready = self._vectors_ready = False
        indexes = bootstrap.node_indexes(self._dimension, self._indexed, tenants=self._tenants, vectors=not bulk)
        await bootstrap.create_indexes(self._connection, indexes)
        self._ready, self._vectors_ready = True, not bulk

    async def rebuild_indexes(self, *, dimension: int | None = None, tenants: bool | None = None) -> None:
        """Drop the text and the vector index and build them again, with other settings if any are given.

        A ``dimension``, also the constructor's, removes every embedding, since those of another length would block the
        build: ensure the objects again afterwards. Searches raise SearchIndexNotReadyError meanwhile. Takes about 8 ms a
        node for vectors, and far more for the text of thousands of nodes: filling an empty store again is then quicker.
        """
        self._ready = self._vectors_ready = False
        await bootstrap.drop_index(self._connection, bootstrap.vector_index(self._dimension, tenants=self._tenants))
        await bootstrap.drop_index(self._connection, bootstrap.text_index(tenants=self._tenants))
        if dimension is not None:
            await bootstrap.remove_embeddings(self._connection)
            self._dimension = dimension
        await self.bootstrap(tenants=tenants)

    @asynccontextmanager
    async def bulk(self, nodes: int | None = None) -> AsyncIterator[None]:
        """Fill a large graph: no vector index while the block runs, and one is built when it ends, however it ends.

        Vector searches raise SearchIndexNotReadyError meanwhile, in every process. Nothing is done where it would not pay:
        for fewer ``nodes`` than a thousand or than the graph holds already, since the index is built for those too.
        """
        if nodes is not None and (nodes < _BULK_LEAST or await bootstrap.holds(self._connection, nodes)):
            yield
            return
        await bootstrap.drop_index(self._connection, bootstrap.vector_index(self._dimension, tenants=self._tenants))
        await self.bootstrap(bulk=True)
        try:
            yield
        finally:
            with CancelScope(shield=True):
                await self.bootstrap()

    async def ensure_edge_text_index(self, relation_type: str) -> None:
        """Make the indexes of this label, that of notes among them, and wait; writes of noted edges do it themselves."""
        await self._index_label(canonical_relation_type(relation_type), noted=True)

    # GraphReader

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        return await hops.neighbors(self._connection, scope, frontier, relation_types, direction=direction, limit=limit)

    # GraphWalker

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        return await hops.neighborhoods(
            self._connection, scope, frontier, relation_types, direction=direction, limit=limit
        )

    # GraphWriter

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        visible = {obj.key: obj for obj in objects if not obj.is_part and scope.sees(obj.namespace_id)}
        rows = await anyio.to_thread.run_sync(self._node_rows, list(visible.values()))
        for embedded in (True, False):
            template = queries.ensure_nodes(self._indexed, embedded=embedded, scoped=scope.namespace_id is not None)
            group = [row for row in rows if ("embedding" in row) is embedded]
            rows_at_most = _INDEXED_VECTORS if embedded and self._vectors_ready else _ROWS
            for chunk in chunked(group, rows_at_most=rows_at_most, bytes_at_most=_BYTES):
                await self._connection.write(template.request(rows=chunk))

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        template = queries.remove_node(self._indexed, scoped=scope.namespace_id is not None)
        for object_id in dict.fromkeys(object_ids):
            request = template.request(object_id=str(object_id), **_scoped(scope))
            while (await self._connection.write(request))["left"]:
                pass

    async def add_edges(self, scope: Scope, edges: Sequence[Edge]) -> None:
        owned = {(edge.namespace_id, edge.key): edge for given in edges if (edge := owned_by(scope, given)) is not None}
        groups: dict[tuple[str, bool, bool], list[Row]] = {}
        for edge in owned.values():
            if not edge.relation_type:
                raise LinkArgumentsError("relation_type")
            row = edge_row(edge)
            shape = (edge.relation_type, bool(row["search_text"]), edge.meta.created_at is not None)
            groups.setdefault(shape, []).append(row)
        for (label, noted, redated), rows in groups.items():
            await self._index_label(label, noted=noted)
            template = queries.ensure_edges(label, noted=noted, redated=redated)
            for chunk in chunked(rows, rows_at_most=_ROWS, bytes_at_most=_BYTES):
                ends = dict.fromkeys(end for row in chunk for end in (row["from"], row["to"]))
                nodes = [{"object_id": end} for end in ends]
                await self._connection.write(template.request(nodes=nodes, rows=chunk))

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        groups: dict[str, list[Row]] = {}
        for key in dict.fromkeys(keys):
            row = {"from": str(key.from_id), "edge_key": edge_key(key.from_id, key.to_id), **_scoped(scope)}
            groups.setdefault(key.relation_type, []).append(row)
        for label, rows in groups.items():
            template = queries.remove_edges(label, scoped=scope.namespace_id is not None)
            for chunk in chunked(rows, rows_at_most=_ROWS, bytes_at_most=_BYTES):
                await self._connection.write(template.request(rows=chunk))

    # GraphObjectSearcher

    async def search_objects_text(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        words = query_words(query)
        return await self._search("text", scope, words, filters, k) if words else []

    async def search_objects_vector(
        self, scope: Scope, vector: Vector, filters: Filters, *, k: int
    ) -> Sequence[Candidate]:
        if len(vector) != self._dimension:
            raise DimensionMismatchError(expected=self._dimension, got=len(vector), what="query vector")
        return await self._search("vector", scope, vector.tolist(), filters, k)

    # GraphEdgeSearcher

    async def search_edges(self, scope: Scope, relation_type: str, query: str, *, k: int) -> Sequence[EdgeHit]:
        label, words = canonical_relation_type(relation_type), query_words(query)
        if k <= 0 or not words or not label:
            return []

        async def ask(limit: int, within: bool) -> dict[str, Any]:
            template = queries.edge_search(label, within=within, scoped=scope.namespace_id is not None)
            return await self._connection.read(template.request(query=words, limit=limit, **_scoped(scope)))

        try:
            rows = await best(
                ask,
                k=k,
                score=lambda hit: float(hit["$score"]),
                admits=lambda _: True,
                broad_first=True,
                broad_is_exact=True,
            )
        except SearchIndexNotReadyError:
            # A label gets its index before its first noted edge: without one of those there is nothing to miss.
            if (await self._connection.read(queries.noted_edge(label).request()))["rows"]:
                raise
            return []
        hits = [edge_hit(row, label, score) for row, score in rows]
        hits.sort(key=lambda hit: (-hit.score, hit.edge.from_id, hit.edge.to_id))
        return hits[:k]

    # GraphScanner

    async def scan_nodes(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[NodeVersion]:
        return await self._scanner.nodes(scope, after=after, limit=limit)

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        return await self._scanner.edges(scope, after=after, limit=limit)

    async def _search(
        self, channel: queries.Channel, scope: Scope, query: str | list[float], filters: Filters, k: int
    ) -> list[Candidate]:
        if k <= 0:
            return []
        found: list[Candidate] = []
        for each in await self._searched(scope):
            if (allowed := restriction(each, filters, self._indexed)) is not None:
                found += await self._search_within(channel, each, query, allowed, k)
        found.sort(key=rank_order)
        return found[:k]

    async def _searched(self, scope: Scope) -> list[Scope]:
        """The scopes to search one by one: an index that is kept apart by namespace answers for one of them only."""
        if scope.namespace_id is not None or not self._tenants:
            return [scope]
        groups = (await self._connection.read(queries.namespaces().request()))["rows"]
        return [Scope(namespace_of(group["namespace_id"])) for group in groups if group.get("namespace_id") is not None]

    async def _search_within(
        self, channel: queries.Channel, scope: Scope, query: str | list[float], allowed: Restriction, k: int
    ) -> list[Candidate]:
        tenant = {"tenant": namespace_value(scope.namespace_id)} if self._tenants else {}

        async def ask(limit: int, within: bool) -> dict[str, Any]:
            template = queries.node_search(channel, allowed.conditions, within=within, tenant=self._tenants)
            return await self._connection.read(
                template.request(query=query, limit=limit, **allowed.parameters, **tenant)
            )

        rows = await best(
            ask,
            k=k,
            score=(lambda hit: float(hit["$score"])) if channel == "text" else _cosine,
            admits=allowed.admits,
            spare=len(allowed.excluded),
            # A text search over everything costs so little that it pays even when it fails.
            broad_first=not allowed.names("object_id", "p_", *(["properties."] if channel == "vector" else [])),
            broad_is_exact=channel == "text",
        )
        return [node_candidate(row, score) for row, score in rows]

    async def _index_label(self, label: str, *, noted: bool) -> None:
        if (label, noted) not in self._indexed_labels and (label, True) not in self._indexed_labels:
            await bootstrap.create_indexes(self._connection, bootstrap.edge_indexes(label, noted=noted))
            await self._connection.write(register_relation().request(name=label))
            self._indexed_labels.add((label, noted))

    def _node_rows(self, objects: Sequence[Object]) -> list[Row]:
        return [node_row(obj, self._dimension, self._indexed) for obj in objects]


def _scoped(scope: Scope) -> dict[str, str]:
    return {} if scope.namespace_id is None else {"namespace_id": namespace_value(scope.namespace_id)}


def _cosine(hit: Mapping[str, Any]) -> float:
    return 1.0 - 2.0 * float(hit["$distance"])
