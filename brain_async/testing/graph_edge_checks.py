"""Checks of the graph ports that edges alone are needed for: their order and identity, removal, and search over notes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import msgspec

from brain_async.model.relation import EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import around, edge_between, ensure_nodes, steps
from brain_async.testing.subjects import BASE_TIME, CheckedEdges, fresh_scope

__all__ = ["CHECKS"]


async def check_neighbors_order_and_direction(graph: CheckedEdges) -> None:
    """Labels in the order asked (all: ascending), out before in, then the other end's id; self-loops left out."""
    scope = fresh_scope()
    a, b, c, d = await ensure_nodes(graph, scope, 4)
    edges = [
        edge_between(scope, a, d, "beta"),
        edge_between(scope, a, b, "beta"),
        edge_between(scope, c, a, "beta"),
        edge_between(scope, b, a, "alpha"),
        edge_between(scope, a, c, "alpha"),
        edge_between(scope, a, a, "alpha"),
        edge_between(scope, b, c, "alpha"),
    ]
    Random(1).shuffle(edges)
    await graph.add_edges(scope, edges)
    alpha = [(c.id, "alpha", "out"), (b.id, "alpha", "in")]
    beta = [(b.id, "beta", "out"), (d.id, "beta", "out"), (c.id, "beta", "in")]
    assert steps(await around(graph, scope, a)) == alpha + beta
    assert steps(await around(graph, scope, a, "beta", "alpha")) == beta + alpha
    assert steps(await around(graph, scope, a, "beta")) == beta
    assert steps(await around(graph, scope, a, "missing")) == []
    assert steps(await around(graph, scope, a, towards="out")) == [alpha[0], beta[0], beta[1]]
    assert steps(await around(graph, scope, a, towards="in")) == [alpha[1], beta[2]]
    for limit in range(6):
        assert steps(await around(graph, scope, a, limit=limit)) == (alpha + beta)[:limit], f"limit={limit}"


async def check_neighbors_of_a_frontier(graph: CheckedEdges) -> None:
    """Each frontier node has its own list, also in the face of strangers and repeats."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    await graph.add_edges(scope, [edge_between(scope, a, b), edge_between(scope, b, c)])
    stranger = uuid4()
    found = await graph.neighbors(scope, [c.key, stranger, a.key, a.key], (), direction="both", limit=10)
    assert {key: steps(list(value)) for key, value in found.items()} == {
        c.key: [(b.id, "about", "in")],
        stranger: [],
        a.key: [(b.id, "about", "out")],
    }
    assert dict(await graph.neighbors(scope, [], (), direction="both", limit=10)) == {}


async def check_hub(graph: CheckedEdges) -> None:
    """Which 50 of a hub's 10,000 neighbours are returned does not depend on the order of insertion."""
    scope = fresh_scope()
    hub = uuid4()
    others = [uuid4() for _ in range(10_000)]
    edges = [edge_between(scope, hub, other) for other in others]
    for start in range(0, len(edges), 2_000):
        await graph.add_edges(scope, edges[start : start + 2_000])
    wanted = sorted(others, key=lambda key: key.int)[:50]
    for labels in ((), ("about",)):
        found = await graph.neighbors(scope, [hub], labels, direction="both", limit=50)
        assert [neighbor.object_id for neighbor in found[hub]] == wanted


async def check_edge_identity(graph: CheckedEdges) -> None:
    """One edge per (from, to, label): labels are trimmed and lower-cased, the metadata is replaced, created_at kept."""
    scope = fresh_scope()
    a, b = await ensure_nodes(graph, scope, 2)
    await graph.add_edges(scope, [edge_between(scope, a, b, "about", note="1", role="r")])
    (first,) = await around(graph, scope, a, "about")
    for note in ("2", "3"):
        await graph.add_edges(
            scope, [edge_between(scope, a, b, label, note=note) for label in ("about", " about ", "About")]
        )
    await graph.add_edges(scope, [edge_between(scope, b, a, "about"), edge_between(scope, a, b, "references")])
    both = await around(graph, scope, a, "about", "references")
    assert steps(both) == [(b.id, "about", "out"), (b.id, "about", "in"), (b.id, "references", "out")]
    assert (both[0].meta.note, both[0].meta.role) == ("3", ""), "the last metadata replaces the whole of it"
    assert both[0].meta.created_at == first.meta.created_at
    assert first.meta.updated_at is not None
    assert both[0].meta.updated_at is not None
    assert both[0].meta.updated_at >= first.meta.updated_at
    assert steps(await around(graph, scope, b, "about")) == [(a.id, "about", "out"), (a.id, "about", "in")]


