"""import_edges: links recorded elsewhere, replayed once, whatever stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.cortex import CortexEdgeLedger, import_edges, is_imported
from brain_async.errors import BackendError
from brain_async.model.edge_event import EdgeEvent
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope

EARLY = datetime(2024, 1, 1, tzinfo=UTC)
A, B, C = (UUID(int=number) for number in (1, 2, 3))
ONE, TWO = UUID(int=91), UUID(int=92)


def event(
    source: UUID, target: UUID, day: int, *, removed: bool = False, space: UUID = ONE, made: int = 0
) -> EdgeEvent:
    at = EARLY + timedelta(days=day)
    created = EARLY + timedelta(days=made) if removed else at
    meta = EdgeMeta(note=f"{source.int}-{target.int}", created_at=created, updated_at=at)
    edge = Edge(from_id=source, to_id=target, relation_type="about", namespace_id=space, meta=meta)
    return EdgeEvent(edge=edge, at=at, removed=removed, pending=target == C)


class Source:
    """Events in small pages; fails when it is read the ``failing``th time."""

    def __init__(self, events: Sequence[EdgeEvent], *, page: int = 2, failing: int = 10**9) -> None:
        self.events, self.page, self.left = events, page, failing

    async def __call__(self, offset: int, limit: int) -> Sequence[EdgeEvent]:
        await asyncio.sleep(0)
        self.left -= 1
        if self.left < 0:
            raise BackendError("stopped")
        return self.events[offset : offset + min(limit, self.page)]


async def test_what_was_removed_stays_so_and_what_is_pending_is_pending() -> None:
    store = MemoryKeyValueStore()
    links = CortexEdgeLedger(store)
    events = [event(A, B, 0), event(A, C, 1), event(B, A, 1), event(A, A, 2), event(B, A, 3, removed=True, made=1)]
    assert not await is_imported(store)
    assert await import_edges(store, Source(events), by="import") == 5
    assert await is_imported(store)
    edges = await links.scan_edges(Scope(), after=None, limit=9)
    assert edges == [events[0].edge, events[1].edge], "metadata, times and namespace are kept"
    gone = await links.ledger.get_edge(B, "about", A)
    assert (gone.created_at, gone.tombstoned_at) == (EARLY + timedelta(days=1), EARLY + timedelta(days=3))
    assert gone.tombstoned_by == "import"
    pending = await links.graph_outbox.pending(Scope(), after=0, limit=9)
    assert [entry.key for entry in pending] == [EdgeKey(A, C, "about")]
    assert len(await links.ledger.edges_out(B, as_of=EARLY + timedelta(days=2))) == 1, "it was live then"
    await links.ledger.verify()


async def test_an_edge_that_another_namespace_recorded_since_is_not_removed() -> None:
    store = MemoryKeyValueStore()
    events = [event(A, B, 0), event(A, B, 2, space=TWO), event(A, B, 3, removed=True)]
    await import_edges(store, Source(events), by="")
    edges = await CortexEdgeLedger(store).scan_edges(Scope(TWO), after=None, limit=9)
    assert edges == [events[1].edge]


async def test_it_happens_once() -> None:
    store = MemoryKeyValueStore()
    links = CortexEdgeLedger(store)
    await import_edges(store, Source([event(A, B, 0)]), by="")
    await links.remove_edges(Scope(), [EdgeKey(A, B, "about")], at=EARLY + timedelta(days=9))
    assert await import_edges(store, Source([event(A, B, 0), event(B, C, 0)]), by="") == 0
    assert await links.scan_edges(Scope(), after=None, limit=9) == []


async def test_times_to_come_are_those_of_the_import() -> None:
    store = MemoryKeyValueStore()
    await import_edges(store, Source([event(A, B, 100_000)]), by="")
    await CortexEdgeLedger(store).record_edges(Scope(ONE), [Edge(from_id=B, to_id=C, relation_type="about")])
    async with CortexEdgeLedger(store).ledger.snapshot() as view:
        ats = [entry.at async for entry in view.iter_journal()]
    assert max(ats) <= datetime.now(UTC)


nodes = st.sampled_from([A, B, C])
histories = st.lists(st.tuples(nodes, nodes, st.booleans(), st.integers(0, 2)), max_size=12)


@given(histories, st.lists(st.integers(0, 3), max_size=3))
async def test_interrupted_anywhere_and_run_by_two_it_comes_to_the_same(
    history: list[tuple[UUID, UUID, bool, int]], failures: list[int]
) -> None:
    events, day = [], 0
    for source, target, removed, pause in history:
        day += pause
        events.append(event(source, target, day, removed=removed))
    events.sort(key=lambda each: (each.at, each.removed))
    plain, stopped = MemoryKeyValueStore(), MemoryKeyValueStore()
    await import_edges(plain, Source(events), by="")
    for failing in failures:
        if not await is_imported(stopped):
            try:
                await import_edges(stopped, Source(events, failing=failing), by="")
            except BackendError:
                assert not await is_imported(stopped)
    await asyncio.gather(*(import_edges(stopped, Source(events, page=page), by="") for page in (1, 3)))
    assert await CortexEdgeLedger(stopped).ledger.overall_root() == await CortexEdgeLedger(plain).ledger.overall_root()
    await CortexEdgeLedger(stopped).ledger.verify()


async def test_a_failure_is_raised() -> None:
    with pytest.raises(BackendError, match="stopped"):
        await import_edges(MemoryKeyValueStore(), Source([], failing=0), by="")
