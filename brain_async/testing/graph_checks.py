"""Checks of the graph ports: edges, their order and identity, and search over nodes and notes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import msgspec

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.relation import Direction, EdgeKey, EdgeMeta, Neighbor
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import edge_between, ensure_nodes, text_hits
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedGraph,
    dimension_of,
    direction,
    fresh_scope,
    new_parent,
)

__all__ = ["CHECKS"]


async def _around(
    graph: CheckedGraph, scope: Scope, node: Object, *labels: str, towards: Direction = "both", limit: int = 1_000
) -> list[Neighbor]:
    found = await graph.neighbors(scope, [node.key], labels, direction=towards, limit=limit)
    return list(found[node.key])


def _steps(neighbors: list[Neighbor]) -> list[tuple[UUID, str, str]]:
    return [(neighbor.object_id, neighbor.relation_type, neighbor.direction) for neighbor in neighbors]


async def check_neighbors_order_and_direction(graph: CheckedGraph) -> None:
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
    assert _steps(await _around(graph, scope, a)) == alpha + beta
    assert _steps(await _around(graph, scope, a, "beta", "alpha")) == beta + alpha
    assert _steps(await _around(graph, scope, a, "beta")) == beta
    assert _steps(await _around(graph, scope, a, "missing")) == []
    assert _steps(await _around(graph, scope, a, towards="out")) == [alpha[0], beta[0], beta[1]]
    assert _steps(await _around(graph, scope, a, towards="in")) == [alpha[1], beta[2]]
    for limit in range(6):
        assert _steps(await _around(graph, scope, a, limit=limit)) == (alpha + beta)[:limit], f"limit={limit}"


async def check_neighbors_of_a_frontier(graph: CheckedGraph) -> None:
    """Each frontier node has its own list, also in the face of strangers and repeats."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    await graph.add_edges(scope, [edge_between(scope, a, b), edge_between(scope, b, c)])
    stranger = uuid4()
    found = await graph.neighbors(scope, [c.key, stranger, a.key, a.key], (), direction="both", limit=10)
    assert {key: _steps(list(value)) for key, value in found.items()} == {
        c.key: [(b.id, "about", "in")],
        stranger: [],
        a.key: [(b.id, "about", "out")],
    }
    assert dict(await graph.neighbors(scope, [], (), direction="both", limit=10)) == {}


async def check_hub(graph: CheckedGraph) -> None:
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


async def check_edge_identity(graph: CheckedGraph) -> None:
    """One edge per (from, to, label): labels are trimmed and lower-cased, the metadata is replaced, created_at kept."""
    scope = fresh_scope()
    a, b = await ensure_nodes(graph, scope, 2)
    await graph.add_edges(scope, [edge_between(scope, a, b, "about", note="1", role="r")])
    (first,) = await _around(graph, scope, a, "about")
    for note in ("2", "3"):
        await graph.add_edges(
            scope, [edge_between(scope, a, b, label, note=note) for label in ("about", " about ", "About")]
        )
    await graph.add_edges(scope, [edge_between(scope, b, a, "about"), edge_between(scope, a, b, "references")])
    both = await _around(graph, scope, a, "about", "references")
    assert _steps(both) == [(b.id, "about", "out"), (b.id, "about", "in"), (b.id, "references", "out")]
    assert (both[0].meta.note, both[0].meta.role) == ("3", ""), "the last metadata replaces the whole of it"
    assert both[0].meta.created_at == first.meta.created_at
    assert first.meta.updated_at is not None
    assert both[0].meta.updated_at is not None
    assert both[0].meta.updated_at >= first.meta.updated_at
    assert _steps(await _around(graph, scope, b, "about")) == [(a.id, "about", "out"), (a.id, "about", "in")]


async def check_edge_metadata_round_trip(graph: CheckedGraph) -> None:
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
    by_end = {neighbor.object_id: neighbor.meta for neighbor in await _around(graph, scope, a)}
    assert by_end[b.key] == meta
    filled = by_end[c.key]
    assert filled.created_at is not None
    assert abs(filled.created_at - datetime.now(UTC)) < timedelta(minutes=5)
    assert filled.created_at == filled.updated_at
    moved = msgspec.structs.replace(meta, created_at=BASE_TIME - timedelta(days=1))
    await graph.add_edges(scope, [msgspec.structs.replace(full, meta=moved)])
    assert (await _around(graph, scope, b))[0].meta == moved, "a created_at that is given replaces the kept one"


async def check_remove_edges(graph: CheckedGraph) -> None:
    """Removal is by key and leaves the others; repeating it, or removing what is not there, is ignored."""
    scope = fresh_scope()
    a, b = await ensure_nodes(graph, scope, 2)
    await graph.add_edges(
        scope, [edge_between(scope, a, b, note="zebra"), edge_between(scope, b, a), edge_between(scope, a, b, "x")]
    )
    for _ in range(2):
        await graph.remove_edges(scope, [EdgeKey(a.key, b.key, " ABOUT "), EdgeKey(a.key, uuid4(), "about")])
    assert _steps(await _around(graph, scope, a)) == [(b.id, "about", "in"), (b.id, "x", "out")]
    assert list(await graph.search_edges(scope, "about", "zebra", k=5)) == []
    await graph.remove_edges(scope, [])


