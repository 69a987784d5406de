"""CortexGraph: the edges of a ledger as a graph, for a host that runs no graph database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

import msgspec

from brain_async.cortex.batch import Asking, Batch
from brain_async.cortex.edge_writes import live_edges, record_edges
from brain_async.cortex.engine_edge import all_labels, edge_of, labels_by_code
from brain_async.cortex.incident import IncidentCursor, incident_edges
from brain_async.cortex.keys import FORWARD, REVERSE, edge_prefix, is_removed, node_prefix
from brain_async.cortex.ledger import Ledger
from brain_async.cortex.notes import NoteIndex
from brain_async.cortex.view import LedgerView
from brain_async.model.candidate import EdgeHit
from brain_async.model.object import Object
from brain_async.model.recording import owned_by
from brain_async.model.relation import Direction, Edge, EdgeKey, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from brain_async.ports.kv import Change, Work

__all__ = ["REMOVED_WITH_OBJECT", "CortexGraph"]

REMOVED_WITH_OBJECT = "an object was removed"
"""The reason of edges that ``remove_objects`` removes."""

_FEW = 99
"""A side of a node with at most so many edges is read whole, whatever their types: one request of a hop reads all of these."""

_LAST_PEER = b"\xff" * 16

_Side = tuple[bytes, Literal["out", "in"]]
_SIDES: tuple[_Side, ...] = ((FORWARD, "out"), (REVERSE, "in"))


class CortexGraph:
    """Implements GraphReader, GraphWriter and GraphEdgeSearcher of ``ports.graph`` over a ledger.

    There are no nodes: ``ensure_objects`` has nothing to do, and objects are neither searched nor scanned here. What a
    ledger cannot hold is not there: a self-loop is left out, as it is of ``neighbors``. A key is one edge whatever the
    namespace: adding it while it is live in another one raises NamespaceMismatchError, and nothing of the call is written.
    Labels that are not canonical are registered when they are first used; there are HOST_TYPE_COUNT of them at most, one more
    raises InvalidEdgeTypeError. Metadata travel in the records' data (``edge_data``); an edge that was added to the ledger
    with other data raises LedgerCorruptError where it is met. All methods raise the store's BackendErrors.

    Notes are searched in an index of this process, which the first search fills from the journal.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._notes = NoteIndex()

    # GraphReader

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        """As in the port, all of one moment of the ledger."""
        async with self._ledger.snapshot() as view:
            codes = {label: code for code, label in all_labels(await view.labels()).items()}
            labels = dict.fromkeys(map(canonical_relation_type, relation_types)) if relation_types else sorted(codes)
            asked = [(label, codes[label]) for label in labels if label in codes]
            sides = [side for side in _SIDES if direction in (side[1], "both")]
            nodes = list(dict.fromkeys(frontier))
            if limit <= 0:
                return {node: [] for node in nodes}
            prefixes = [node_prefix(side, node.bytes) for node in nodes for side, _ in sides]
            first = await view.reader.scan_many(prefixes, limit=_FEW + 1)
            return {node: await _neighbors(view, scope, node, asked, sides, first, limit) for node in nodes}

    # GraphWriter

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        """Nothing: a ledger has no nodes."""

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        """Remove every edge of the objects that the scope sees, INCIDENT_BATCH to a commit.

        A call that fails half way is repeated. An edge that is added meanwhile may stay.
        """
        at = self._ledger.now()
        for object_id in dict.fromkeys(object_ids):
            cursor = IncidentCursor()
            while not cursor.done:
                cursor = await self._ledger.commit(partial(_remove_part, scope, object_id.bytes, cursor, at))

    async def add_edges(self, scope: Scope, edges: Sequence[Edge]) -> None:
        """As in the port, in one commit; edges of a namespace that the scope does not see are left out."""
        at = self._ledger.now()
        owned = [edge for each in edges if (edge := owned_by(scope, each)) is not None and edge.from_id != edge.to_id]
        if owned:
            await self._ledger.commit(lambda: _add_work(owned, at))

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        """As in the port, in one commit; the records stay, marked as removed."""
        at = self._ledger.now()
        if keys:
            await self._ledger.commit(lambda: _remove_work(scope, keys, at))

    # GraphEdgeSearcher

    async def search_edges(self, scope: Scope, relation_type: str, query: str, *, k: int) -> Sequence[EdgeHit]:
        """As in the port (BM25, whole words, case folded, neither stemmed nor stopped)."""
        async with self._ledger.snapshot() as view:
            await self._notes.catch_up(view)
        return self._notes.search(scope, relation_type, query, k=k)


