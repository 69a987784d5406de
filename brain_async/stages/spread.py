"""Spread: no parent with many matching parts may keep the others off the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters

__all__ = ["spread"]

MAX_ROUNDS = 8
"""Searches at most of one channel; each after the first costs as much as it."""


async def spread(
    search: Callable[[Filters], Awaitable[Sequence[Candidate]]],
    filters: Filters,
    *,
    k: int,
    parents: int,
    first: Sequence[Candidate] | None = None,
) -> Sequence[Candidate]:
    """The hits of ``search``, best first, searched again until they belong to ``parents`` parents or there are no more.

    ``search`` gives at most ``k`` hits. While those it gave are a full ``k`` of too few parents, the parents found are
    excluded and the next ``k`` added behind them. Usually one search is enough. ``first`` is what that one gave, if it has
    been made.
    """
    found = last = await search(filters) if first is None else first
    owners: set[UUID] = set()
    for _ in range(MAX_ROUNDS - 1):
        if len(last) < k or _reaches(parents, owners, last):
            break
        last = await search(filters.excluding(owners))
        found = sorted([*found, *last], key=rank_order)
    return found


def _reaches(parents: int, owners: set[UUID], hits: Sequence[Candidate]) -> bool:
    """Add the parents of ``hits`` to ``owners``, as far as is needed to know whether there are ``parents`` of them."""
    for hit in hits:
        owners.add(hit.parent_id or hit.id)
        if len(owners) >= parents:
            return True
    return False