async def check_remove_objects_drops_edges(graph: CheckedGraph) -> None:
    """A removed node is neither found nor walked to, and its edges do not come back with it."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    await graph.add_edges(
        scope, [edge_between(scope, a, b, note="zebra"), edge_between(scope, b, a), edge_between(scope, a, c)]
    )
    for _ in range(2):
        await graph.remove_objects(scope, [b.key, uuid4()])
    assert _steps(await _around(graph, scope, a)) == [(c.id, "about", "out")]
    assert await _around(graph, scope, b) == []
    assert list(await graph.search_edges(scope, "about", "zebra", k=5)) == []
    assert set(await text_hits(graph, scope, "node")) == {a.id, c.id}
    await graph.ensure_objects(scope, [b])
    assert await _around(graph, scope, b) == []
    assert set(await text_hits(graph, scope, "node")) == {a.id, b.id, c.id}


async def check_ensure_replaces_a_node(graph: CheckedGraph) -> None:
    """A second ensure clears what the object no longer has, and keeps the node's edges."""
    scope = fresh_scope()
    dimension = dimension_of(graph)
    node = new_parent(
        scope,
        title="walrus",
        summary="ivory",
        content="tusk",
        properties={"city": "oslo", "title": "sneaky", "namespace_id": str(uuid4())},
        embedding=direction(dimension, 0),
    )
    (other,) = await ensure_nodes(graph, scope, 1)
    await graph.ensure_objects(scope, [node])
    await graph.add_edges(scope, [edge_between(scope, node, other)])
    for word in ("walrus", "ivory", "tusk", "oslo"):
        assert await text_hits(graph, scope, word) == [node.id], f"{word!r} is part of the entity text"
    assert await text_hits(graph, scope, "walrus", Filters(titles=("walrus",))) == [node.id], (
        "properties are not fields"
    )
    bare = Object(
        id=node.id,
        kind="animal",
        title="penguin",
        namespace_id=scope.namespace_id,
        created_at=BASE_TIME,
        updated_at=BASE_TIME,
    )
    for _ in range(2):
        await graph.ensure_objects(scope, [bare])
        for word in ("walrus", "ivory", "tusk", "oslo"):
            assert await text_hits(graph, scope, word) == [], f"{word!r} was cleared"
        assert await text_hits(graph, scope, "penguin") == [node.id]
        assert await text_hits(graph, scope, "penguin", Filters(kinds=("document",))) == []
        gone = Filters(properties=(PropertyFilter("city", ("oslo",)),))
        assert await text_hits(graph, scope, "penguin", gone) == []
        assert list(await graph.search_objects_vector(scope, direction(dimension, 0), Filters(), k=5)) == []
        assert _steps(await _around(graph, scope, node)) == [(other.id, "about", "out")]


async def check_other_namespaces_are_never_seen(graph: CheckedGraph) -> None:
    """Nodes, edges and notes of another namespace are neither found, walked, changed nor removed."""
    scope, other = fresh_scope(), fresh_scope()
    dimension = dimension_of(graph)
    node = new_parent(scope, title="findable", embedding=direction(dimension, 0))
    second = new_parent(scope, title="second")
    await graph.ensure_objects(scope, [node, second])
    await graph.add_edges(scope, [edge_between(scope, node, second, note="zebra")])
    theirs = new_parent(other, title="findable", embedding=direction(dimension, 0))
    await graph.ensure_objects(other, [theirs])
    await graph.add_edges(
        other, [edge_between(other, theirs, node, note="zebra"), edge_between(other, node, theirs, note="zebra")]
    )
    await graph.remove_objects(other, [node.key, second.key])
    await graph.remove_edges(other, [EdgeKey(node.key, second.key, "about")])

    assert await text_hits(graph, scope, "findable") == [node.id]
    assert await text_hits(graph, scope, "findable", Filters(scope_ids=(theirs.key,))) == []
    vectors = await graph.search_objects_vector(scope, direction(dimension, 0), Filters(), k=10)
    assert [hit.id for hit in vectors] == [node.id]
    assert _steps(await _around(graph, scope, node)) == [(second.id, "about", "out")]
    assert await _around(graph, scope, theirs) == []
    notes = await graph.search_edges(scope, "about", "zebra", k=10)
    assert [hit.edge.key for hit in notes] == [EdgeKey(node.key, second.key, "about")]
    assert await text_hits(graph, fresh_scope(), "findable") == []
    everywhere = await graph.search_objects_text(Scope(), "findable", Filters(scope_ids=(node.key, theirs.key)), k=10)
    assert {hit.id for hit in everywhere} == {node.id, theirs.id}, "an unrestricted scope sees both"


CHECKS = (
    check_neighbors_order_and_direction,
    check_neighbors_of_a_frontier,
    check_hub,
    check_edge_identity,
    check_edge_metadata_round_trip,
    check_remove_edges,
    check_remove_objects_drops_edges,
    check_ensure_replaces_a_node,
    check_other_namespaces_are_never_seen,
)
