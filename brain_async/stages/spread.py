"""Spread: no parent with many matching parts may keep the others off the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters

__all__ = ["spread"]

MAX_ROUNDS = 8
"""Searches at most of one channel; each after the first costs as much as it."""


async def spread(
    search: Callable[[Filters], Awaitable[Sequence[Candidate]]], filters: Filters, *, k: int, parents: int
) -> Sequence[Candidate]:
    """The hits of ``search``, best first, searched again until they belong to ``parents`` parents or there are no more.

    ``search`` gives at most ``k`` hits. While those it gave are a full ``k`` of too few parents, the parents found are
    excluded and the next ``k`` added behind them. Usually one search is enough.
    """
    found = list(await search(filters))
    last = len(found)
    owners = {hit.parent_id or hit.id for hit in found}
    for _ in range(MAX_ROUNDS - 1):
        if last < k or len(owners) >= parents:
            break
        more = await search(filters.excluding(owners))
        last = len(more)
        found = sorted([*found, *more], key=rank_order)
        owners.update(hit.parent_id or hit.id for hit in more)
    return found
