"""Checks of the graph's outbox: every durable write leaves its entry, and settling never loses a later one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, TypeVar
from uuid import UUID, uuid4

import msgspec

from brain_async.errors import NamespaceMismatchError
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.outbox import GraphOutbox, KeepsEdgeOutbox, KeepsNodeOutbox, OutboxEntry
from brain_async.ports.store import ObjectReader, ObjectWriter
from brain_async.testing.graph_subjects import edge_between
from brain_async.testing.subjects import BASE_TIME, direction, fresh_scope, new_parent, new_part, put_all

__all__ = ["EDGE_CHECKS", "NODE_CHECKS", "OutboxLedger", "OutboxStore"]

K = TypeVar("K")
V = TypeVar("V")

LATER = BASE_TIME + timedelta(seconds=1)


class OutboxStore(ObjectReader, ObjectWriter, KeepsNodeOutbox, Protocol):
    """A store that keeps an outbox."""


class OutboxLedger(EdgeLedger, KeepsEdgeOutbox, Protocol):
    """An edge ledger that keeps an outbox."""


async def _pending(outbox: GraphOutbox[K, V], scope: Scope, *, page: int = 100) -> list[OutboxEntry[K]]:
    """Every entry, page by page, having asserted that versions ascend and that the count is right."""
    found: list[OutboxEntry[K]] = []
    while entries := await outbox.pending(scope, after=found[-1].version if found else 0, limit=page):
        assert len(entries) <= page
        found += entries
    versions = [entry.version for entry in found]
    assert versions == sorted(set(versions)), "pending comes by ascending version, each once"
    assert await outbox.count(scope) == len(found)
    return found


async def _keys(outbox: GraphOutbox[K, V], scope: Scope) -> set[K]:
    return {entry.key for entry in await _pending(outbox, scope)}


async def _settle_all(outbox: GraphOutbox[K, V], scope: Scope) -> None:
    assert list(await outbox.settle(scope, await _pending(outbox, scope))) == []
    assert await _pending(outbox, scope) == []


async def check_puts_are_pending(store: OutboxStore) -> None:
    """Every put of a first-class object leaves one entry, with its updated_at as the stamp; parts leave none."""
    scope, outbox = fresh_scope(), store.graph_outbox
    parents = [new_parent(scope) for _ in range(5)]
    await put_all(store, scope, *parents, new_part(scope, parents[0]))
    entries = await _pending(outbox, scope, page=2)
    assert {entry.key: entry.stamp for entry in entries} == {parent.key: parent.updated_at for parent in parents}
    assert {(entry.namespace_id, entry.with_edges) for entry in entries} == {(scope.namespace_id, False)}
    await put_all(store, scope, msgspec.structs.replace(parents[0], title="again", updated_at=LATER))
    again = await _pending(outbox, scope)
    assert len(again) == len(entries), "one entry an object, however often it is put"
    assert (again[-1].key, again[-1].stamp) == (parents[0].id, LATER)
    assert again[-1].version > entries[-1].version, "every write of an entry gives it a new version"
    chosen = await outbox.pending_for(scope, [parents[1].key, uuid4(), parents[0].key])
    assert {entry.key for entry in chosen} == {parents[0].id, parents[1].id}
    assert list(await outbox.pending_for(scope, [])) == list(await outbox.settle(scope, [])) == []


async def check_refused_puts_leave_nothing(store: OutboxStore) -> None:
    """What was not written leaves no entry, and does not keep its neighbours' away."""
    scope, outbox = fresh_scope(), store.graph_outbox
    good, bad = new_parent(scope), new_parent(fresh_scope())
    results = await store.put_objects(scope, [bad, good])
    assert isinstance(results[1], Object)
    assert await _keys(outbox, scope) == {good.id}
    assert list(await outbox.pending_for(Scope(), [bad.key])) == []


async def check_current_is_what_the_graph_holds(store: OutboxStore) -> None:
    """Live first-class objects with content and embedding; parts, deleted, foreign and unknown ones are absent."""
    scope, other, outbox = fresh_scope(), fresh_scope(), store.graph_outbox
    whole = new_parent(scope, title="whole", content="words", embedding=direction(8, 0))
    gone, foreign = new_parent(scope), new_parent(other)
    part = new_part(scope, whole)
    await put_all(store, scope, whole, gone, part)
    await put_all(store, other, foreign)
    await store.soft_delete(scope, gone.key, at=LATER)
    found = await outbox.current(scope, [whole.key, gone.key, part.key, foreign.key, uuid4()])
    assert [(obj.id, obj.content, obj.updated_at) for obj in found] == [(whole.id, "words", whole.updated_at)]
    assert found[0].embedding is not None
    assert abs(found[0].embedding[0] - 1) < 1e-3


