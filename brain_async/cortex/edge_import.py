"""Links that were recorded elsewhere, replayed into a ledger once, each at its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby

from brain_async.cortex.batch import Batch, EdgeKeyLike
from brain_async.cortex.edge_writes import add_recorded, live_edges
from brain_async.cortex.outbox_entries import Noted, write_entries
from brain_async.model.edge_event import EdgeEvent
from brain_async.ports.kv import Change, Get, KeyValueReader, KeyValueStore, Work

__all__ = ["import_edges", "is_imported"]

logger = logging.getLogger("brain_async")

_PLACE = b"o/imported"
"""How many events are in the ledger, eight bytes; _DONE once it has all. Committed along with the events themselves."""

_DONE = b"all"
_PAGE = 10_000
_COMMIT = 500
_REMOVED = "removed before the ledger was kept"

ReadEvents = Callable[[int, int], Awaitable[Sequence[EdgeEvent]]]
"""Given (offset, limit): the next events behind the first ``offset``, in the order in which they happened."""


async def is_imported(store: KeyValueStore) -> bool:
    """Whether ``import_edges`` once came to its end."""
    async with store.snapshot() as reader:
        return await _place(reader) is None


async def import_edges(store: KeyValueStore, events: ReadEvents, *, by: str) -> int:
    """Replay what ``events`` gives, unless that was done before; returns how many events were taken now.

    Events that were read again must be the same. Interrupted anywhere, it goes on where it stopped; run by two at once, each
    event is taken once. A removed edge keeps its time, and an edge its metadata and both of its times, in the order of the
    journal, whose times never go back. Edges from an object to itself, which no ledger holds, are left out. What is pending
    is pending here too. Raises what ``events`` raises, InvalidEdgeTypeError for more labels than a ledger has room for, and
    the store's BackendErrors.
    """
    began: int | None = None
    now = datetime.now(UTC)
    while True:
        async with store.snapshot() as reader:
            place = await _place(reader)
        if place is None:
            return 0
        began = place if began is None else began
        page = await events(place, _PAGE)
        if not page:
            await store.commit(_finish)
            if place:
                logger.warning("the ledger now has the %d events of the links that were recorded before it", place)
            return place - began
        works = []
        for part in _parts(page, now):
            works.append(partial(_take, place, part, now, by))
            place += len(part)
        await asyncio.gather(*map(store.commit, works))


async def _place(reader: KeyValueReader) -> int | None:
    value = await reader.get(_PLACE)
    return None if value == _DONE else int.from_bytes(value or b"", "big")


def _parts(page: Sequence[EdgeEvent], now: datetime) -> list[list[EdgeEvent]]:
    """Events of one moment and kind, which are one batch."""
    parts = []
    for _, found in groupby(page, key=lambda event: (min(event.at, now), event.removed)):
        part = list(found)
        parts += [part[start : start + _COMMIT] for start in range(0, len(part), _COMMIT)]
    return parts


def _take(place: int, events: Sequence[EdgeEvent], now: datetime, by: str) -> Work[None]:
    """The events from ``place`` on; nothing where others took them, or those before them are missing."""
    found = yield Get([_PLACE])
    if found.get(_PLACE, bytes(8)) != place.to_bytes(8, "big"):
        return Change(), None
    taken = [event.edge for event in events if event.edge.from_id != event.edge.to_id]
    batch = Batch(min(events[0].at, now))
    if events[0].removed:
        live = yield from live_edges([edge.key for edge in taken])
        # An edge that another namespace recorded since is none of this removal's.
        gone: list[EdgeKeyLike] = [
            (edge.from_id, edge.relation_type, edge.to_id)
            for edge in taken
            if edge.key in live and live[edge.key].namespace_id == edge.namespace_id
        ]
        yield from batch.remove(gone, reason=_REMOVED, by=by)
    else:
        yield from add_recorded(batch, taken, by=by)
    change = yield from batch.finish()
    noted: list[Noted] = [(e.edge.namespace_id, e.edge.key, e.edge.meta.updated_at) for e in events if e.pending]
    entries = (yield from write_entries(noted)) if noted else {}
    return Change({**change.writes, **entries, _PLACE: (place + len(events)).to_bytes(8, "big")}), None


def _finish() -> Work[None]:
    yield from ()
    return Change({_PLACE: _DONE}), None
