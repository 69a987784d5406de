"""Ids, edges and ledgers for tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import EdgeMetadata, EdgeRecord, EdgeType, Ledger, NewEdge
from brain_async.ports.kv import Change, Work

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
A, B, C, D, E = (UUID(int=number) for number in range(1, 6))


def ticking(start: datetime = NOW, step: timedelta = timedelta(seconds=1)) -> Callable[[], datetime]:
    """A clock that goes on by ``step`` at every look, from ``start``."""
    moment = start - step

    def clock() -> datetime:
        nonlocal moment
        moment += step
        return moment

    return clock


def fresh() -> tuple[MemoryKeyValueStore, Ledger]:
    """An empty store in memory, and a ledger over it whose clock ticks by the second."""
    store = MemoryKeyValueStore()
    return store, Ledger(store, clock=ticking())


def record(**fields: object) -> EdgeRecord:
    """A record with these fields set."""
    values: dict[str, object] = {"type": 3, "src": A.bytes, "dst": B.bytes, "created_at": NOW}
    return EdgeRecord(**(values | fields))  # type: ignore[arg-type]


async def filled(ledger: Ledger, count: int = 40) -> None:
    """Put ``count`` edges, of which every fifth is updated and every seventh removed, and one registered label."""
    label = await ledger.register_label("about")
    edges = [
        NewEdge(
            UUID(int=1 + number % 7),
            label if number % 3 else EdgeType.REFERENCES,
            UUID(int=100 + number),
            EdgeMetadata(created_by="ann", weight=number / 3, data=bytes([number % 256])),
        )
        for number in range(count)
    ]
    await ledger.add_edges(edges)
    for number, edge in enumerate(edges):
        if number % 5 == 0:
            await ledger.update_edge_meta(edge.src, edge.type, edge.dst, data=b"new", by="bob")
        if number % 7 == 0:
            await ledger.remove_edge(edge.src, edge.type, edge.dst, reason="wrong", by="eve")
    again = edges[7 % count]
    await ledger.add_edge(again.src, again.type, again.dst)


async def everything(store: MemoryKeyValueStore) -> dict[bytes, bytes]:
    """All that the store holds."""
    async with store.snapshot() as reader:
        return {key: value for prefix in (b"e/", b"j/", b"idx/", b"m/") async for key, value in reader.scan(prefix)}


async def write(store: MemoryKeyValueStore, writes: dict[bytes, bytes | None]) -> None:
    """Write behind the ledger's back."""

    def work() -> Work[None]:
        yield from ()
        return Change(writes), None

    await store.commit(work)
