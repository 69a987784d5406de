"""HelixGraph and MemoryGraph given the same random writes: every read agrees."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from brain_async.adapters.memory import MemoryGraph
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from brain_async.testing.subjects import BASE_TIME, direction
from helixgraph import HelixGraph, open_helix_embedded

_WORDS = ["acme", "zebra", "penguin", "world", "hello", "汇率", "café", "v1", "100", "the"]
_LABELS = ("about", "refers to", "x/世界")
_STEPS = 70
_T = TypeVar("_T")


class _World:
    """Random writes and questions over a handful of ids in two namespaces and none."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.namespaces = (uuid4(), uuid4(), None)
        self.ids = [uuid4() for _ in range(14)]

    def some(self, values: list[_T], most: int) -> list[_T]:
        return self.random.sample(values, self.random.randint(1, most))

    def scope(self) -> Scope:
        return Scope(self.random.choice(self.namespaces))

    def namespace(self, scope: Scope) -> UUID | None:
        return scope.namespace_id if self.random.random() < 0.8 else self.random.choice(self.namespaces)

    def object(self, object_id: UUID, scope: Scope) -> Object:
        values: list[Any] = [1, "1", True, 1.0, None, "x"]
        components = tuple(self.random.choice((0.0, 1.0, 0.5, -1.0)) for _ in range(3))
        return Object(
            id=object_id,
            kind=self.random.choice("abc"),
            title=" ".join(self.random.choices(_WORDS, k=3)),
            properties={key: self.random.choice(values) for key in self.random.sample(["n", "a.b", "embedding"], 2)},
            namespace_id=self.namespace(scope),
            created_at=BASE_TIME,
            updated_at=BASE_TIME + timedelta(microseconds=self.random.randint(0, 5)),
            embedding=None if self.random.random() < 0.3 else (*components, 1.0),
        )

    def edges(self, scope: Scope) -> list[Edge]:
        meta = EdgeMeta(
            note=self.random.choice(["", *_WORDS]),
            created_at=self.random.choice([BASE_TIME, None]),
            updated_at=BASE_TIME,
        )
        keys = {self.key() for _ in range(4)}
        return [
            Edge(
                from_id=key.from_id,
                to_id=key.to_id,
                relation_type=key.relation_type,
                namespace_id=self.namespace(scope),
                meta=meta,
            )
            for key in keys
        ]

    def key(self) -> EdgeKey:
        return EdgeKey(self.random.choice(self.ids), self.random.choice(self.ids), self.random.choice(_LABELS))

    def filters(self) -> Filters:
        return self.random.choice(
            [
                Filters(),
                Filters(kinds=("a", "b")),
                Filters(properties=(PropertyFilter("n", (self.random.choice([1, "1", True]),)),)),
                Filters(properties=(PropertyFilter("a.b", (1, "x")),)),
                Filters(scope_ids=tuple(self.some(self.ids, 4))),
                Filters(exclude_ids=tuple(self.some(self.ids, 4))),
                Filters(updated_after=BASE_TIME + timedelta(microseconds=3)),
            ]
        )


async def _write(world: _World, graphs: tuple[HelixGraph, MemoryGraph]) -> None:
    scope, chance = world.scope(), world.random.random()
    objects = [world.object(object_id, scope) for object_id in world.some(world.ids, 4)]
    edges, keys, removed = world.edges(scope), [world.key() for _ in range(6)], world.some(world.ids, 1)
    for graph in graphs:
        if chance < 0.45:
            await graph.ensure_objects(scope, objects)
        elif chance < 0.8:
            await graph.add_edges(scope, edges)
        elif chance < 0.9:
            await graph.remove_edges(scope, keys)
        else:
            await graph.remove_objects(scope, removed)


async def _compare(world: _World, helix: HelixGraph, memory: MemoryGraph) -> None:
    scope, filters, label = world.scope(), world.filters(), world.random.choice(_LABELS)
    towards: Direction = world.random.choice(("in", "out", "both"))
    labels = world.random.choice([(), _LABELS[:1], _LABELS[::-1]])
    limit, frontier = world.random.choice((1, 2, 3, 100)), world.some(world.ids, 8)
    query = " ".join(world.random.choices(_WORDS, k=2))
    vector = direction(4, world.random.randint(0, 180))
    vector[3] = 0.3
    around = [
        await graph.neighbors(scope, frontier, labels, direction=towards, limit=limit) for graph in (helix, memory)
    ]
    assert {key: list(value) for key, value in around[0].items()} == {k: list(v) for k, v in around[1].items()}
    texts = [await graph.search_objects_text(scope, query, filters, k=100) for graph in (helix, memory)]
    assert {hit.id for hit in texts[0]} == {hit.id for hit in texts[1]}
    vectors = [await graph.search_objects_vector(scope, vector, filters, k=100) for graph in (helix, memory)]
    assert {hit.id for hit in vectors[0]} == {hit.id for hit in vectors[1]}
    assert [hit.score for hit in vectors[0]] == pytest.approx([hit.score for hit in vectors[1]], abs=1e-5)
    await _compare_scans(world, helix, memory)
    notes = [await graph.search_edges(scope, label, query, k=100) for graph in (helix, memory)]
    assert {(hit.edge.namespace_id, hit.edge.key): hit.edge.meta for hit in notes[0]} == {
        (hit.edge.namespace_id, hit.edge.key): hit.edge.meta for hit in notes[1]
    }


async def _compare_scans(world: _World, helix: HelixGraph, memory: MemoryGraph) -> None:
    scope, limit = world.scope(), world.random.choice((1, 2, 3, 100))
    after, after_key = world.random.choice([None, *world.ids]), world.random.choice([None, world.key()])
    nodes = [await graph.scan_nodes(scope, after=after, limit=limit) for graph in (helix, memory)]
    assert list(nodes[0]) == list(nodes[1])
    edges = [await graph.scan_edges(scope, after=after_key, limit=limit) for graph in (helix, memory)]
    assert [edge.key for edge in edges[0]] == [edge.key for edge in edges[1]]
    assert [sorted(map(repr, page)) for page in edges[:1]] == [sorted(map(repr, page)) for page in edges[1:]]


@pytest.mark.parametrize("tenants", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_the_same_writes_give_the_same_reads(seed: int, tenants: bool) -> None:
    world, memory = _World(seed), MemoryGraph()
    indexed = ("a.b",) if seed else ()
    async with open_helix_embedded(dimension=4, tenants=tenants, indexed_properties=indexed) as helix:
        for _ in range(_STEPS):
            await _write(world, (helix, memory))
            await _compare(world, helix, memory)
