"""The vector channel: half-precision cosine similarity, exact in small scopes, HNSW in large ones.

``brain_search_vector`` counts the live parts of the scope (capped, filters included) and scans exactly what is small beside
all that the index holds (``brain_exact_parts``). Else it walks the HNSW index iteratively; should the walk end before the page
is full, it scans exactly after all. So no tenant and no filter is ever starved, whatever else the index holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.postgres.filters import filter_arguments
from brain_async.errors import DimensionMismatchError, InvalidValueError
from brain_async.model.filters import Filters
from brain_async.model.scope import Scope

__all__ = [
    "APPROXIMATE_MAX_K",
    "EXACT_PARTS",
    "LEAST_EXACT_PARTS",
    "MAX_DIMENSION",
    "MAX_INDEXED_DIMENSION",
    "VECTOR_SQL",
    "storable_embedding",
    "vector_statement",
]

MAX_DIMENSION = 16_000
"""The longest halfvec that can be stored."""

MAX_INDEXED_DIMENSION = 4_000
"""The longest halfvec that HNSW can index; longer ones are always scanned exactly."""

EXACT_PARTS = 10_000
"""Scopes of at most this many live parts are scanned exactly, where all namespaces together have many times more (10 ms)."""

LEAST_EXACT_PARTS = 2_000
"""Scopes of at most this many are scanned exactly whatever else there is (2 ms)."""

APPROXIMATE_MAX_K = 500
"""Larger requests are scanned exactly: HNSW keeps at most 1,000 candidates, and wants twice k."""

_HALF_MAX = 65_504.0
_HALF_SMALL = 2.0**-10

VECTOR_SQL = """
select * from brain_search_vector(
    $1::real[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[]::jsonb[], $12::text::jsonb, $13, $14)
"""


def storable_embedding(values: Sequence[float] | NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """The vector as it is stored: as given, or scaled when half precision could not hold it (cosine does not mind).

    Raises DimensionMismatchError, and InvalidValueError for a vector that is not finite or all zero.
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (dimension,):
        raise DimensionMismatchError(expected=dimension, got=vector.size)
    peak = float(np.abs(vector).max())
    if not np.isfinite(peak) or peak == 0.0:
        raise InvalidValueError("an embedding must be finite and not all zero", field="embedding")
    if not _HALF_SMALL <= peak <= _HALF_MAX:
        vector = vector / peak
    return vector.astype(np.float32)


def vector_statement(
    scope: Scope, vector: Sequence[float] | NDArray[np.float32], filters: Filters, *, k: int, dimension: int
) -> tuple[str, list[Any]]:
    """(sql, arguments) of the channel; one ``brain_candidate`` a row, best first."""
    query = storable_embedding(vector, dimension).tolist()
    return VECTOR_SQL, [query, k, *filter_arguments(scope, filters)]
