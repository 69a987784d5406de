"""VectorIndex: exact cosine similarity over float32 matrices, one a group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.memory.columns import Mask, Scores, Slots
from brain_async.errors import DimensionMismatchError
from brain_async.model.object import Object
from brain_async.ports.store import Vector

__all__ = ["VectorIndex", "check_dimensions"]

_INITIAL_ROWS = 16
_EXACT_ROWS = 4096
# What the float32 pass may be off by: rows this close to the cut are scored again in float64.
_FIRST_PASS_ERROR = 1e-5


def check_dimensions(expected: int | None, objects: Iterable[Object]) -> None:
    """Raise DimensionMismatchError unless all embeddings have ``expected`` elements (None: as many as the first)."""
    for obj in objects:
        if obj.embedding is not None:
            expected = len(obj.embedding) if expected is None else expected
            if len(obj.embedding) != expected:
                raise DimensionMismatchError(expected=expected, got=len(obj.embedding))


class _Matrix:
    """The vectors of one group; a removed row is filled with the last one, so that rows stay dense."""

    def __init__(self, dimension: int) -> None:
        self.vectors = np.zeros((_INITIAL_ROWS, dimension), np.float32)
        self.inverse_norms = np.zeros(_INITIAL_ROWS, np.float64)
        self.slots = np.zeros(_INITIAL_ROWS, np.int64)
        self.rows: dict[int, int] = {}

    def add(self, slot: int, vector: Vector) -> None:
        row = len(self.rows)
        if row == len(self.slots):
            self.vectors = np.concatenate([self.vectors, np.zeros_like(self.vectors)])
            self.inverse_norms = np.concatenate([self.inverse_norms, np.zeros_like(self.inverse_norms)])
            self.slots = np.concatenate([self.slots, np.zeros_like(self.slots)])
        self.vectors[row] = vector
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        self.inverse_norms[row] = 1.0 / norm if norm else 0.0
        self.slots[row] = slot
        self.rows[slot] = row

    def remove(self, slot: int) -> None:
        row, last = self.rows.pop(slot), len(self.rows)
        if row != last:
            self.vectors[row] = self.vectors[last]
            self.inverse_norms[row] = self.inverse_norms[last]
            self.slots[row] = self.slots[last]
            self.rows[int(self.slots[row])] = row

    def nearest(self, unit: NDArray[np.float64], mask: Mask, k: int) -> tuple[Slots, Scores]:
        """At least the ``k`` most similar rows that ``mask`` lets through, and every tie of the last of them.

        A float32 matrix product finds them; their scores are then computed row by row in float64, since a matrix
        product may round equal rows differently, and ties must be ties.
        """
        size = len(self.rows)
        rows = np.flatnonzero(mask[self.slots[:size]])
        if rows.size == 0:
            return np.empty(0, np.int64), np.empty(0)
        query = unit.astype(np.float32)
        if rows.size * 4 < size:
            rough = self.vectors[rows] @ query * self.inverse_norms[rows]
        else:
            rough = (self.vectors[:size] @ query * self.inverse_norms[:size])[rows]
        if rows.size > k:
            cut = np.partition(rough, rows.size - k)[rows.size - k]
            rows = rows[rough >= cut - _FIRST_PASS_ERROR]
        scores = np.concatenate(
            [
                (self.vectors[chunk].astype(np.float64) * unit).sum(axis=1) * self.inverse_norms[chunk]
                for chunk in np.split(rows, range(_EXACT_ROWS, rows.size, _EXACT_ROWS))
            ]
        )
        return self.slots[rows], np.clip(scores, -1.0, 1.0)


class VectorIndex:
    """Vectors of one dimension, addressed by slot."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Matrix] = {}

    @property
    def groups(self) -> Sequence[Hashable]:
        """The groups that hold vectors."""
        return list(self._groups)

    def add(self, group: Hashable, slot: int, vector: Vector) -> None:
        """Keep ``vector`` under a slot that has none now."""
        if group not in self._groups:
            self._groups[group] = _Matrix(len(vector))
        self._groups[group].add(slot, vector)

    def remove(self, group: Hashable, slot: int) -> None:
        """Drop the vector of a slot; one without a vector is ignored."""
        matrix = self._groups.get(group)
        if matrix is not None and slot in matrix.rows:
            matrix.remove(slot)
            if not matrix.rows:
                del self._groups[group]

    def get(self, group: Hashable, slot: int) -> tuple[float, ...] | None:
        """The vector of a slot, or None."""
        matrix = self._groups.get(group)
        if matrix is None or slot not in matrix.rows:
            return None
        return tuple(matrix.vectors[matrix.rows[slot]].tolist())

    def search(self, groups: Iterable[Hashable], vector: Vector, mask: Mask, k: int) -> tuple[Slots, Scores]:
        """Candidates for the ``k`` most similar slots of ``groups``, in no order: the best of each, ties included."""
        query = np.asarray(vector, np.float64)
        norm = float(np.linalg.norm(query))
        searched = [self._groups[group] for group in groups if group in self._groups]
        if k <= 0 or norm == 0.0 or not searched:
            return np.empty(0, np.int64), np.empty(0)
        found = [matrix.nearest(query / norm, mask, k) for matrix in searched]
        return np.concatenate([slots for slots, _ in found]), np.concatenate([scores for _, scores in found])