async def check_edge_metadata_round_trip(graph: CheckedEdges) -> None:
    """Metadata is read back as it was given; unset times are filled in, once."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    meta = EdgeMeta(
        note="Grüße 世界 'quoted'",
        status="open",
        role="lead",
        confidence=0.25,
        evidence_id=uuid4(),
        created_at=BASE_TIME,
        updated_at=BASE_TIME + timedelta(microseconds=7),
    )
    full = msgspec.structs.replace(edge_between(scope, a, b), meta=meta)
    await graph.add_edges(scope, [full, edge_between(scope, a, c)])
    by_end = {neighbor.object_id: neighbor.meta for neighbor in await around(graph, scope, a)}
    assert by_end[b.key] == meta
    filled = by_end[c.key]
    assert filled.created_at is not None
    assert abs(filled.created_at - datetime.now(UTC)) < timedelta(minutes=5)
    assert filled.created_at == filled.updated_at
    moved = msgspec.structs.replace(meta, created_at=BASE_TIME - timedelta(days=1))
    await graph.add_edges(scope, [msgspec.structs.replace(full, meta=moved)])
    assert (await around(graph, scope, b))[0].meta == moved, "a created_at that is given replaces the kept one"


async def check_remove_edges(graph: CheckedEdges) -> None:
    """Removal is by key and leaves the others; repeating it, or removing what is not there, is ignored."""
    scope = fresh_scope()
    a, b = await ensure_nodes(graph, scope, 2)
    await graph.add_edges(
        scope, [edge_between(scope, a, b, note="zebra"), edge_between(scope, b, a), edge_between(scope, a, b, "x")]
    )
    for _ in range(2):
        await graph.remove_edges(scope, [EdgeKey(a.key, b.key, " ABOUT "), EdgeKey(a.key, uuid4(), "about")])
    assert steps(await around(graph, scope, a)) == [(b.id, "about", "in"), (b.id, "x", "out")]
    assert list(await graph.search_edges(scope, "about", "zebra", k=5)) == []
    await graph.remove_edges(scope, [])


async def check_remove_objects_drops_edges(graph: CheckedEdges) -> None:
    """The edges of a removed object are neither walked nor found, and do not come back with it."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    await graph.add_edges(
        scope, [edge_between(scope, a, b, note="zebra"), edge_between(scope, b, a), edge_between(scope, a, c)]
    )
    for _ in range(2):
        await graph.remove_objects(scope, [b.key, uuid4()])
    assert steps(await around(graph, scope, a)) == [(c.id, "about", "out")]
    assert await around(graph, scope, b) == []
    assert list(await graph.search_edges(scope, "about", "zebra", k=5)) == []
    await graph.ensure_objects(scope, [b])
    assert await around(graph, scope, b) == []


async def check_edges_of_other_namespaces_are_never_seen(graph: CheckedEdges) -> None:
    """Edges and notes of another namespace are neither found, walked, changed nor removed."""
    scope, other = fresh_scope(), fresh_scope()
    node, second = await ensure_nodes(graph, scope, 2)
    (theirs,) = await ensure_nodes(graph, other, 1)
    await graph.add_edges(scope, [edge_between(scope, node, second, note="zebra")])
    await graph.add_edges(
        other, [edge_between(other, theirs, node, note="zebra"), edge_between(other, node, theirs, note="zebra")]
    )
    await graph.add_edges(other, [edge_between(scope, node, second, note="stolen")])
    await graph.remove_objects(other, [second.key])
    await graph.remove_edges(other, [EdgeKey(node.key, second.key, "about")])

    (seen,) = await around(graph, scope, node)
    assert (seen.object_id, seen.meta.note) == (second.id, "zebra")
    assert await around(graph, scope, theirs) == []
    assert steps(await around(graph, other, theirs)) == [(node.id, "about", "out"), (node.id, "about", "in")]
    notes = await graph.search_edges(scope, "about", "zebra", k=10)
    assert [hit.edge.key for hit in notes] == [EdgeKey(node.key, second.key, "about")]
    assert await around(graph, fresh_scope(), node) == []
    everything = steps(await around(graph, Scope(), node))
    assert set(everything) == {(second.id, "about", "out"), (theirs.id, "about", "out"), (theirs.id, "about", "in")}


async def check_edge_note_search(graph: CheckedEdges) -> None:
    """Edges of one label by any whole word of the note, score descending, then key; an update replaces the note."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    edges = [
        edge_between(scope, b, c, note="Zebra crossing"),
        edge_between(scope, a, b, note="zebra crossing"),
        edge_between(scope, a, c, note="crossing the road, slowly"),
        edge_between(scope, c, a, "references", note="zebra crossing"),
        edge_between(scope, c, b),
    ]
    await graph.add_edges(scope, edges)
    hits = await graph.search_edges(scope, " About ", "ZEBRA", k=10)
    assert [hit.edge.key for hit in hits] == [edges[1].key, edges[0].key], "equal scores come in key order"
    assert hits[0].score > 0
    assert (hits[0].edge.meta.note, hits[0].edge.namespace_id) == ("zebra crossing", scope.namespace_id)
    ranked = await graph.search_edges(scope, "about", "zebra road slowly", k=10)
    assert ranked[0].edge.key == edges[2].key
    for query in ("zebr", "missing", "!!"):
        assert list(await graph.search_edges(scope, "about", query, k=10)) == [], query
    assert list(await graph.search_edges(scope, "missing", "zebra", k=10)) == []
    assert [len(await graph.search_edges(scope, "about", "crossing", k=k)) for k in (-1, 0, 1, 2, 99)] == [
        0,
        0,
        1,
        2,
        3,
    ]
    await graph.add_edges(scope, [edge_between(scope, a, b, note="penguin")])
    assert [hit.edge.key for hit in await graph.search_edges(scope, "about", "penguin", k=10)] == [edges[1].key]
    assert [hit.edge.key for hit in await graph.search_edges(scope, "about", "zebra", k=10)] == [edges[0].key]


CHECKS = (
    check_neighbors_order_and_direction,
    check_neighbors_of_a_frontier,
    check_hub,
    check_edge_identity,
    check_edge_metadata_round_trip,
    check_remove_edges,
    check_remove_objects_drops_edges,
    check_edges_of_other_namespaces_are_never_seen,
    check_edge_note_search,
)
