"""A corpus of any size that can be made again piece by piece: Zipf-distributed words, and vectors as embedders make them.

Embeddings of text lie near a surface of far fewer dimensions than they have numbers. So a vector here is a point of a
mixture in ``LATENT`` dimensions, mapped to ``DIMENSION`` ones, plus a little noise: isotropic noise in all of them is
what no embedder gives, and what no graph index can search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async import Object, Scope
from brain_async.testing.corpus import make_parts

__all__ = ["DIMENSION", "LARGE", "SMALL", "exact_neighbours", "large_parts", "objects", "query_vectors", "small_parts"]

DIMENSION = 256
LATENT = 32
CLUSTERS = 200
NOISE = 0.03
PIECE = 10_000
SMALL_SHARE = 0.001
LARGE, SMALL = (Scope(UUID(int=number)) for number in (1, 2))


def small_parts(parts: int) -> int:
    """How many of ``parts`` the small namespace holds: 0.1 %, and 40 at least."""
    return max(40, int(parts * SMALL_SHARE))


def large_parts(parts: int) -> int:
    """How many the large namespace holds: the rest."""
    return parts - small_parts(parts)


def objects(parts: int) -> Iterator[Object]:
    """All objects of the corpus of ``parts`` parts, parents before their parts; the small namespace has two parts a parent."""
    yield from _namespace(LARGE, large_parts(parts), per_parent=10)
    yield from _namespace(SMALL, small_parts(parts), per_parent=2)


def part_id(scope: Scope, number: int) -> UUID:
    """The id of the namespace's part ``number``: spread over all ids, as random ones are."""
    return UUID(bytes=hashlib.blake2b(f"{scope.namespace_id}/{number}".encode(), digest_size=16).digest(), version=4)


def query_vectors(count: int) -> NDArray[np.float32]:
    """Points of the same mixture that no part is, shape (count, DIMENSION)."""
    return _vectors(np.random.default_rng(10**9), count)


def exact_neighbours(parts: int, queries: NDArray[np.float32], k: int) -> list[set[UUID]]:
    """The ids of the ``k`` parts of the large namespace that are nearest to each query, by comparing it with every part."""
    best_score = np.full((len(queries), k), -np.inf, dtype=np.float32)
    best_number = np.zeros((len(queries), k), dtype=np.int64)
    for first, vectors in _pieces(LARGE, large_parts(parts)):
        numbers = np.broadcast_to(np.arange(first, first + len(vectors)), (len(queries), len(vectors)))
        score = np.hstack([best_score, queries @ vectors.T])
        number = np.hstack([best_number, numbers])
        keep = np.argpartition(-score, k - 1, axis=1)[:, :k]
        best_score, best_number = np.take_along_axis(score, keep, 1), np.take_along_axis(number, keep, 1)
    return [{part_id(LARGE, int(number)) for number in row} for row in best_number]


def _namespace(scope: Scope, parts: int, *, per_parent: int) -> Iterator[Object]:
    assert scope.namespace_id is not None
    made = make_parts(
        parts, seed=scope.namespace_id.int, namespace_id=scope.namespace_id, dimension=None, parts_per_parent=per_parent
    )
    for first, vectors in _pieces(scope, parts):
        number = 0
        while number < len(vectors):
            obj = next(made)
            if obj.parent_id is not None:
                obj = msgspec.structs.replace(
                    obj,
                    id=part_id(scope, first + number),
                    embedding=tuple(vectors[number].tolist()),
                    embedding_model="synthetic",
                )
                number += 1
            yield obj


def _pieces(scope: Scope, parts: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """(number of the first part, vectors) of consecutive pieces, each with a seed of its own."""
    assert scope.namespace_id is not None
    for first in range(0, parts, PIECE):
        yield first, _vectors(np.random.default_rng([scope.namespace_id.int, first]), min(PIECE, parts - first))


def _vectors(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    shape = np.random.default_rng(5)  # the mixture itself is the same for all
    centres = shape.standard_normal((CLUSTERS, LATENT))
    spread = shape.standard_normal((LATENT, DIMENSION)) / np.sqrt(LATENT)
    latent = centres[rng.integers(CLUSTERS, size=count)] + 0.6 * rng.standard_normal((count, LATENT))
    vectors = latent @ spread + NOISE * rng.standard_normal((count, DIMENSION))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
