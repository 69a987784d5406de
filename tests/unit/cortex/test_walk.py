"""The walk: breadth first, in byte order, each node once at its smallest hop."""

from __future__ import annotations

from collections import deque
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.cortex import EdgeExpr, EdgeType, Ledger, NewEdge, Walk
from brain_async.errors import InvalidEdgeTypeError, UnsupportedQueryError
from tests.unit.cortex.samples import A, B, C, D, E, fresh

REF, PART = EdgeType.REFERENCES, EdgeType.PART_OF


async def walked(ledger: Ledger, start: UUID, max_edges: int = 100_000, **follow: object) -> list[tuple[int, UUID]]:
    async with ledger.snapshot() as view:
        walk = Walk(view, start.bytes, EdgeExpr(**follow), max_edges=max_edges)  # type: ignore[arg-type]
        return [(hop, UUID(bytes=node)) async for hop, nodes in walk.hops() for node in nodes]


async def test_a_circle_is_walked_once_and_never_back_to_its_start() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(B, REF, C), NewEdge(C, REF, A)])
    assert await walked(ledger, A, max_hops=6) == [(1, B), (2, C)]
    assert await walked(ledger, A, max_hops=6, direction="in") == [(1, C), (2, B)]
    assert await walked(ledger, A, max_hops=6, direction="both") == [(1, B), (1, C)]
    assert await walked(ledger, A) == [(1, B)]
    assert await walked(ledger, D, max_hops=6) == []


async def test_neighbours_come_by_type_and_peer_and_out_before_in() -> None:
    _, ledger = fresh()
    await ledger.add_edges(
        [NewEdge(A, PART, B), NewEdge(A, REF, E), NewEdge(A, REF, D), NewEdge(C, REF, A), NewEdge(D, REF, A)]
    )
    assert [node for _, node in await walked(ledger, A)] == [D, E, B]
    assert [node for _, node in await walked(ledger, A, direction="both")] == [C, D, E, B]
    assert [node for _, node in await walked(ledger, A, types=("part_of", REF))] == [D, E, B]
    assert [node for _, node in await walked(ledger, A, types=(PART,))] == [B]
    async with ledger.snapshot() as view:
        walk = Walk(view, A.bytes, EdgeExpr(direction="both"))
        assert [hop async for hop, _ in walk.hops()] == [1]
        assert walk.came_by[D.bytes] == (A.bytes, 3, "out")
        assert walk.edges_scanned == 5


async def test_removed_edges_are_followed_only_when_asked() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(B, REF, C)])
    await ledger.remove_edge(A, REF, B)
    assert await walked(ledger, A, max_hops=2) == []
    assert await walked(ledger, A, max_hops=2, include_tombstoned=True) == [(1, B), (2, C)]


async def test_a_hub_is_read_as_far_as_allowed() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(B, REF, UUID(int=100 + number)) for number in range(10_000)])
    await ledger.add_edge(A, REF, B)
    found = await walked(ledger, A, max_hops=3)
    assert len(found) == 10_001
    assert found[:2] == [(1, B), (2, UUID(int=100))]
    async with ledger.snapshot() as view:
        walk = Walk(view, A.bytes, EdgeExpr(max_hops=3), max_edges=500)
        nodes = [node async for _, nodes in walk.hops() for node in nodes]
    assert (len(nodes), walk.edges_scanned, walk.truncated) == (500, 500, True)
    assert nodes == [node.bytes for _, node in found[:500]]


async def test_what_is_not_seen_is_not_walked_through() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(A, REF, C), NewEdge(B, REF, D), NewEdge(C, REF, E)])

    async def see(nodes: list[bytes]) -> list[bytes]:
        return [node for node in nodes if node != B.bytes]

    async with ledger.snapshot() as view:
        walk = Walk(view, A.bytes, EdgeExpr(max_hops=4))
        found = [(hop, UUID(bytes=node)) async for hop, nodes in walk.hops(see) for node in nodes]
        assert found == [(1, C), (2, E)]
        assert [UUID(bytes=node) for node, _, _ in walk.path(E.bytes)] == [C, E]


@pytest.mark.parametrize(
    "follow",
    [
        {"max_hops": 7},
        {"max_hops": 99},
        {"max_hops": 0},
        {"min_hops": 0},
        {"min_hops": 3, "max_hops": 2},
        {"max_hops": 1.5},
        {"direction": "up"},
    ],
)
async def test_a_walk_that_is_none_is_refused(follow: dict[str, object]) -> None:
    _, ledger = fresh()
    with pytest.raises(UnsupportedQueryError):
        await walked(ledger, A, **follow)  # type: ignore[arg-type]


async def test_an_unknown_type_is_refused() -> None:
    _, ledger = fresh()
    with pytest.raises(InvalidEdgeTypeError):
        await walked(ledger, A, types=("about",))


PAIRS = st.sets(st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=30)


@given(pairs=PAIRS, max_hops=st.integers(1, 6), direction=st.sampled_from(["out", "in", "both"]))
async def test_hops_are_shortest_distances(pairs: set[tuple[int, int]], max_hops: int, direction: str) -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(UUID(int=one), REF, UUID(int=other)) for one, other in pairs])
    steps = set(pairs) if direction != "in" else set()
    steps |= {(other, one) for one, other in pairs} if direction != "out" else set()
    distance, queue = {1: 0}, deque([1])
    while queue:
        node = queue.popleft()
        for other in sorted(other for one, other in steps if one == node):
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    wanted = [(hop, UUID(int=node)) for node, hop in distance.items() if 0 < hop <= max_hops]
    found = await walked(ledger, UUID(int=1), max_hops=max_hops, direction=direction)
    assert sorted(found) == sorted(wanted)
    assert [hop for hop, _ in found] == sorted(hop for hop, _ in found)
    async with ledger.snapshot() as view:
        walk = Walk(view, UUID(int=1).bytes, EdgeExpr(max_hops=max_hops, direction=direction))  # type: ignore[arg-type]
        async for hop, nodes in walk.hops():
            assert all(len(list(walk.path(node))) == hop for node in nodes)