def _add_work(edges: Sequence[Edge], at: datetime) -> Work[None]:
    change, _ = yield from record_edges(edges, at)
    return change, None


def _remove_work(scope: Scope, keys: Sequence[EdgeKey], at: datetime) -> Work[None]:
    """Remove those of the edges that the scope sees."""
    known = yield from live_edges(keys)
    return (yield from _removal(scope, known.values(), at, "")), None


def _remove_part(scope: Scope, node: bytes, cursor: IncidentCursor, at: datetime) -> Work[IncidentCursor]:
    """Remove the next INCIDENT_BATCH edges of a node that the scope sees."""
    cursor, live = yield from incident_edges(node, cursor)
    labels = yield from labels_by_code()
    return (yield from _removal(scope, [edge_of(value, labels) for _, value in live], at, REMOVED_WITH_OBJECT)), cursor


def _removal(scope: Scope, edges: Iterable[Edge], at: datetime, reason: str) -> Asking[Change]:
    batch = Batch(at)
    seen = [(edge.from_id, edge.relation_type, edge.to_id) for edge in edges if scope.sees(edge.namespace_id)]
    yield from batch.remove(seen, reason=reason, by="")
    return (yield from batch.finish())


async def _neighbors(
    view: LedgerView,
    scope: Scope,
    node: UUID,
    asked: Iterable[tuple[str, int]],
    sides: Sequence[_Side],
    first: Mapping[bytes, Sequence[tuple[bytes, bytes]]],
    limit: int,
) -> list[Neighbor]:
    found: list[Neighbor] = []
    around = [(direction, await _around(view, side, node.bytes, first)) for side, direction in sides]
    for label, code in asked:
        for direction, edges in around:
            async for value in edges.of_type(code):
                edge = None if is_removed(value) else edge_of(value, {code: label})
                if edge is not None and scope.sees(edge.namespace_id):
                    peer = edge.to_id if direction == "out" else edge.from_id
                    found.append(Neighbor(object_id=peer, relation_type=label, direction=direction, meta=edge.meta))
                    if len(found) == limit:
                        return found
    return found


class _Around(msgspec.Struct, frozen=True):
    """The edges on one side of a node: all of them by type, or with ``few`` false only which types there are."""

    view: LedgerView
    side: bytes
    node: bytes
    few: bool
    values: dict[int, list[bytes]]

    async def of_type(self, code: int) -> AsyncIterator[bytes]:
        """The stored values of one type, by ascending peer."""
        if self.few or code not in self.values:
            for value in self.values.get(code, ()):
                yield value
        else:
            async for _, value in self.view.reader.scan(edge_prefix(self.side, self.node, code)):
                yield value


async def _around(
    view: LedgerView, side: bytes, node: bytes, first: Mapping[bytes, Sequence[tuple[bytes, bytes]]]
) -> _Around:
    prefix, values = node_prefix(side, node), dict[int, list[bytes]]()
    if len(first[prefix]) > _FEW:
        return _Around(view, side, node, False, {code: [] for code in await _types(view, side, node)})
    for key, value in first[prefix]:
        values.setdefault(key[len(prefix)], []).append(value)
    return _Around(view, side, node, True, values)


async def _types(view: LedgerView, side: bytes, node: bytes) -> list[int]:
    """The types of the edges of ``node``, found by skipping from each to the next."""
    prefix, codes = node_prefix(side, node), list[int]()
    after: bytes | None = None
    while True:
        async for key, _ in view.reader.scan(prefix, after=after):
            codes.append(key[len(prefix)])
            break
        else:
            return codes
        after = edge_prefix(side, node, codes[-1]) + _LAST_PEER