async def check_deletions_and_revivals_are_pending(store: OutboxStore) -> None:
    """soft_delete leaves an entry; one of a revived object says that the edges are due too, and when it was deleted."""
    scope, outbox = fresh_scope(), store.graph_outbox
    parent = new_parent(scope)
    part = new_part(scope, parent)
    await put_all(store, scope, parent, part)
    await _settle_all(outbox, scope)
    await store.soft_delete(scope, part.key, at=LATER)
    assert await _pending(outbox, scope) == [], "parts are not in the graph"
    await store.soft_delete(scope, parent.key, at=LATER)
    assert await _keys(outbox, scope) == {parent.id}
    assert [entry.deleted_at for entry in await _pending(outbox, scope)] == [LATER]
    assert list(await outbox.current(scope, [parent.key])) == []
    for _ in range(2):
        await put_all(store, scope, parent)
        await outbox.reopen(scope, [parent.key])
        assert [(entry.with_edges, entry.deleted_at) for entry in await _pending(outbox, scope)] == [(True, LATER)]
    await _settle_all(outbox, scope)
    await put_all(store, scope, parent)
    assert [(entry.with_edges, entry.deleted_at) for entry in await _pending(outbox, scope)] == [(False, None)]


async def check_becoming_a_part_is_pending(store: OutboxStore) -> None:
    """An object that becomes a part leaves an entry without a current object; one that stops being one, with its edges."""
    scope, outbox = fresh_scope(), store.graph_outbox
    parent, moved = new_parent(scope), new_parent(scope)
    await put_all(store, scope, parent, moved)
    await _settle_all(outbox, scope)
    await put_all(store, scope, msgspec.structs.replace(moved, parent_id=parent.id))
    assert await _keys(outbox, scope) == {moved.id}
    assert list(await outbox.current(scope, [moved.key])) == []
    await put_all(store, scope, moved)
    assert [(entry.key, entry.with_edges) for entry in await _pending(outbox, scope)] == [(moved.id, True)]


async def check_settling_keeps_what_came_later(store: OutboxStore) -> None:
    """An entry that was written again, or settled by somebody else, is returned, and what is pending stays."""
    scope, outbox = fresh_scope(), store.graph_outbox
    changed, kept, gone = (new_parent(scope) for _ in range(3))
    await put_all(store, scope, changed, kept, gone)
    old = {entry.key: entry for entry in await _pending(outbox, scope)}
    await put_all(store, scope, changed)
    assert list(await outbox.settle(scope, [old[gone.key]])) == []
    overtaken = await outbox.settle(scope, [old[changed.key], old[kept.key], old[gone.key]])
    assert {entry.key for entry in overtaken} == {changed.id, gone.id}
    assert await _keys(outbox, scope) == {changed.id}


async def check_reopening(store: OutboxStore) -> None:
    """Reopened entries have a new version and no stamp, also where there was none, and for ids that are unknown."""
    scope, other, outbox = fresh_scope(), fresh_scope(), store.graph_outbox
    known, foreign, unknown = new_parent(scope), new_parent(other), uuid4()
    await put_all(store, scope, known)
    await put_all(store, other, foreign)
    await _settle_all(outbox, scope)
    await _settle_all(outbox, other)
    await outbox.reopen(scope, [known.key, unknown, foreign.key])
    entries = await _pending(outbox, scope)
    assert {(entry.key, entry.stamp, entry.with_edges) for entry in entries} == {
        (known.id, None, False),
        (unknown, None, False),
    }
    assert await _pending(outbox, other) == [], "another namespace's objects are not reopened"
    await outbox.reopen(scope, [known.key], with_edges=True)
    await outbox.reopen(scope, [known.key])
    assert [e.with_edges for e in await outbox.pending_for(scope, [known.key])] == [True], "it stays until settled"
    await _settle_all(outbox, scope)


async def check_namespaces_stay_apart(store: OutboxStore) -> None:
    """Another namespace's entries are not seen; an unrestricted scope sees all."""
    scope, other, outbox = fresh_scope(), fresh_scope(), store.graph_outbox
    mine, theirs = new_parent(scope), new_parent(other)
    await put_all(store, scope, mine)
    await put_all(store, other, theirs)
    assert await _keys(outbox, scope) == {mine.id}
    assert list(await outbox.pending_for(scope, [theirs.key])) == []
    both = await outbox.pending_for(Scope(), [mine.key, theirs.key])
    assert {entry.namespace_id for entry in both} == {scope.namespace_id, other.namespace_id}


def _ends(scope: Scope, count: int = 3) -> tuple[list[UUID], list[Edge]]:
    """Ids, and the edges that lead from the first of them to each of the others."""
    nodes = [uuid4() for _ in range(count)]
    return nodes, [edge_between(scope, nodes[0], node) for node in nodes[1:]]


