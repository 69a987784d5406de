"""Spread: a parent with many parts does not hide the others."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters
from brain_async.stages.spread import MAX_ROUNDS, spread

K = 10


class Parts:
    """Parts of given parents, each better than the next, searched under ``exclude_ids``; counts its searches."""

    def __init__(self, owners: Sequence[int]) -> None:
        self.parts = [
            Candidate(id=UUID(int=1000 + number), parent_id=UUID(int=owner), score=1.0 / (number + 1))
            for number, owner in enumerate(owners)
        ]
        self.searches = 0

    async def search(self, filters: Filters) -> Sequence[Candidate]:
        self.searches += 1
        return [part for part in self.parts if part.parent_id not in filters.exclude_ids][:K]


async def found(parts: Parts, parents: int) -> list[int]:
    hits = await spread(parts.search, Filters(), k=K, parents=parents)
    assert list(hits) == sorted(hits, key=rank_order)
    assert len({hit.id for hit in hits}) == len(hits)
    return list(dict.fromkeys(hit.parent_id.int for hit in hits if hit.parent_id is not None))


async def test_one_search_is_enough_for_parts_of_many_parents() -> None:
    parts = Parts([number // 2 for number in range(100)])
    assert await found(parts, 5) == [0, 1, 2, 3, 4]
    assert parts.searches == 1


async def test_parents_behind_a_large_one_are_found() -> None:
    parts = Parts([0] * 100 + list(range(1, 60)))
    assert await found(parts, 10) == list(range(11))
    assert parts.searches == 2


async def test_several_large_parents_are_passed_one_after_another() -> None:
    parts = Parts([0] * 50 + [1] * 50 + [2] * 50 + [3, 4, 5])
    assert await found(parts, 10) == [0, 1, 2, 3, 4, 5]
    assert parts.searches == 4


@pytest.mark.parametrize("count", [0, 3, K])
async def test_no_more_is_asked_for_than_there_is(count: int) -> None:
    parts = Parts([0] * count)
    await found(parts, 10)
    assert parts.searches == (2 if count == K else 1)


async def test_the_searches_are_bounded() -> None:
    parts = Parts([number // K for number in range(K * 100)])
    assert len(await found(parts, 50)) == MAX_ROUNDS
    assert parts.searches == MAX_ROUNDS
