"""Checks of EdgeLedger: one record per key and namespace, scanned in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import msgspec

from brain_async.errors import SelfEdgeError
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from brain_async.ports.ledger import EdgeLedger
from brain_async.testing.subjects import BASE_TIME, fresh_scope

__all__ = ["CHECKS"]


def _edge(scope: Scope, source: UUID, target: UUID, label: str = "about", **meta: object) -> Edge:
    return Edge(
        from_id=source,
        to_id=target,
        relation_type=label,
        namespace_id=scope.namespace_id,
        meta=EdgeMeta(**meta),  # type: ignore[arg-type]
    )


async def _scanned(ledger: EdgeLedger, scope: Scope, page: int = 100) -> list[Edge]:
    seen: list[Edge] = []
    after: EdgeKey | None = None
    while edges := await ledger.scan_edges(scope, after=after, limit=page):
        assert len(edges) <= page
        seen += edges
        after = edges[-1].key
    return seen


async def check_record_round_trip(ledger: EdgeLedger) -> None:
    """Recorded edges come back in order with their metadata, times filled in, aware UTC; scan shows the same."""
    scope = fresh_scope()
    a, b = uuid4(), uuid4()
    full = _edge(
        scope,
        a,
        b,
        " About ",
        note="Grüße 世界",
        status="open",
        role="lead",
        confidence=0.25,
        evidence_id=uuid4(),
        created_at=BASE_TIME,
        updated_at=BASE_TIME + timedelta(microseconds=1),
    )
    before = datetime.now(UTC)
    recorded = await ledger.record_edges(scope, [full, _edge(scope, b, a)])
    assert recorded[0] == full, "metadata and given times are kept"
    assert recorded[0].relation_type == "about", "labels are canonical"
    times = recorded[1].meta.created_at, recorded[1].meta.updated_at
    assert times[0] is not None
    assert before - timedelta(minutes=5) <= times[0] <= datetime.now(UTC) + timedelta(minutes=5)
    assert times[0] == times[1], "the first record fills both times alike"
    assert times[0].utcoffset() == timedelta(0)
    assert await _scanned(ledger, scope) == sorted(recorded, key=lambda edge: edge.from_id.int)
    assert await ledger.record_edges(scope, []) == []


async def check_record_again_updates(ledger: EdgeLedger) -> None:
    """One edge per (from, to, label): the metadata is replaced, created_at is kept, updated_at moves."""
    scope = fresh_scope()
    a, b = uuid4(), uuid4()
    (first,) = await ledger.record_edges(scope, [_edge(scope, a, b, note="1", role="r")])
    (second,) = await ledger.record_edges(scope, [_edge(scope, a, b, " ABOUT", note="2")])
    assert (second.meta.note, second.meta.role) == ("2", ""), "metadata is replaced as a whole"
    assert second.meta.created_at == first.meta.created_at
    assert first.meta.updated_at is not None
    assert second.meta.updated_at is not None
    assert second.meta.updated_at >= first.meta.updated_at
    assert await _scanned(ledger, scope) == [second]
    await ledger.record_edges(scope, [_edge(scope, b, a), _edge(scope, a, b, "references")])
    assert len(await _scanned(ledger, scope)) == 3, "the reverse edge and other labels are edges of their own"


async def check_scan_order(ledger: EdgeLedger) -> None:
    """Ascending (from, to, label), whatever the order of recording and the size of the pages."""
    scope = fresh_scope()
    nodes = [uuid4() for _ in range(5)]
    edges = [_edge(scope, a, b, label) for a in nodes for b in nodes if a != b for label in ("b", "a", "Ä", "ab")]
    Random(5).shuffle(edges)
    await ledger.record_edges(scope, edges)
    wanted = sorted((edge.key for edge in edges), key=lambda key: (key.from_id.int, key.to_id.int, key.relation_type))
    for page in (1, 7, 1_000):
        assert [edge.key for edge in await _scanned(ledger, scope, page)] == wanted, f"pages of {page}"
    assert list(await ledger.scan_edges(scope, after=wanted[-1], limit=5)) == []


async def check_remove(ledger: EdgeLedger) -> None:
    """A removed edge is not scanned; removing it again or a stranger is ignored; recording it again revives it."""
    scope = fresh_scope()
    a, b = uuid4(), uuid4()
    await ledger.record_edges(scope, [_edge(scope, a, b), _edge(scope, b, a)])
    gone = EdgeKey(a, b, " About")
    for _ in range(2):
        await ledger.remove_edges(scope, [gone, EdgeKey(a, uuid4(), "about")], at=BASE_TIME)
    assert [edge.from_id for edge in await _scanned(ledger, scope)] == [b]
    await ledger.record_edges(scope, [_edge(scope, a, b, note="back")])
    assert {edge.meta.note for edge in await _scanned(ledger, scope)} == {"", "back"}


async def check_remove_object_edges(ledger: EdgeLedger) -> None:
    """Every edge from or to an object is removed, and no other; repeating it is ignored."""
    scope, other = fresh_scope(), fresh_scope()
    a, b, c = (uuid4() for _ in range(3))
    kept = _edge(scope, b, c)
    await ledger.record_edges(scope, [_edge(scope, a, b), _edge(scope, b, a), _edge(scope, c, a, "x"), kept])
    await ledger.remove_object_edges(other, a, at=BASE_TIME)
    assert len(await _scanned(ledger, scope)) == 4, "another namespace removes nothing"
    for object_id in (a, a, uuid4()):
        await ledger.remove_object_edges(scope, object_id, at=BASE_TIME)
    assert [edge.key for edge in await _scanned(ledger, scope)] == [kept.key]


async def check_remove_object_edges_until(ledger: EdgeLedger) -> None:
    """Those recorded by a time are removed, the others stay; recording an edge again counts."""
    scope = fresh_scope()
    a, b, c, d = (uuid4() for _ in range(4))
    early, again, late = (_edge(scope, a, other, updated_at=BASE_TIME) for other in (b, c, d))
    after = BASE_TIME + timedelta(seconds=1)
    await ledger.record_edges(scope, [early, again])
    await ledger.record_edges(
        scope, [msgspec.structs.replace(edge, meta=EdgeMeta(updated_at=after)) for edge in (again, late)]
    )
    await ledger.remove_object_edges(scope, a, at=after, until=BASE_TIME)
    assert {edge.key for edge in await _scanned(ledger, scope)} == {again.key, late.key}
    await ledger.remove_object_edges(scope, a, at=after, until=after)
    assert await _scanned(ledger, scope) == []


async def check_self_loops(ledger: EdgeLedger) -> None:
    """An edge from an object to itself is an edge like others, or is refused with SelfEdgeError, and nothing recorded."""
    scope = fresh_scope()
    a, b = uuid4(), uuid4()
    loop, other = _edge(scope, a, a), _edge(scope, a, b)
    try:
        await ledger.record_edges(scope, [other, loop])
    except SelfEdgeError:
        assert await _scanned(ledger, scope) == []
        await ledger.record_edges(scope, [other])
    else:
        assert {edge.key for edge in await _scanned(ledger, scope)} == {loop.key, other.key}
    await ledger.remove_edges(scope, [loop.key], at=BASE_TIME)
    assert [edge.key for edge in await _scanned(ledger, scope)] == [other.key]
    await ledger.remove_object_edges(scope, a, at=BASE_TIME)
    assert await _scanned(ledger, scope) == []


async def check_namespaces_stay_apart(ledger: EdgeLedger) -> None:
    """Another namespace's edges are neither scanned nor removed."""
    scope, other = fresh_scope(), fresh_scope()
    a, b = uuid4(), uuid4()
    await ledger.record_edges(scope, [_edge(scope, a, b)])
    await ledger.remove_edges(other, [EdgeKey(a, b, "about")], at=BASE_TIME)
    assert await _scanned(ledger, other) == []
    assert [edge.key for edge in await _scanned(ledger, scope)] == [EdgeKey(a, b, "about")]
    await ledger.remove_edges(scope, [EdgeKey(a, b, "about")], at=BASE_TIME)
    assert await _scanned(ledger, scope) == []


CHECKS = (
    check_record_round_trip,
    check_record_again_updates,
    check_scan_order,
    check_remove,
    check_remove_object_edges,
    check_remove_object_edges_until,
    check_self_loops,
    check_namespaces_stay_apart,
)
