"""The walk, compared with a breadth-first search that could not be simpler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.model.relation import Direction, Neighbor
from brain_async.model.scope import Scope
from brain_async.stages.walk import Step, walk
from tests.unit.stages.shelf import SCOPE, Shelf, an_object

Edges = Sequence[tuple[int, int]]


class Graph:
    """Edges of one label, listed as the port says: out before in, then by the other end's id; requests are kept."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self.requests: list[list[int]] = []

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        self.requests.append([node.int for node in frontier])
        return {node: self._of(node, direction)[:limit] for node in frontier}

    def _of(self, node: UUID, direction: Direction) -> list[Neighbor]:
        found: list[Neighbor] = []
        for source, target in self._edges:
            if source == target:
                continue
            if source == node.int and direction != "in":
                found.append(Neighbor(object_id=UUID(int=target), relation_type="x", direction="out"))
            if target == node.int and direction != "out":
                found.append(Neighbor(object_id=UUID(int=source), relation_type="x", direction="in"))
        unique = {(edge.direction, edge.object_id): edge for edge in found}
        return sorted(unique.values(), key=lambda edge: (edge.direction == "in", edge.object_id.int))


class TwoHops(Graph):
    """Tells of some of the nodes next to the frontier too."""

    def __init__(self, edges: Edges, told: Set[int]) -> None:
        super().__init__(edges)
        self._told = told

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        found = {**await self.neighbors(scope, frontier, relation_types, direction=direction, limit=limit)}
        for neighbors in list(found.values()):
            for node in [neighbor.object_id for neighbor in neighbors]:
                if node.int in self._told:
                    found[node] = self._of(node, direction)[:limit]
        return found


async def walked(
    edges: Edges,
    *,
    nodes: Sequence[int],
    seeds: Sequence[int] = (1,),
    hops: int = 4,
    direction: Direction = "both",
    neighbor_k: int = 50,
    node_budget: int = 64,
    told: Set[int] | None = None,
) -> tuple[dict[int, list[Step]], Graph, Shelf]:
    walker = None if told is None else TwoHops(edges, told)
    graph, shelf = walker or Graph(edges), Shelf(*(an_object(number) for number in nodes))
    steps = await walk(
        graph,
        shelf,
        SCOPE,
        [UUID(int=seed) for seed in seeds],
        ["x"],
        hops=hops,
        direction=direction,
        neighbor_k=neighbor_k,
        node_budget=node_budget,
        walker=walker,
    )
    return {seed.int: found for seed, found in steps.items()}, graph, shelf


def depths(steps: Sequence[Step]) -> dict[int, int]:
    found = {step.object.key.int: step.relation.depth for step in steps}
    assert len(found) == len(steps), "every object once"
    return found


def breadth_first(edges: Edges, visible: set[int], seed: int, hops: int, direction: Direction) -> dict[int, int]:
    reached = {seed: 0}
    for depth in range(1, hops + 1):
        for node in [node for node, found in reached.items() if found == depth - 1]:
            for source, target in edges:
                ends = ([target] if source == node and direction != "in" else []) + (
                    [source] if target == node and direction != "out" else []
                )
                for end in ends:
                    if end in visible:
                        reached.setdefault(end, depth)
    del reached[seed]
    return reached


NODES = st.integers(1, 12)
GRAPHS = st.lists(st.tuples(NODES, NODES), max_size=40)


@settings(max_examples=100, deadline=None)
@given(
    edges=GRAPHS,
    visible=st.sets(NODES),
    hops=st.integers(1, 5),
    direction=st.sampled_from(["out", "in", "both"]),
    seeds=st.lists(NODES, min_size=1, max_size=4, unique=True),
)
async def test_any_graph_is_walked_as_breadth_first_says(
    edges: list[tuple[int, int]], visible: set[int], hops: int, direction: Direction, seeds: list[int]
) -> None:
    found, graph, shelf = await walked(edges, nodes=sorted(visible), seeds=seeds, hops=hops, direction=direction)
    for seed in seeds:
        expected = breadth_first(edges, visible, seed, hops, direction)
        assert depths(found[seed]) == expected
        assert list(depths(found[seed]).values()) == sorted(expected.values()), "nearest first"
    assert len(graph.requests) <= hops, "one request a hop"
    assert len(shelf.calls) <= hops, "one read a hop"


@settings(max_examples=200, deadline=None)
@given(
    edges=GRAPHS,
    visible=st.sets(NODES),
    hops=st.integers(1, 5),
    direction=st.sampled_from(["out", "in", "both"]),
    seeds=st.lists(NODES, min_size=1, max_size=4, unique=True),
    neighbor_k=st.integers(1, 4),
    node_budget=st.integers(1, 8),
    told=st.sets(NODES),
)
async def test_two_hops_at_once_give_the_walk_of_one_after_the_other(
    edges: list[tuple[int, int]],
    visible: set[int],
    hops: int,
    direction: Direction,
    seeds: list[int],
    neighbor_k: int,
    node_budget: int,
    told: set[int],
) -> None:
    (alone, one, shelf), (ahead, two, other) = [
        await walked(
            edges,
            nodes=sorted(visible),
            seeds=seeds,
            hops=hops,
            direction=direction,
            neighbor_k=neighbor_k,
            node_budget=node_budget,
            told=each,
        )
        for each in (None, told)
    ]
    assert ahead == alone
    assert other.calls == shelf.calls, "every node is looked up in the store, hop by hop"
    assert len(two.requests) <= len(one.requests)