async def check_links_are_pending(ledger: OutboxLedger) -> None:
    """Recording and removing leave one entry an edge; ``current`` has the recorded ones only."""
    scope, outbox = fresh_scope(), ledger.graph_outbox
    _, edges = _ends(scope)
    recorded = await ledger.record_edges(scope, [*edges, msgspec.structs.replace(edges[0], relation_type="x")])
    entries = await _pending(outbox, scope, page=2)
    times = {edge.key: edge.meta.updated_at for edge in recorded}
    assert {entry.key: entry.stamp for entry in entries} == times
    assert {entry.namespace_id for entry in entries} == {scope.namespace_id}
    await _settle_all(outbox, scope)
    await ledger.remove_edges(scope, [edges[0].key, EdgeKey(uuid4(), uuid4(), "x")], at=LATER)
    assert await _keys(outbox, scope) == {edges[0].key}
    found = await outbox.current(scope, [edge.key for edge in edges])
    assert list(found) == [edge for edge in recorded if edge.key == edges[1].key]


async def check_removing_an_objects_edges_is_pending(ledger: OutboxLedger) -> None:
    """Every edge of the object has an entry then, which ``pending_around`` finds from both ends."""
    scope, outbox = fresh_scope(), ledger.graph_outbox
    nodes, edges = _ends(scope, 4)
    stranger = edge_between(scope, nodes[1], nodes[2])
    await ledger.record_edges(scope, [*edges, stranger])
    await _settle_all(outbox, scope)
    await ledger.remove_object_edges(scope, nodes[0], at=LATER)
    assert await _keys(outbox, scope) == {edge.key for edge in edges}
    around = await outbox.pending_around(scope, nodes[0], limit=10)
    assert [entry.key for entry in around] == [entry.key for entry in await _pending(outbox, scope)]
    assert [entry.key for entry in await outbox.pending_around(scope, nodes[3], limit=10)] == [edges[2].key]
    assert len(await outbox.pending_around(scope, nodes[0], limit=2)) == 2
    assert list(await outbox.pending_around(fresh_scope(), nodes[0], limit=2)) == []


async def check_reopening_edges(ledger: OutboxLedger) -> None:
    """``reopen`` takes any key, ``reopen_around`` the recorded edges of an object; a changed entry is not settled."""
    scope, outbox = fresh_scope(), ledger.graph_outbox
    nodes, edges = _ends(scope)
    await ledger.record_edges(scope, edges)
    old = await _pending(outbox, scope)
    await ledger.record_edges(scope, edges[:1])
    assert [entry.key for entry in await outbox.settle(scope, old)] == [edges[0].key]
    await _settle_all(outbox, scope)
    await ledger.remove_edges(scope, [edges[0].key], at=LATER)
    await _settle_all(outbox, scope)
    await outbox.reopen_around(scope, nodes[0])
    assert await _keys(outbox, scope) == {edges[1].key}
    unknown = EdgeKey(uuid4(), uuid4(), "x")
    await outbox.reopen(scope, [unknown, edges[0].key])
    assert {(entry.key, entry.stamp) for entry in await _pending(outbox, scope)} == {
        (key, None) for key in (edges[1].key, unknown, edges[0].key)
    }
    chosen: Sequence[OutboxEntry[EdgeKey]] = await outbox.pending_for(scope, [unknown])
    assert [entry.namespace_id for entry in chosen] == [scope.namespace_id]


async def check_edges_of_namespaces_stay_apart(ledger: OutboxLedger) -> None:
    """One key in two namespaces has an entry in each, also where only one of them can hold the edge."""
    scope, other, outbox = fresh_scope(), fresh_scope(), ledger.graph_outbox
    _, (edge, _) = _ends(scope)
    theirs, held = msgspec.structs.replace(edge, namespace_id=other.namespace_id), 2
    await ledger.record_edges(scope, [edge])
    assert await _pending(outbox, other) == []
    try:
        await ledger.record_edges(other, [theirs])
    except NamespaceMismatchError:  # an object is of one namespace, and so may be its edges
        assert await _pending(outbox, other) == []
        await outbox.reopen(other, [edge.key])
        held = 1
    both = await outbox.pending_for(Scope(), [edge.key])
    assert {entry.namespace_id for entry in both} == {scope.namespace_id, other.namespace_id}
    assert len(await outbox.current(Scope(), [edge.key])) == held
    assert len(await outbox.current(other, [edge.key])) == held - 1
    await _settle_all(outbox, scope)
    assert await _keys(outbox, other) == {edge.key}


NODE_CHECKS = (
    check_puts_are_pending,
    check_refused_puts_leave_nothing,
    check_current_is_what_the_graph_holds,
    check_deletions_and_revivals_are_pending,
    check_becoming_a_part_is_pending,
    check_settling_keeps_what_came_later,
    check_reopening,
    check_namespaces_stay_apart,
)

EDGE_CHECKS = (
    check_links_are_pending,
    check_removing_an_objects_edges_is_pending,
    check_reopening_edges,
    check_edges_of_namespaces_stay_apart,
)
