"""CortexEdgeLedger: the engine's record of links, kept in a tamper-evident ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from brain_async.cortex.batch import Batch, EdgeKeyLike
from brain_async.cortex.edge_outbox import CortexEdgeOutbox
from brain_async.cortex.edge_scan import scan_values
from brain_async.cortex.edge_writes import record_edges
from brain_async.cortex.engine_edge import all_labels, edge_of, labels_by_code, stored_records
from brain_async.cortex.incident import IncidentCursor, incident_edges
from brain_async.cortex.ledger import Ledger
from brain_async.cortex.outbox_entries import Noted, write_entries
from brain_async.cortex.record import checked_time
from brain_async.errors import NamespaceMismatchError, WritesUnsupportedError
from brain_async.model.health import BackendHealth
from brain_async.model.recording import owned_by, recorded_by
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.kv import Change, KeyValueStore, Work

__all__ = ["CortexEdgeLedger", "CortexEdgeReader"]

UNLINKED = "unlinked"
OBJECT_DELETED = "object deleted"
_ELSEWHERE = "the edge ledger is open to be read: links are recorded by the process that has it open for writing"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class CortexEdgeLedger:
    """Implements ``ports.ledger.EdgeLedger``, KeepsEdgeOutbox and HealthProbe over a key-value store.

    The metadata and the namespace of an edge travel in the ``data`` of its record; a label that is not canonical is
    registered along with its first edge. An edge, its journal entry, the Merkle root and its outbox entry are one commit.

    There is one edge between two objects of a label, whichever namespace they belong to: recording one that another namespace
    holds, or one that names a namespace which the scope does not see, raises NamespaceMismatchError. Recording raises
    SelfEdgeError for an edge from an object to itself, ObjectIdRequiredError for a nil id, InvalidEdgeTypeError for a blank
    label, one of more than MAX_LABEL_BYTES, or the next one when HOST_TYPE_COUNT are registered, and InvalidValueError for
    metadata of more than MAX_DATA_BYTES; then nothing was recorded. Reads raise LedgerCorruptError for what the ledger did
    not write.
    """

    def __init__(
        self, store: KeyValueStore, *, clock: Callable[[], datetime] = _utc_now, by: str = "brain_async"
    ) -> None:
        self._store = store
        self.by = by
        """Whom the records name as having created or removed an edge."""
        self._outbox = CortexEdgeOutbox(store)
        self.ledger = Ledger(store, clock=clock)
        """The same edges, to be verified, proved, walked and exported."""

    @property
    def graph_outbox(self) -> CortexEdgeOutbox:
        """As in the port."""
        return self._outbox

    async def record_edges(self, scope: Scope, edges: Sequence[Edge]) -> Sequence[Edge]:
        """As in the port. An edge recorded after its removal starts with a new created_at."""
        owned = [_owned(scope, edge) for edge in edges]
        if not owned:
            return []
        now = self.ledger.now()
        return await self._store.commit(lambda: self._record(owned, now))

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey], *, at: datetime) -> None:
        """As in the port; they are removed as UNLINKED."""
        at = checked_time(at, "at")

        def work() -> Work[None]:
            found = yield from stored_records(keys)
            labels = yield from labels_by_code()
            live = [edge_of(value, labels) for record, value in found.values() if not record.tombstoned]
            return (yield from self._remove([e for e in live if scope.sees(e.namespace_id)], at, UNLINKED))

        if keys:
            await self._store.commit(work)

    async def remove_object_edges(
        self, scope: Scope, object_id: UUID, *, at: datetime, until: datetime | None = None
    ) -> None:
        """As in the port; they are removed as OBJECT_DELETED.

        One commit for every INCIDENT_BATCH edges: a call that fails half way is repeated.
        """
        at = checked_time(at, "at")

        def work(cursor: IncidentCursor) -> Work[IncidentCursor]:
            cursor, live = yield from incident_edges(object_id.bytes, cursor)
            labels = yield from labels_by_code()
            edges = [edge_of(value, labels) for _, value in live]
            seen = [edge for edge in edges if scope.sees(edge.namespace_id) and recorded_by(edge, until)]
            change, _ = yield from self._remove(seen, at, OBJECT_DELETED)
            return change, cursor

        cursor = IncidentCursor()
        while not cursor.done:
            cursor = await self._store.commit(partial(work, cursor))

    async def scan_edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> Sequence[Edge]:
        """As in the port; of other namespaces' edges it reads those in between."""
        found: list[Edge] = []
        if limit <= 0:
            return found
        async with self.ledger.snapshot() as view:
            labels = all_labels(await view.labels())
            async with aclosing(scan_values(view.reader, labels, after)) as values:
                async for value in values:
                    edge = edge_of(value, labels)
                    if scope.sees(edge.namespace_id):
                        found.append(edge)
                        if len(found) == limit:
                            break
        return found

    async def health(self) -> BackendHealth:
        """As in ``ports.health.HealthProbe``: entries of the journal, edges ever recorded, and the roots in hex."""
        head = await self.ledger.head()
        return BackendHealth(
            up=True,
            details={
                "head": head.seq,
                "edges": head.edges,
                "root": head.root.hex(),
                "overall_root": head.overall_root.hex(),
            },
        )

    def _record(self, owned: Sequence[Edge], now: datetime) -> Work[list[Edge]]:
        change, recorded = yield from record_edges(owned, now, by=self.by)
        noted: list[Noted] = [(edge.namespace_id, edge.key, edge.meta.updated_at) for edge in recorded]
        return Change({**change.writes, **(yield from write_entries(noted))}), recorded

    def _remove(self, edges: Sequence[Edge], at: datetime, reason: str) -> Work[None]:
        """Remove edges that are live."""
        if not edges:
            return Change(), None
        batch = Batch(at)
        keys: list[EdgeKeyLike] = [(edge.from_id, edge.relation_type, edge.to_id) for edge in edges]
        yield from batch.remove(keys, reason=reason, by=self.by)
        change = yield from batch.finish()
        noted: list[Noted] = [(edge.namespace_id, edge.key, None) for edge in edges]
        return Change({**change.writes, **(yield from write_entries(noted))}), None


class CortexEdgeReader(CortexEdgeLedger):
    """The same over a store that another process writes: links are read, and recorded only there.

    ``remove_object_edges`` does nothing: the writer removes them when it tells the graph of the deletion.
    """

    async def record_edges(self, scope: Scope, edges: Sequence[Edge]) -> Sequence[Edge]:  # noqa: ARG002
        """Raises WritesUnsupportedError."""
        raise WritesUnsupportedError(_ELSEWHERE)

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey], *, at: datetime) -> None:  # noqa: ARG002
        """Raises WritesUnsupportedError."""
        raise WritesUnsupportedError(_ELSEWHERE)

    async def remove_object_edges(
        self, scope: Scope, object_id: UUID, *, at: datetime, until: datetime | None = None
    ) -> None:
        """Nothing."""


def _owned(scope: Scope, edge: Edge) -> Edge:
    owned = owned_by(scope, edge)
    if owned is None:
        raise NamespaceMismatchError("an edge is not of the scope's namespace", field="namespace_id")
    return owned
