"""NoteIndex: the notes of a ledger's live edges, by word."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from uuid import UUID

import anyio
from anyio.lowlevel import checkpoint

from brain_async.analysis import plain_terms
from brain_async.cortex.engine_edge import all_labels, edge_of_record
from brain_async.cortex.journal import JournalEntry
from brain_async.cortex.keys import edge_id
from brain_async.cortex.view import LedgerView
from brain_async.inverted_index import InvertedIndex
from brain_async.model.candidate import EdgeHit
from brain_async.model.relation import Edge, canonical_relation_type
from brain_async.model.scope import Scope

__all__ = ["NoteIndex"]

_TURN = 64
"""Entries that are indexed between two turns of the event loop."""


class NoteIndex:
    """An inverted index in this process, one part for each namespace and label, that follows the journal.

    It starts empty and reads the journal from the first entry on; after that only what is new.
    """

    def __init__(self) -> None:
        self._index = InvertedIndex()
        self._edges: dict[int, Edge] = {}
        self._slots: dict[bytes, int] = {}
        self._free: list[int] = []
        self._labels = all_labels({})
        self._seq = 0
        self._turn = anyio.Lock()

    async def catch_up(self, view: LedgerView) -> None:
        """Index every entry up to the view's. Raises LedgerCorruptError for data that is not the engine's.

        A call that is cancelled or fails leaves what it has indexed, and the next one goes on from there.
        """
        async with self._turn:
            async for entry in view.iter_journal(after=self._seq):
                self._apply(entry)
                self._seq = entry.seq
                if not entry.seq % _TURN:
                    await checkpoint()

    def search(self, scope: Scope, relation_type: str, query: str, *, k: int) -> Sequence[EdgeHit]:
        """As ``GraphEdgeSearcher.search_edges``, over what is indexed."""
        label = canonical_relation_type(relation_type)
        groups: Sequence[Hashable] = [(scope.namespace_id, label)]
        if scope.namespace_id is None:
            groups = [group for group in self._index.groups if isinstance(group, tuple) and group[1] == label]
        slots, scores = self._index.search(groups, plain_terms(query))
        hits = [
            EdgeHit(edge=self._edges[slot], score=score)
            for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.edge.from_id, hit.edge.to_id))
        return hits[: max(0, k)]

    def _apply(self, entry: JournalEntry) -> None:
        record = entry.record
        if record is None:
            self._labels[entry.code] = entry.label
            return
        edge = edge_of_record(record, self._labels)
        identity = edge_id(record.src, record.type, record.dst)
        slot = self._slots.pop(identity, None)
        if slot is not None:
            self._index.remove(_group(self._edges.pop(slot)), slot)
            self._free.append(slot)
        terms = [] if record.tombstoned else plain_terms(edge.meta.note)
        if terms:
            slot = self._free.pop() if self._free else len(self._slots)
            self._slots[identity] = slot
            self._edges[slot] = edge
            self._index.add(_group(edge), slot, terms)


def _group(edge: Edge) -> tuple[UUID | None, str]:
    return edge.namespace_id, edge.relation_type
