"""Embeddings that change, again and again: the vector index stays whole, and finds every node where it now is."""

from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import pytest
from numpy.typing import NDArray

from brain_async import Object, Scope
from brain_async.model.filters import Filters
from helixgraph import HelixGraph, open_helix_embedded

DIMENSION = 32
NODES = 150


async def _ensure(graph: HelixGraph, scope: Scope, vectors: NDArray[np.float64], which: NDArray[np.int64]) -> None:
    objects = [
        Object(
            id=UUID(int=int(i) + 1, version=4),
            kind="thing",
            title=f"thing {i}",
            namespace_id=scope.namespace_id,
            embedding=tuple(vectors[i].tolist()),
        )
        for i in which
    ]
    await graph.ensure_objects(scope, objects)


@pytest.mark.parametrize("tenants", [False, True], ids=["one index", "tenants"])
async def test_the_nearest_are_found_after_many_changes(tenants: bool) -> None:
    rng, scope = np.random.default_rng(3), Scope(uuid4())
    vectors = rng.normal(size=(12, DIMENSION))[rng.integers(0, 12, NODES)] + 0.1 * rng.normal(size=(NODES, DIMENSION))
    async with open_helix_embedded(dimension=DIMENSION, tenants=tenants) as graph:
        await _ensure(graph, scope, vectors, np.arange(NODES))
        for share in (0.5, 1.0, 0.3, 1.0):
            changed = np.flatnonzero(rng.random(NODES) < share)
            vectors[changed] += 0.05 * rng.normal(size=(len(changed), DIMENSION))
            await _ensure(graph, scope, vectors, changed)
        units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
        found = 0
        for i in range(0, NODES, 10):
            nearest = {UUID(int=int(j) + 1, version=4) for j in np.argsort(-units @ units[i])[:10]}
            hits = await graph.search_objects_vector(scope, units[i].astype(np.float32), Filters(), k=10)
            assert hits[0].id == UUID(int=i + 1, version=4)
            assert hits[0].score == pytest.approx(1.0, abs=1e-4)
            found += len(nearest & {hit.id for hit in hits})
        assert found >= 0.95 * 10 * NODES / 10
