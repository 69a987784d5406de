"""Ledger: the durable, tamper-evident record of typed, directed edges between objects."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from brain_async.cortex.batch import Batch, EdgeChange, EdgeKeyLike, NewEdge
from brain_async.cortex.edge_type import TypeLike
from brain_async.cortex.find import find
from brain_async.cortex.head import Head
from brain_async.cortex.incident import IncidentCursor, incident_edges
from brain_async.cortex.journal import JournalEntry, JournalProof
from brain_async.cortex.proof import EdgeProof
from brain_async.cortex.query import FindResult, Query
from brain_async.cortex.record import EdgeMetadata, EdgeRecord, checked_time, object_id_bytes
from brain_async.cortex.transfer import export_journal, import_journal, replay
from brain_async.cortex.verify import Verified, verify
from brain_async.cortex.view import LedgerView
from brain_async.model.scope import Scope
from brain_async.ports.kv import KeyValueStore, Work
from brain_async.ports.store import ObjectReader

__all__ = ["Ledger"]

T = TypeVar("T")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """Edges in both directions, never deleted, journaled, and anchored in a Merkle root, over a key-value store.

    Holds no state of its own: any number of ledgers can be used over one store, from any number of processes that the store
    admits. All of one call is committed in one piece or not at all. Reads raise as LedgerView says; every method raises the
    store's BackendErrors, and a call that is cancelled happened entirely or not at all.

    The methods ending in ``_work`` describe the same changes without committing them: a caller runs one with ``yield from``
    in a work of its own, and can add writes to the Change, which are committed along with it.
    """

    def __init__(self, store: KeyValueStore, *, clock: Callable[[], datetime] = _utc_now) -> None:
        self._store = store
        self._clock = clock

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[LedgerView]:
        """One moment of the ledger, for many reads."""
        async with self._store.snapshot() as reader:
            yield LedgerView(reader)

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        """Run a work of the caller's own, made of those below, in the store: see ``ports.kv.KeyValueStore.commit``."""
        return await self._store.commit(work)

    def now(self) -> datetime:
        """What the clock says, in UTC. Raises InvalidValueError when that is naive."""
        return checked_time(self._clock(), "clock")

    async def add_edge(
        self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes, meta: EdgeMetadata = EdgeMetadata()
    ) -> EdgeChange:
        """Add one edge: see ``add_edges``."""
        return (await self.add_edges([NewEdge(src, type, dst, meta)]))[0]

    async def add_edges(self, edges: Sequence[NewEdge]) -> list[EdgeChange]:
        """Add edges; returns what became of each, in order. They are one transaction: give an import in thousands.

        A live one is left as it is, and not journaled; a removed one is revived with its new metadata. Raises SelfEdgeError,
        ObjectIdRequiredError (nil), InvalidEdgeTypeError (unknown), InvalidValueError (weight not finite in float32, data or
        text too large, naive time): then nothing was written.
        """
        at = self.now()
        return await self._store.commit(lambda: self.add_edges_work(edges, at))

    async def put_edges(self, edges: Sequence[NewEdge]) -> list[EdgeChange]:
        """``add_edges``, but a live edge takes the new weight and data, keeping created_at and created_by."""
        at = self.now()
        return await self._store.commit(lambda: self.add_edges_work(edges, at, update=True))

    def add_edges_work(self, edges: Sequence[NewEdge], at: datetime, *, update: bool = False) -> Work[list[EdgeChange]]:
        """``add_edges`` at this time, or ``put_edges`` with ``update``, as a work."""
        batch = Batch(at)
        changes = yield from batch.add(edges, update=update)
        return (yield from batch.finish()), changes

    async def update_edge_meta(
        self,
        src: UUID | bytes,
        type: TypeLike,
        dst: UUID | bytes,
        *,
        weight: float | None = None,
        data: bytes | None = None,
        by: str = "",
    ) -> EdgeChange:
        """Give a live edge another weight or other data; None keeps what it has, and nothing new is not journaled.

        ``by`` goes to the journal. Raises EdgeNotFoundError without a live edge, and as ``add_edges``.
        """
        at = self.now()

        def work() -> Work[EdgeChange]:
            batch = Batch(at)
            change = yield from batch.update((src, type, dst), weight=weight, data=data, by=by)
            return (yield from batch.finish()), change

        return await self._store.commit(work)

    async def remove_edge(
        self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes, *, reason: str = "", by: str = ""
    ) -> EdgeChange:
        """Remove one edge: see ``remove_edges``."""
        return (await self.remove_edges([(src, type, dst)], reason=reason, by=by))[0]

    async def remove_edges(self, edges: Iterable[EdgeKeyLike], *, reason: str = "", by: str = "") -> list[EdgeChange]:
        """Mark edges (src, type, dst) as removed; returns what became of each, in order. Raises as ``add_edges``.

        The records stay, with the reason. Missing and removed ones are left as they are, and not journaled.
        """
        at, keys = self.now(), list(edges)
        return await self._store.commit(lambda: self.remove_edges_work(keys, at, reason=reason, by=by))

    def remove_edges_work(
        self, edges: Sequence[EdgeKeyLike], at: datetime, *, reason: str = "", by: str = ""
    ) -> Work[list[EdgeChange]]:
        """``remove_edges`` at this time, as a work."""
        batch = Batch(at)
        changes = yield from batch.remove(edges, reason=reason, by=by)
        return (yield from batch.finish()), changes

    async def remove_edges_of(self, object_id: UUID | bytes, *, reason: str = "", by: str = "") -> int:
        """Mark every live edge from or to the object as removed; returns how many there were.

        One commit for INCIDENT_BATCH edges: an object with more is done in several, and a call that fails half way is
        repeated. An edge that is added meanwhile may stay.
        """
        node, at = object_id_bytes(object_id, "object_id"), self.now()
        cursor, removed = IncidentCursor(), 0
        while not cursor.done:
            cursor, changes = await self._store.commit(
                partial(self.remove_edges_of_work, node, at, cursor, reason=reason, by=by)
            )
            removed += len(changes)
        return removed

    def remove_edges_of_work(
        self, node: bytes, at: datetime, cursor: IncidentCursor, *, reason: str = "", by: str = ""
    ) -> Work[tuple[IncidentCursor, list[EdgeChange]]]:
        """The next part of ``remove_edges_of``, of at most INCIDENT_BATCH edges, as a work.

        Returns where it stopped, and a change for each edge that it removed.
        """
        batch = Batch(at)
        cursor, live = yield from incident_edges(node, cursor)
        changes = yield from batch.remove([key for key, _ in live], reason=reason, by=by)
        return (yield from batch.finish()), (cursor, changes)

    async def register_label(self, label: str) -> int:
        """The byte of an edge type's label, for ever: its own when it is canonical or registered, else the next free one.

        Labels are trimmed and lower-cased. Raises InvalidEdgeTypeError for a blank or overlong one, or when all are taken.
        """
        at = self.now()
        return await self._store.commit(lambda: self.register_label_work(label, at))

    def register_label_work(self, label: str, at: datetime) -> Work[int]:
        """``register_label`` as a work."""
        batch = Batch(at)
        code = yield from batch.register(label)
        return (yield from batch.finish()), code

    async def get_edge(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> EdgeRecord:
        """As in LedgerView; a snapshot of its own for each call."""
        async with self.snapshot() as view:
            return await view.get_edge(src, type, dst)

    async def iter_edges_out(
        self, src: UUID | bytes, types: Iterable[TypeLike] = (), *, include_tombstoned: bool = False
    ) -> AsyncIterator[EdgeRecord]:
        """As in LedgerView, over a snapshot that is held until the iteration ends or is closed."""
        async with self.snapshot() as view:
            async for record in view.iter_edges_out(src, types, include_tombstoned=include_tombstoned):
                yield record

    async def iter_edges_in(
        self, dst: UUID | bytes, types: Iterable[TypeLike] = (), *, include_tombstoned: bool = False
    ) -> AsyncIterator[EdgeRecord]:
        """As in LedgerView, over a snapshot that is held until the iteration ends or is closed."""
        async with self.snapshot() as view:
            async for record in view.iter_edges_in(dst, types, include_tombstoned=include_tombstoned):
                yield record

    async def edges_out(
        self, src: UUID | bytes, types: Iterable[TypeLike] = (), *, as_of: int | datetime | None = None
    ) -> list[EdgeRecord]:
        """As in LedgerView."""
        async with self.snapshot() as view:
            return await view.edges_out(src, types, as_of=as_of)

    async def edges_in(
        self, dst: UUID | bytes, types: Iterable[TypeLike] = (), *, as_of: int | datetime | None = None
    ) -> list[EdgeRecord]:
        """As in LedgerView."""
        async with self.snapshot() as view:
            return await view.edges_in(dst, types, as_of=as_of)

    async def history(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> list[JournalEntry]:
        """As in LedgerView."""
        async with self.snapshot() as view:
            return await view.history(src, type, dst)

    async def head(self) -> Head:
        """As in LedgerView."""
        async with self.snapshot() as view:
            return await view.head()

    async def root(self) -> bytes:
        """As in LedgerView."""
        return (await self.head()).root

    async def journal_root(self) -> bytes:
        """As in LedgerView."""
        return (await self.head()).journal_root

    async def overall_root(self) -> bytes:
        """As in LedgerView."""
        return (await self.head()).overall_root

    async def prove(self, src: UUID | bytes, type: TypeLike, dst: UUID | bytes) -> EdgeProof:
        """As in LedgerView; its root is that of this moment."""
        async with self.snapshot() as view:
            return await view.prove(src, type, dst)

    async def prove_entry(self, seq: int) -> JournalProof:
        """As in LedgerView; its journal root is that of this moment."""
        async with self.snapshot() as view:
            return await view.prove_entry(seq)

    async def labels(self) -> dict[str, int]:
        """As in LedgerView."""
        async with self.snapshot() as view:
            return await view.labels()

    async def find(self, query: Query, *, scope: Scope, objects: ObjectReader) -> FindResult:
        """Walk the edges of this moment and return the objects reached: see ``find.find``."""
        async with self.snapshot() as view:
            return await find(view, objects, scope, query)

    async def verify(self) -> Verified:
        """Compute everything again: see ``verify.verify``. Raises LedgerCorruptError, naming the first difference."""
        async with self.snapshot() as view:
            return await verify(view)

    async def replay(self, journal: AsyncIterable[JournalEntry] | Iterable[JournalEntry]) -> Head:
        """Apply the entries of a journal: see ``transfer.replay``. Raises LedgerCorruptError."""
        return await replay(self._store, journal)

    async def export_journal(self, *, after: int = 0) -> AsyncIterator[bytes]:
        """The journal as chunks of a stream: see ``transfer.export_journal``."""
        async with self.snapshot() as view:
            async for frame in export_journal(view, after=after):
                yield frame

    async def import_journal(self, chunks: AsyncIterable[bytes] | Iterable[bytes]) -> Head:
        """Replay an exported stream: see ``transfer.import_journal``. Raises LedgerCorruptError."""
        return await import_journal(self._store, chunks)
