"""HelixGraphReader: what can be asked of a graph on HelixDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from helixdb import AsyncClient

from brain_async.errors import DimensionMismatchError, SearchIndexNotReadyError
from brain_async.model.candidate import Candidate, EdgeHit, rank_order
from brain_async.model.filters import Filters
from brain_async.model.health import BackendHealth
from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from brain_async.ports.graph import NodeVersion
from brain_async.ports.store import Vector
from helixgraph import hops, queries
from helixgraph.client import Connection
from helixgraph.properties import namespace_of, namespace_value, query_words, scoped
from helixgraph.rows import edge_hit, node_candidate
from helixgraph.scan import Scanner
from helixgraph.search import MOST_BY_TEXT, MOST_NEAREST, Restriction, best, restriction

__all__ = ["HelixGraphReader"]


class HelixGraphReader:
    """Reads a graph that somebody else writes: GraphReader, GraphWalker, GraphObjectSearcher, GraphEdgeSearcher, GraphScanner.

    Entity texts and notes are matched by whole words, case folded, neither stemmed nor stopped. Scores of the text search are
    BM25 with the statistics of the whole index, or of the namespace's with ``tenants``; those of the vector search are cosines.

    Args:
        client: an open ``helixdb.AsyncClient``, server or embedded; it stays the caller's to close.
        dimension: length of every embedding.
        tenants: whether text and vector index are kept apart by namespace: quicker with many namespaces, slower for
            unrestricted scopes, which ask one namespace after another.
        indexed_properties: names of the objects' properties that filters often select few objects by. Such a filter then
            costs 5 ms rather than 80 at 3,000 nodes. All who open a graph give the same; ensure the objects again after a
            change.
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
        """Whether every search index was there when this was last asked or, by its writer, made."""
        return self._ready and self._vectors_ready

    @property
    def object_search_ready(self) -> bool:
        """The same as ``ready``."""
        return self.ready

    async def check_indexes(self) -> bool:
        """Ask the graph whether its search indexes are there, which ``ready`` says from then on.

        Raises DimensionMismatchError when they are of another dimension and not empty, InvalidInputError when of another
        ``tenants``.
        """
        tenant = {"tenant": await self._embedded_namespace()} if self._tenants else {}
        questions: list[tuple[queries.Channel, str | list[float]]] = [
            ("text", "a"),
            ("vector", [1.0] * self._dimension),
        ]
        self._ready = self._vectors_ready = False
        try:
            for channel, query in questions:
                template = queries.node_search(channel, (), within=False, tenant=self._tenants)
                await self._connection.read(template.request(query=query, limit=1, **tenant))
        except SearchIndexNotReadyError:
            return False
        self._ready = self._vectors_ready = True
        return True

    async def health(self) -> BackendHealth:
        """As ``HealthProbe``: it answers, and its search indexes were there when it was last asked for them."""
        await self._connection.read(queries.noted_edge("health").request())
        problem = "" if self.ready else "search indexes are missing or being built: await graph.bootstrap()"
        return BackendHealth(
            up=self.ready, problem=problem, details={"dimension": self._dimension, "tenants": self._tenants}
        )

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
            return await self._connection.read(template.request(query=words, limit=limit, **scoped(scope)))

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

    async def _embedded_namespace(self) -> str:
        """A namespace that has embeddings, if any has: the engine checks the length of vectors in those only."""
        rows = (await self._connection.read(queries.embedded_node().request()))["rows"]
        return str(rows[0]["namespace_id"]) if rows else ""

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
            most=MOST_NEAREST if channel == "vector" else MOST_BY_TEXT,
        )
        return [node_candidate(row, score) for row, score in rows]


def _cosine(hit: Mapping[str, Any]) -> float:
    return 1.0 - 2.0 * float(hit["$distance"])
