"""HelixGraph: the graph ports on HelixDB."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

import anyio.to_thread
from anyio import CancelScope
from helixdb import AsyncClient

from brain_async.errors import LinkArgumentsError
from brain_async.model.object import Object
from brain_async.model.recording import owned_by
from brain_async.model.relation import Edge, EdgeKey, canonical_relation_type
from brain_async.model.scope import Scope
from helixgraph import bootstrap, queries
from helixgraph.properties import scoped
from helixgraph.reader import HelixGraphReader
from helixgraph.request import padded
from helixgraph.rows import Row, chunked, edge_key, edge_row, node_row
from helixgraph.scan import register_relation

__all__ = ["HelixGraph"]

_ROWS: Final = 250  # of one write: the engine re-indexes at most 512 texts at once
_INDEXED_VECTORS: Final = 64  # of one write: each costs more the larger the index is, and all must fit the deadline
_BULK_LEAST: Final = 1_000  # nodes: fewer are indexed as they come, in seconds
_BYTES: Final = 4 << 20  # of one write, well below the server's 16 MiB


class HelixGraph(HelixGraphReader):
    """Nodes and edges in HelixDB, a projection that can be filled again from store and ledger.

    Implements every port of ``brain_async.ports.graph``. A write leaves alone, without an error, what its scope does not see.
    Parts are not taken as nodes. An end of an edge need not be an ensured object. ``bootstrap`` must have run before
    searches and edges work well; the openers of ``helixgraph`` do it.

    Args: see HelixGraphReader.
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
        super().__init__(
            client, dimension=dimension, tenants=tenants, indexed_properties=indexed_properties, timeout=timeout
        )
        self._indexed_labels: set[tuple[str, bool]] = set()
        self._vector_index_due = False  # the end of a bulk load could not ask for it

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
        self._vector_index_due = False

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

        Vector searches raise SearchIndexNotReadyError meanwhile, in every process. Where an outage keeps the index from being
        built, the next write of nodes asks for it. Nothing is done where it would not pay: for fewer ``nodes`` than a
        thousand or than the graph holds already, since the index is built for those too.
        """
        if nodes is not None and (nodes < _BULK_LEAST or await bootstrap.holds(self._connection, nodes)):
            yield
            return
        await bootstrap.drop_index(self._connection, bootstrap.vector_index(self._dimension, tenants=self._tenants))
        await self.bootstrap(bulk=True)
        try:
            yield
        finally:
            self._vector_index_due = True
            with CancelScope(shield=True):
                await self.bootstrap()

    async def ensure_edge_text_index(self, relation_type: str) -> None:
        """Make the indexes of this label, that of notes among them, and wait; writes of noted edges do it themselves."""
        await self._index_label(canonical_relation_type(relation_type), noted=True)

    # GraphWriter

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        visible = {obj.key: obj for obj in objects if not obj.is_part and scope.sees(obj.namespace_id)}
        rows = await anyio.to_thread.run_sync(self._node_rows, list(visible.values()))
        if self._vector_index_due and visible:
            index = bootstrap.vector_index(self._dimension, tenants=self._tenants)
            await bootstrap.create_indexes(self._connection, [index], wait=False)
            self._vector_index_due, self._vectors_ready = False, True
        for embedded in (True, False):
            template = queries.ensure_nodes(self._indexed, embedded=embedded, scoped=scope.namespace_id is not None)
            group = [row for row in rows if ("embedding" in row) is embedded]
            rows_at_most = _INDEXED_VECTORS if embedded and self._vectors_ready else _ROWS
            for chunk in chunked(group, rows_at_most=rows_at_most, bytes_at_most=_BYTES):
                await self._connection.write(template.request(rows=chunk))

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        ids = list(dict.fromkeys(map(str, object_ids)))
        for start in range(0, len(ids), queries.MOST_ANY):
            chunk = padded(ids[start : start + queries.MOST_ANY])
            template = queries.remove_nodes(self._indexed, scoped=scope.namespace_id is not None, size=len(chunk))
            request = template.request(**{f"n{place}": node for place, node in enumerate(chunk)}, **scoped(scope))
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
            row = {"from": str(key.from_id), "edge_key": edge_key(key.from_id, key.to_id), **scoped(scope)}
            groups.setdefault(key.relation_type, []).append(row)
        for label, rows in groups.items():
            template = queries.remove_edges(label, scoped=scope.namespace_id is not None)
            for chunk in chunked(rows, rows_at_most=_ROWS, bytes_at_most=_BYTES):
                await self._connection.write(template.request(rows=chunk))

    async def _index_label(self, label: str, *, noted: bool) -> None:
        if (label, noted) not in self._indexed_labels and (label, True) not in self._indexed_labels:
            await bootstrap.create_indexes(self._connection, bootstrap.edge_indexes(label, noted=noted))
            await self._connection.write(register_relation().request(name=label))
            self._indexed_labels.add((label, noted))

    def _node_rows(self, objects: Sequence[Object]) -> list[Row]:
        return [node_row(obj, self._dimension, self._indexed) for obj in objects]