async def test_the_first_two_hops_share_a_request() -> None:
    edges = [(1, 2), (2, 3), (3, 4), (4, 5)]
    for hops, requests in ((1, [[1]]), (2, [[1]]), (3, [[1], [3]]), (4, [[1], [3], [4]])):
        found, graph, _ = await walked(edges, nodes=range(1, 6), hops=hops, direction="out", told=set(range(1, 6)))
        assert graph.requests == requests
        assert depths(found[1]) == {depth + 1: depth for depth in range(1, hops + 1)}


async def test_every_hop_of_all_seeds_is_one_request() -> None:
    edges = [(1, 2), (2, 3), (3, 4), (10, 11), (11, 12), (12, 4)]
    found, graph, _ = await walked(edges, nodes=range(1, 13), seeds=(1, 10), hops=3, direction="out")
    assert [sorted(request) for request in graph.requests] == [[1, 10], [2, 11], [3, 12]]
    assert depths(found[1]) == {2: 1, 3: 2, 4: 3}
    assert depths(found[10]) == {11: 1, 12: 2, 4: 3}


async def test_a_node_that_two_seeds_stand_on_is_asked_about_once() -> None:
    found, graph, _ = await walked([(1, 3), (2, 3), (3, 4)], nodes=range(1, 5), seeds=(1, 2), hops=2, direction="out")
    assert graph.requests == [[1, 2], [3]]
    assert depths(found[1]) == depths(found[2]) == {3: 1, 4: 2}


async def test_cycles_and_self_loops_end_and_the_seed_never_reappears() -> None:
    edges = [(1, 2), (2, 3), (3, 1), (1, 1)]
    assert depths((await walked(edges, nodes=(1, 2, 3), direction="out"))[0][1]) == {2: 1, 3: 2}
    assert depths((await walked(edges, nodes=(1, 2, 3)))[0][1]) == {2: 1, 3: 1}


async def test_one_hop_gives_the_direct_neighbours() -> None:
    assert depths((await walked([(1, 2), (2, 3)], nodes=(1, 2, 3), hops=1))[0][1]) == {2: 1}


async def test_an_invisible_node_is_neither_returned_nor_walked_through() -> None:
    found, graph, _ = await walked([(1, 2), (2, 3), (1, 4)], nodes=(1, 3, 4), direction="out")
    assert depths(found[1]) == {4: 1}
    assert graph.requests == [[1], [4]]


async def test_a_hub_is_cut_to_the_same_neighbours_whatever_the_insertion_order() -> None:
    edges = [(1, 2), *((2, number) for number in range(3, 10_003))]
    expected = None
    for seed in range(5):
        shuffled = list(edges)
        Random(seed).shuffle(shuffled)
        found, _, _ = await walked(shuffled, nodes=range(1, 10_003), hops=2, direction="out")
        order = [step.object.key.int for step in found[1]]
        assert order == (expected := expected or order) == [2, *range(3, 53)]


async def test_a_used_up_budget_keeps_what_the_hop_found_and_ends_the_walk() -> None:
    edges = [(1, 2), (1, 3), (1, 4), (2, 12), (3, 13), (4, 14), (12, 22)]
    found, graph, _ = await walked(edges, nodes=range(1, 30), direction="out", node_budget=3)
    assert graph.requests == [[1], [2, 3]]
    assert depths(found[1]) == {2: 1, 3: 1, 4: 1, 12: 2, 13: 2}


async def test_the_budget_counts_for_each_seed() -> None:
    edges = [(1, 2), (2, 3), (11, 12), (12, 13)]
    found, _, _ = await walked(edges, nodes=range(1, 20), seeds=(1, 11), direction="out", node_budget=1)
    assert (depths(found[1]), depths(found[11])) == ({2: 1}, {12: 1})


async def test_the_relation_names_the_edge_it_was_first_reached_over() -> None:
    found, _, _ = await walked([(1, 2), (3, 2), (3, 4)], nodes=range(1, 5))
    relations = {step.object.key.int: step.relation for step in found[1]}
    assert [(r.type, r.direction, r.depth, r.source_id) for r in (relations[2], relations[3], relations[4])] == [
        ("x", "out", 1, UUID(int=1)),
        ("x", "in", 2, UUID(int=2)),
        ("x", "out", 3, UUID(int=3)),
    ]


@pytest.mark.parametrize("seeds", [(), (99,)], ids=["no seeds", "unknown seed"])
async def test_nothing_to_walk_from_gives_nothing(seeds: tuple[int, ...]) -> None:
    found, graph, _ = await walked([(1, 2)], nodes=(1, 2), seeds=seeds)
    assert all(steps == [] for steps in found.values())
    assert len(graph.requests) == len(seeds)
