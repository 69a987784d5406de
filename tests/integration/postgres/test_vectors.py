"""The approximate channel against the exact one: recall, order, small tenants, selective filters, settings left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import numpy as np
import pytest

from brain_async.adapters.postgres import PostgresStore, open_postgres, vectors
from brain_async.model.candidate import rank_order
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import fresh_scope, new_parent, new_part

_DIMENSION = 64
_AMOUNT = 5_000
_THRESHOLD = 400
"""Scopes above this many parts use the index here, so that a moderate corpus shows what a large one does."""

_BIG, _SMALL = fresh_scope(), fresh_scope()


def _clustered(amount: int, seed: int) -> np.ndarray:
    centres = np.random.default_rng(0).normal(size=(40, _DIMENSION))
    random = np.random.default_rng(seed)
    points = centres[random.integers(0, 40, amount)] + 0.7 * random.normal(size=(amount, _DIMENSION))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
async def corpus() -> dict[UUID, Object]:
    parent, small_parent = new_parent(_BIG), new_parent(_SMALL)
    points = _clustered(_AMOUNT + 5, 1)
    parts = [
        new_part(
            _BIG if n < _AMOUNT else _SMALL,
            parent if n < _AMOUNT else small_parent,
            kind="rare" if n % 100 == 0 else "section",
            properties={"n": n % 100},
            embedding=point,
        )
        for n, point in enumerate(points)
    ]
    return {obj.key: obj for obj in (parent, small_parent, *parts)}


@pytest.fixture(scope="module")
async def store(postgres_dsn: str, corpus: dict[UUID, Object]) -> AsyncIterator[PostgresStore]:
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("drop schema if exists vectors cascade; create schema vectors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brain_async.adapters.postgres.migrate.EXACT_PARTS", _THRESHOLD)
        async with open_postgres(
            postgres_dsn, dimension=_DIMENSION, lexical="portable", search_path="vectors, public"
        ) as opened:
            objects = list(corpus.values())
            result = await opened.bulk_load(objects[start : start + 1_000] for start in range(0, len(objects), 1_000))
            assert result.refused == ()
            yield opened
    await connection.execute("drop schema vectors cascade")
    await connection.close()


def _exact(corpus: dict[UUID, Object], query: np.ndarray, keep: Scope, k: int, **fields: object) -> list[UUID]:
    parts = [
        obj
        for obj in corpus.values()
        if obj.is_part
        and obj.namespace_id == keep.namespace_id
        and all(getattr(obj, name) == value for name, value in fields.items())
    ]
    stored = np.asarray([obj.embedding for obj in parts], dtype=np.float16).astype(np.float64)
    scores = stored @ query.astype(np.float16).astype(np.float64) / np.linalg.norm(stored, axis=1)
    return [parts[place].key for place in np.argsort(-scores)[:k]]


async def test_recall_and_order(store: PostgresStore, corpus: dict[UUID, Object]) -> None:
    """recall@10 >= 0.95 through the index, hits in rank order."""
    async with store.connections.session() as connection:
        await connection.execute("select pg_stat_force_next_flush()")
        before = await connection.fetchval(_INDEX_SCANS)
    found, queries = 0, _clustered(60, 2)
    for query in queries:
        hits = await store.search_vector(_BIG, query, Filters(), k=10)
        assert list(hits) == sorted(hits, key=rank_order)
        assert len(hits) == 10
        found += len({hit.id for hit in hits} & set(_exact(corpus, query, _BIG, 10)))
    assert found / (10 * len(queries)) >= 0.95
    async with store.connections.session() as connection:
        await connection.execute("select pg_stat_force_next_flush()")
        assert await connection.fetchval(_INDEX_SCANS) > before, "the index was used"


_INDEX_SCANS = "select idx_scan from pg_stat_user_indexes where indexrelid = 'brain_objects_embedding'::regclass"


async def test_k_beyond_what_the_index_keeps(store: PostgresStore, corpus: dict[UUID, Object]) -> None:
    (query,) = _clustered(1, 3)
    for k in (200, 450, vectors.APPROXIMATE_MAX_K + 1, 1_500):
        hits = await store.search_vector(_BIG, query, Filters(), k=k)
        assert len(hits) == k
        exact = set(_exact(corpus, query, _BIG, k))
        assert len(exact & {hit.id for hit in hits}) >= 0.95 * k


async def test_small_tenant_and_selective_filters_are_exact(
    store: PostgresStore, corpus: dict[UUID, Object], postgres_dsn: str
) -> None:
    """5 parts beside 5,000; kind and property filters of 1 %: all hits, in true order, with the index and without."""
    queries = _clustered(5, 4)

    async def check() -> None:
        for query in queries:
            hits = await store.search_vector(_SMALL, query, Filters(), k=5)
            assert [hit.id for hit in hits] == _exact(corpus, query, _SMALL, 5)
            rare = await store.search_vector(_BIG, query, Filters(kinds=("rare",)), k=10)
            assert [hit.id for hit in rare] == _exact(corpus, query, _BIG, 10, kind="rare")
            one = await store.search_vector(_BIG, query, Filters(properties=(PropertyFilter("n", (7,)),)), k=40)
            assert [hit.id for hit in one] == _exact(corpus, query, _BIG, 40, properties={"n": 7})

    await check()
    async with store.connections.session() as connection:
        assert await connection.fetchval("show hnsw.ef_search") == "40", "settings stay within the search"
        assert await connection.fetchval("show hnsw.iterative_scan") == "off"
        await connection.execute("drop index brain_objects_embedding")
    await check()
    await store.migrate()
    assert (await store.describe()).indexes["brain_objects_embedding"].valid
    await check()


async def test_a_property_filter_is_looked_up_in_its_index(store: PostgresStore) -> None:
    """Which takes a bitmap scan: the search without a filter, which calls this one, does without them."""
    scans = _INDEX_SCANS.replace("brain_objects_embedding", "brain_objects_properties")
    seen = []
    for _ in range(2):
        async with store.connections.session() as connection:
            await connection.execute("select pg_stat_force_next_flush()")
        async with store.connections.session() as connection:
            seen.append(await connection.fetchval(scans))
        (query,) = _clustered(1, 6)
        await store.search_vector(_BIG, query, Filters(properties=(PropertyFilter("n", (7,)),)), k=5)
    assert seen[1] > seen[0]


async def test_stored_vectors_of_any_length(store: PostgresStore) -> None:
    """Cosine does not mind the length: what half precision cannot hold is scaled; zero and non-finite are refused."""
    scope = fresh_scope()
    parent = new_parent(scope)
    axis = np.eye(_DIMENSION, dtype=np.float32)
    sizes = (1e-30, 1e-9, 1.0, 1e6, 1e30)
    parts = [new_part(scope, parent, embedding=axis[0] * size) for size in sizes]
    bad = [new_part(scope, parent, embedding=np.full(_DIMENSION, value)) for value in (0.0, np.nan, np.inf)]
    results = await store.put_objects(scope, [parent, *parts, *bad])
    assert [type(result).__name__ for result in results] == ["Object"] * 6 + ["InvalidValueError"] * 3
    hits = await store.search_vector(scope, axis[0] * 1e-20, Filters(), k=10)
    assert {hit.id for hit in hits} == {part.id for part in parts}
    assert all(hit.score == pytest.approx(1.0, abs=1e-3) for hit in hits)


async def test_what_is_exact_depends_on_how_much_else_there_is(postgres_dsn: str, fresh_schema: str) -> None:
    """600 parts alone are searched by the index; among 3,000 it would pass by four others on its way to each of them."""
    mine, other = fresh_scope(), fresh_scope()
    query = _clustered(1, 5)[0]
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": f"{fresh_schema}, public"})

    async def scans(store: PostgresStore) -> int:
        before = await connection.fetchval(_INDEX_SCANS)
        assert len(await store.search_vector(mine, query, Filters(), k=10)) == 10
        async with store.connections.session() as own:
            await own.execute("select pg_stat_force_next_flush()")
        return int(await connection.fetchval(_INDEX_SCANS)) - int(before)

    def parts(scope: Scope, amount: int) -> list[Object]:
        parent = new_parent(scope)
        return [parent, *(new_part(scope, parent, embedding=point) for point in _clustered(amount, amount))]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brain_async.adapters.postgres.migrate.LEAST_EXACT_PARTS", 10)
        patch.setattr("brain_async.adapters.postgres.migrate.EXACT_PARTS", 10_000)
        async with open_postgres(
            postgres_dsn, dimension=_DIMENSION, lexical="portable", pool_size=1, search_path=f"{fresh_schema}, public"
        ) as store:
            await store.bulk_load([parts(mine, 600)])
            assert await connection.fetchval("select brain_exact_parts()") == 548
            assert await scans(store) == 1
            await store.bulk_load([parts(other, 2_400)], rebuild_indexes=True)
            assert await connection.fetchval("select brain_exact_parts()") == 1225
            assert await scans(store) == 0
    await connection.close()
