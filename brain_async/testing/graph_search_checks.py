"""Checks of GraphObjectSearcher and GraphEdgeSearcher: entity texts, vectors, filters and notes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from brain_async.errors import DimensionMismatchError
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.testing.graph_subjects import ensure_nodes, text_hits
from brain_async.testing.search_checks import OPERATOR_QUERIES
from brain_async.testing.subjects import (
    BASE_TIME,
    CheckedGraph,
    dimension_of,
    direction,
    fresh_scope,
    new_parent,
    new_part,
    raises,
)

__all__ = ["CHECKS"]


async def check_object_text_search(graph: CheckedGraph) -> None:
    """Any whole word finds, case folded; parts of words and stems do not; rarer words rank higher."""
    scope = fresh_scope()
    texts = ["Acme Renewals", "acme corporation", "renewal", "The Hague", "外币汇率换算规则", "node-modules, C++"]
    nodes = [new_parent(scope, title=text) for text in texts]
    await graph.ensure_objects(scope, nodes)
    assert graph.object_search_ready
    assert set(await text_hits(graph, scope, "ACME")) == {nodes[0].id, nodes[1].id}
    assert await text_hits(graph, scope, "renewals") == [nodes[0].id], "words are not stemmed"
    assert await text_hits(graph, scope, "acm") == [], "part of a word is no match"
    assert await text_hits(graph, scope, "the") == [nodes[3].id], "there are no stop words"
    assert (await text_hits(graph, scope, "acme corporation"))[0] == nodes[1].id
    assert await text_hits(graph, scope, "汇率") == [nodes[4].id]
    for query in OPERATOR_QUERIES:
        await graph.search_objects_text(scope, query, Filters(), k=5)
        await graph.search_edges(scope, "about", query, k=5)
    assert await text_hits(graph, scope, "node:") == [nodes[5].id]
    for k in (0, -1):
        assert list(await graph.search_objects_text(scope, "acme", Filters(), k=k)) == []
    assert len(await graph.search_objects_text(scope, "acme", Filters(), k=1)) == 1


async def check_object_vector_search(graph: CheckedGraph) -> None:
    """Cosine order; nodes without an embedding are absent; another length raises."""
    scope = fresh_scope()
    dimension = dimension_of(graph)
    nodes = [new_parent(scope, title="n", embedding=direction(dimension, angle)) for angle in (80, 10, 40)]
    await graph.ensure_objects(scope, [*nodes, new_parent(scope, title="bare")])
    hits = await graph.search_objects_vector(scope, direction(dimension, 0), Filters(), k=10)
    assert [hit.id for hit in hits] == [nodes[n].id for n in (1, 2, 0)]
    assert [hit.title for hit in hits] == ["n"] * 3
    assert list(await graph.search_objects_vector(scope, direction(dimension, 0), Filters(), k=0)) == []
    wrong = graph.search_objects_vector(scope, direction(dimension + 1, 0), Filters(), k=10)
    await raises(DimensionMismatchError, wrong)


async def check_object_ties(graph: CheckedGraph) -> None:
    """60 equal nodes: newer first, then id, and every k cuts the same list."""
    scope = fresh_scope()
    dimension = dimension_of(graph)
    nodes = [
        new_parent(
            scope,
            title="equal",
            embedding=direction(dimension, 10),
            updated_at=BASE_TIME + timedelta(seconds=n // 20),
        )
        for n in range(60)
    ]
    await graph.ensure_objects(scope, nodes)
    newest = sorted(nodes, key=lambda node: ((node.updated_at or BASE_TIME) - BASE_TIME, -node.key.int), reverse=True)
    for k in (1, 25, 40, 100):
        text = await graph.search_objects_text(scope, "equal", Filters(), k=k)
        vector = await graph.search_objects_vector(scope, direction(dimension, 0), Filters(), k=k)
        for hits in (text, vector):
            assert [hit.id for hit in hits] == [node.id for node in newest[:k]], f"k={k}"


async def check_object_filters(graph: CheckedGraph) -> None:
    """Every filter lets exactly those nodes through that ``Filters.matches`` does, on both channels."""
    scope = fresh_scope()
    dimension = dimension_of(graph)
    values: list[Any] = [1, "1", True, 1.0, None, [1]]
    nodes = [
        new_parent(
            scope,
            title="findable" if n % 2 else "findable too",
            kind=f"kind{n % 3}",
            properties={"n": value},
            embedding=direction(dimension, 10),
            updated_at=BASE_TIME + timedelta(microseconds=n),
        )
        for n, value in enumerate(values)
    ]
    await graph.ensure_objects(scope, nodes)
    cases = [
        Filters(),
        Filters(kinds=("kind0", "kind2")),
        Filters(kinds=()),
        Filters(own_kinds=("kind1",)),
        Filters(titles=("findable",)),
        Filters(updated_after=BASE_TIME + timedelta(microseconds=2)),
        Filters(updated_before=BASE_TIME + timedelta(microseconds=2), created_after=BASE_TIME),
        *(Filters(properties=(PropertyFilter("n", (value,)),)) for value in (1, "1", True, 1.0, 2)),
        Filters(scope_ids=(nodes[1].key, nodes[4].key, uuid4())),
        Filters(scope_ids=()),
        Filters(exclude_ids=(nodes[0].key, nodes[3].key, uuid4())),
    ]
    for filters in cases:
        wanted = {node.id for node in nodes if filters.matches(node)}
        assert set(await text_hits(graph, scope, "findable", filters)) == wanted, f"text through {filters}"
        hits = await graph.search_objects_vector(scope, direction(dimension, 0), filters, k=100)
        assert {hit.id for hit in hits} == wanted, f"vector through {filters}"


async def check_parts_are_no_nodes(graph: CheckedGraph) -> None:
    """A part handed over is not made a node."""
    scope = fresh_scope()
    (parent,) = await ensure_nodes(graph, scope, 1)
    await graph.ensure_objects(scope, [new_part(scope, parent, title="node part")])
    assert await text_hits(graph, scope, "node") == [parent.id]


CHECKS = (
    check_object_text_search,
    check_object_vector_search,
    check_object_ties,
    check_object_filters,
    check_parts_are_no_nodes,
)
