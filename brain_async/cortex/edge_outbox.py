"""CortexEdgeOutbox: which edges of the ledger the graph still has to be told of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import cast
from uuid import UUID

from brain_async.cortex.edge_data import decode_edge_data
from brain_async.cortex.engine_edge import all_labels, edge_of, labels_by_code, read_through, stored_records
from brain_async.cortex.incident import IncidentCursor, incident_edges
from brain_async.cortex.outbox_entries import (
    BY_VERSION,
    COUNTS,
    Noted,
    around_prefix,
    count_key,
    decode_entry,
    edge_prefix,
    entry_key,
    namespace_prefix,
    number_bytes,
    settle_entries,
    write_entries,
)
from brain_async.cortex.view import LedgerView
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.kv import Change, KeyValueReader, KeyValueStore, Work
from brain_async.ports.outbox import OutboxEntry

__all__ = ["CortexEdgeOutbox"]


class CortexEdgeOutbox:
    """Implements ``ports.outbox.EdgeOutbox`` in the key-value store of a ledger, whose commits write its entries."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    async def pending(self, scope: Scope, *, after: int, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        prefix = BY_VERSION if scope.namespace_id is None else namespace_prefix(scope.namespace_id)
        async with self._store.snapshot() as reader:
            return await _first(reader, prefix, scope, after=prefix + number_bytes(max(0, after)), limit=limit)

    async def pending_for(self, scope: Scope, keys: Sequence[EdgeKey]) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        distinct = list(dict.fromkeys(keys))
        if not distinct:
            return []
        async with self._store.snapshot() as reader:
            if scope.namespace_id is not None:
                places = [entry_key(scope.namespace_id, key) for key in distinct]
                versions = list((await reader.get_many(places)).values())
            else:
                versions = [value for key in distinct async for _, value in reader.scan(edge_prefix(key))]
            return await _entries(reader, versions)

    async def pending_around(self, scope: Scope, object_id: UUID, *, limit: int) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""
        async with self._store.snapshot() as reader:
            return await _first(reader, around_prefix(object_id), scope, after=None, limit=limit)

    async def current(self, scope: Scope, keys: Sequence[EdgeKey]) -> Sequence[Edge]:
        """As in the port."""
        async with self._store.snapshot() as reader:
            found = await read_through(reader, stored_records(keys))
            labels = all_labels(await LedgerView(reader).labels())
            edges = [edge_of(value, labels) for record, value in found.values() if not record.tombstoned]
            return [edge for edge in edges if scope.sees(edge.namespace_id)]

    async def settle(
        self,
        scope: Scope,  # noqa: ARG002
        entries: Sequence[OutboxEntry[EdgeKey]],
    ) -> Sequence[OutboxEntry[EdgeKey]]:
        """As in the port."""

        def work() -> Work[list[OutboxEntry[EdgeKey]]]:
            writes, others = yield from settle_entries(entries)
            return Change(writes), others

        return await self._store.commit(work) if entries else []

    async def reopen(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        """As in the port."""

        def work() -> Work[None]:
            found = yield from stored_records(keys)
            noted: list[Noted] = []
            for key in dict.fromkeys(keys):
                owner = decode_edge_data(found[key][0].data)[1] if key in found else None
                noted.append((owner if owner is not None and scope.sees(owner) else scope.namespace_id, key, None))
            return Change((yield from write_entries(noted))), None

        if keys:
            await self._store.commit(work)

    async def reopen_around(self, scope: Scope, object_id: UUID) -> None:
        """As in the port; one commit for every INCIDENT_BATCH edges."""

        def work(cursor: IncidentCursor) -> Work[IncidentCursor]:
            cursor, live = yield from incident_edges(object_id.bytes, cursor)
            labels = yield from labels_by_code()
            edges = [edge_of(value, labels) for _, value in live]
            noted: list[Noted] = [(e.namespace_id, e.key, None) for e in edges if scope.sees(e.namespace_id)]
            return Change((yield from write_entries(noted)) if noted else {}), cursor

        cursor = IncidentCursor()
        while not cursor.done:
            cursor = await self._store.commit(partial(work, cursor))

    async def count(self, scope: Scope) -> int:
        """As in the port."""
        async with self._store.snapshot() as reader:
            if scope.namespace_id is not None:
                return int.from_bytes(await reader.get(count_key(scope.namespace_id)) or b"", "big")
            return sum([int.from_bytes(value, "big") async for _, value in reader.scan(COUNTS)])


async def _first(
    reader: KeyValueReader, prefix: bytes, scope: Scope, *, after: bytes | None, limit: int
) -> list[OutboxEntry[EdgeKey]]:
    """The first ``limit`` entries under a prefix, by version, that the scope sees."""
    found: list[OutboxEntry[EdgeKey]] = []
    versions: list[bytes] = []
    async with aclosing(cast("AsyncGenerator[tuple[bytes, bytes]]", reader.scan(prefix, after=after))) as records:
        async for key, _ in records:
            if len(found) + len(versions) >= limit:
                found += await _seen(reader, versions, scope)
                versions = []
                if len(found) >= limit:
                    return found
            versions.append(key[len(prefix) :])
    return found + await _seen(reader, versions, scope)


async def _seen(reader: KeyValueReader, versions: Sequence[bytes], scope: Scope) -> list[OutboxEntry[EdgeKey]]:
    return [entry for entry in await _entries(reader, versions) if scope.sees(entry.namespace_id)]


async def _entries(reader: KeyValueReader, versions: Sequence[bytes]) -> list[OutboxEntry[EdgeKey]]:
    """The entries of these versions, in their order."""
    places = [BY_VERSION + version for version in versions]
    found = await reader.get_many(places)
    return [decode_entry(place, found[place]) for place in places if place in found]
