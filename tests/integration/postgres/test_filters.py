"""Filters mean in SQL what ``Filters.matches`` says, on random objects and random filters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain_async.adapters.postgres import PostgresStore, migrate, open_postgres
from brain_async.adapters.postgres.lexical_textsearch import DIRECT_PARTS
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import BASE_TIME, direction, fresh_scope, new_parent, new_part

_KINDS = ("a", "b", "A", "größe")
_TITLES = ("Report one", "report one", "Report two")
_VALUES = (1, 1.0, 0, -0.0, "1", "", "x", True, False, 0.1, 1e22, 10**22 // 10**4, 2**53, 2**53 + 1, "ä'\"\\")
_KEYS = ("n", "s", 'odd "key')

_values = st.sampled_from(_VALUES)
_stored = st.dictionaries(st.sampled_from(_KEYS), _values | st.none() | st.just([1]) | st.just({"n": 1}), max_size=3)
_moments = st.integers(-2, 2).map(lambda n: BASE_TIME + timedelta(microseconds=n))
_described = st.fixed_dictionaries(
    {"kind": st.sampled_from(_KINDS), "title": st.sampled_from(_TITLES), "properties": _stored}
)
_part = st.tuples(_described, _moments, _moments)
_families = st.lists(st.tuples(_described, st.lists(_part, max_size=4)), min_size=1, max_size=3)


def _subset(of: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...] | None]:
    return st.none() | st.lists(st.sampled_from(of), max_size=3, unique=True).map(tuple)


_property_filters = st.lists(
    st.builds(PropertyFilter, st.sampled_from(_KEYS), st.lists(_values, max_size=3).map(tuple)), max_size=3
).map(tuple)
_filters = st.builds(
    Filters,
    kinds=_subset(_KINDS),
    own_kinds=_subset(_KINDS),
    titles=_subset(_TITLES),
    created_after=st.none() | _moments,
    created_before=st.none() | _moments,
    updated_after=st.none() | _moments,
    updated_before=st.none() | _moments,
    properties=_property_filters,
)


@pytest.fixture(scope="module", params=["resolved", "walked"])
async def store(postgres_dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[PostgresStore]:
    """Filters resolved first, as selective ones are, and checked part by part, as those are that many parts pass."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "walked":
            patch.setattr(migrate, "EXACT_PARTS", 0)
        async for opened in _open(postgres_dsn):
            yield opened


async def _open(postgres_dsn: str) -> AsyncIterator[PostgresStore]:
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("drop schema if exists filters cascade; create schema filters")
    async with open_postgres(postgres_dsn, dimension=4, lexical="portable", search_path="filters, public") as opened:
        yield opened
    await connection.execute("drop schema filters cascade")
    await connection.close()


def _build(scope: Scope, families: list[Any]) -> tuple[list[Object], dict[UUID | None, Object]]:
    parts: list[Object] = []
    parents: dict[UUID | None, Object] = {}
    for described, members in families:
        parent = new_parent(scope, **described)
        parents[parent.id] = parent
        parts += [
            new_part(scope, parent, created_at=created, updated_at=updated, embedding=direction(4, 10), **fields)
            for fields, created, updated in members
        ]
    return parts, parents


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(families=_families, filters=st.lists(_filters, min_size=1, max_size=6), pick=st.integers(0, 2))
async def test_every_channel_agrees_with_matches(
    store: PostgresStore, families: list[Any], filters: list[Filters], pick: int
) -> None:
    scope = fresh_scope()
    parts, parents = _build(scope, families)
    results = await store.put_objects(scope, [*parents.values(), *parts])
    assert all(isinstance(result, Object) for result in results)
    ids = [obj.key for obj in (*parents.values(), *parts)]
    for each in (*filters, filters[0].within(ids[pick::2])):
        wanted = {part.id for part in parts if each.matches(part, parents[part.parent_id])}
        for hits in (
            await store.search_lexical(scope, "report", each, k=100),
            await store.search_trigram(scope, "report", each, k=100),
            await store.search_vector(scope, direction(4, 0), each, k=100),
        ):
            assert {hit.id for hit in hits} == wanted, each


async def test_unstorable_filter_values_match_nothing(store: PostgresStore) -> None:
    """NUL and lone surrogates cannot be stored, so nothing equals them; no driver error."""
    scope = fresh_scope()
    parts, parents = _build(
        scope, [({"kind": "a", "title": "Report", "properties": {"s": "x"}}, [({}, BASE_TIME, BASE_TIME)])]
    )
    await store.put_objects(scope, [*parents.values(), *parts])
    for bad in ("\x00", "x\x00", "\ud800"):
        for filters in (
            Filters(kinds=(bad,)),
            Filters(own_kinds=(bad,)),
            Filters(titles=(bad,)),
            Filters(properties=(PropertyFilter("s", (bad,)),)),
            Filters(properties=(PropertyFilter(bad, ("x",)), PropertyFilter("s", ("x", "y")))),
        ):
            assert await store.search_vector(scope, direction(4, 0), filters, k=5) == []
    assert (
        len(await store.search_vector(scope, direction(4, 0), Filters(properties=(PropertyFilter("s", ("x",)),)), k=5))
        == 1
    )


async def test_textsearch_under_filters_is_its_ranking_without_them(postgres_dsn: str, fresh_schema: str) -> None:
    """Of a namespace that the index is walked for, with filters that few parts pass and that many pass."""
    scope = fresh_scope()
    parent = new_parent(scope, kind="document")
    words = [f"word{letter}{other}" for letter in "abcdef" for other in "abcdef"]
    parts = [
        new_part(
            scope,
            parent,
            content=" ".join(words[number * step % 36] for step in range(1, 3 + number % 7)),
            properties={"few": number % 97 == 0, "some": number % 7 == 0, "most": number % 7 != 0},
            position=number,
        )
        for number in range(DIRECT_PARTS + 100)
    ]
    async with open_postgres(
        postgres_dsn, dimension=4, lexical="pg_textsearch", search_path=f"{fresh_schema}, public"
    ) as store:
        results = await store.put_objects(scope, [parent, *parts])
        assert all(isinstance(result, Object) for result in results)
        for query in (words[1], " ".join(words[:3]), " ".join(words), " ".join([*words, *words[:5]])):
            everything = await store.search_lexical(scope, query, Filters(), k=len(parts))
            assert everything
            for name in ("few", "some", "most"):
                passing = {part.id for part in parts if part.properties[name]}
                wanted = [(hit.id, hit.score) for hit in everything if hit.id in passing]
                filters = Filters(properties=(PropertyFilter(name, (True,)),))
                # With words repeated, the best by the distinct words are scored anew: all of them, where k takes in all.
                for k in (len(parts),) if query.endswith(words[4]) else (5, len(parts)):
                    hits = await store.search_lexical(scope, query, filters, k=k)
                    assert [(hit.id, hit.score) for hit in hits] == wanted[:k], (query, name, k)
