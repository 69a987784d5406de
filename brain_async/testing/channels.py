"""The three channels of a store side by side, and parts that all of them find."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope
from brain_async.testing.subjects import CheckedStore, dimension_of, direction

__all__ = ["MANY", "ChannelSearch", "channels_of", "findable", "found_by"]

MANY = 500
"""A k larger than any check expects hits."""

_QUERY = "quarterly"

ChannelSearch = Callable[[Scope, Filters, int], Awaitable[Sequence[Candidate]]]


def channels_of(store: CheckedStore) -> dict[str, ChannelSearch]:
    """Each channel, asking for what every ``findable`` part holds."""
    vector = direction(dimension_of(store), 0)
    return {
        "lexical": lambda scope, filters, k: store.search_lexical(scope, _QUERY, filters, k=k),
        "trigram": lambda scope, filters, k: store.search_trigram(scope, _QUERY, filters, k=k),
        "vector": lambda scope, filters, k: store.search_vector(scope, vector, filters, k=k),
    }


def findable(store: CheckedStore, **fields: Any) -> dict[str, Any]:
    """The fields of a part that every channel finds."""
    return {
        "title": "Quarterly report",
        "content": "renewal figures",
        "embedding": direction(dimension_of(store), 10),
        **fields,
    }


async def found_by(search: ChannelSearch, scope: Scope, filters: Filters, k: int = MANY) -> set[UUID]:
    """The ids of what a channel finds, having asserted that each comes once and in rank order."""
    hits = await search(scope, filters, k)
    ids = [hit.id for hit in hits]
    assert len(ids) == len(set(ids)), "a channel returns each id once"
    assert list(hits) == sorted(hits, key=rank_order), "a channel returns its hits in rank order"
    return set(ids)
