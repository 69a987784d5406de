"""Checks of the graph ports: nodes, and that namespaces keep them apart."""

from __future__ import annotations

from uuid import uuid4

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.relation import EdgeKey
from brain_async.model.scope import Scope
from brain_async.testing.graph_subjects import around, edge_between, ensure_nodes, steps, text_hits
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedGraph,
    dimension_of,
    direction,
    fresh_scope,
    new_parent,
)

__all__ = ["CHECKS"]


async def check_remove_objects_drops_nodes(graph: CheckedGraph) -> None:
    """A removed node is not found until it is ensured again."""
    scope = fresh_scope()
    a, b, c = await ensure_nodes(graph, scope, 3)
    for _ in range(2):
        await graph.remove_objects(scope, [b.key, uuid4()])
    assert set(await text_hits(graph, scope, "node")) == {a.id, c.id}
    await graph.ensure_objects(scope, [b])
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
        assert steps(await around(graph, scope, node)) == [(other.id, "about", "out")]


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
    assert steps(await around(graph, scope, node)) == [(second.id, "about", "out")]
    assert await around(graph, scope, theirs) == []
    notes = await graph.search_edges(scope, "about", "zebra", k=10)
    assert [hit.edge.key for hit in notes] == [EdgeKey(node.key, second.key, "about")]
    assert await text_hits(graph, fresh_scope(), "findable") == []
    everywhere = await graph.search_objects_text(Scope(), "findable", Filters(scope_ids=(node.key, theirs.key)), k=10)
    assert {hit.id for hit in everywhere} == {node.id, theirs.id}, "an unrestricted scope sees both"


CHECKS = (
    check_remove_objects_drops_nodes,
    check_ensure_replaces_a_node,
    check_other_namespaces_are_never_seen,
)
