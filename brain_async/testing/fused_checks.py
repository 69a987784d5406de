"""Checks of FusedSearcher: one request gives what the channels give one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from brain_async.config import ChannelName
from brain_async.errors import DimensionMismatchError
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.scope import Scope
from brain_async.ports.store import FusedSearcher
from brain_async.testing.channels import MANY, findable
from brain_async.testing.subjects import CheckedStore, dimension_of, direction, family, fresh_scope, put_all, raises

__all__ = ["CHECKS", "CheckedFusedStore"]

_CHANNELS: tuple[ChannelName, ...] = ("lexical", "trigram", "vector")
_QUERIES = ("quarterly", "quartely renewal renewal report", "the of", "'; --")


class CheckedFusedStore(CheckedStore, FusedSearcher, Protocol):
    """A store that has its channels one by one and together."""


async def _same(store: CheckedFusedStore, scope: Scope, query: str, filters: Filters, k: int) -> int:
    """How many hits there are, having asserted that both ways give the same ids, scores, columns and order."""
    vector = direction(dimension_of(store), 0)
    alone = {
        "lexical": list(await store.search_lexical(scope, query, filters, k=k)),
        "trigram": list(await store.search_trigram(scope, query, filters, k=k)),
        "vector": list(await store.search_vector(scope, vector, filters, k=k)),
    }
    fused = await store.search_fused(scope, query, vector, filters, _CHANNELS, k=k)
    assert {name: list(hits) for name, hits in fused.items()} == alone, "the fused hits are those of each channel"
    return sum(map(len, alone.values()))


async def _filled(store: CheckedFusedStore) -> tuple[Scope, Filters]:
    """A scope of some families beside another one like it, and a filter by scope_ids for the first family."""
    scope = fresh_scope()
    for where in (scope, fresh_scope()):
        for number in range(3):
            parts = [
                findable(store, content=f"renewal figures {'report ' * place}", properties={"n": place})
                for place in range(4)
            ]
            parent, made = family(where, parts, title=f"Parent {number}")
            await put_all(store, where, parent, *made)
    return scope, Filters(scope_ids=(parent.key,))


async def check_fused_equals_each_channel(store: CheckedFusedStore) -> None:
    """Queries, ks, filters and namespaces: ids, scores and order are those of the channels."""
    scope, foreign = await _filled(store)
    for query in _QUERIES:
        for k in (1, 5, MANY):
            assert await _same(store, scope, query, Filters(), k) > 0
    assert await _same(store, scope, "quarterly", Filters(properties=(PropertyFilter("n", (1, 2)),)), MANY) == 3 * 6
    assert await _same(store, scope, "quarterly", foreign, MANY) == 0, "another namespace is never shown"
    assert await _same(store, fresh_scope(), "quarterly", Filters(), MANY) == 0
    assert await _same(store, scope, "quarterly", Filters(kinds=()), MANY) == 0
    assert await _same(store, scope, "quarterly", Filters(), 0) == 0


async def check_fused_runs_what_is_asked(store: CheckedFusedStore) -> None:
    """Only the channels asked for, in any number, and none needs what another one does."""
    scope, _ = await _filled(store)
    vector = direction(dimension_of(store), 0)
    for channels in (("trigram",), ("vector", "lexical"), _CHANNELS, ()):
        found = await store.search_fused(scope, "quarterly", vector, Filters(), channels, k=5)
        assert {name: len(hits) for name, hits in found.items()} == dict.fromkeys(channels, 5)
    found = await store.search_fused(scope, "the", None, Filters(), ("lexical", "vector"), k=5)
    assert {name: list(hits) for name, hits in found.items()} == {"lexical": [], "vector": []}
    found = await store.search_fused(scope, "quarterly", None, Filters(), _CHANNELS, k=5)
    assert (len(found["lexical"]), len(found["vector"])) == (5, 0), "without a vector the others are not lost"


async def check_fused_vector_dimension_mismatch(store: CheckedFusedStore) -> None:
    """A vector of another length is refused as by the vector channel."""
    scope, _ = await _filled(store)
    wrong = direction(dimension_of(store) + 1, 0)
    await raises(DimensionMismatchError, store.search_fused(scope, "quarterly", wrong, Filters(), _CHANNELS, k=5))


CHECKS: tuple[Callable[[CheckedFusedStore], Awaitable[None]], ...] = (
    check_fused_equals_each_channel,
    check_fused_runs_what_is_asked,
    check_fused_vector_dimension_mismatch,
)
