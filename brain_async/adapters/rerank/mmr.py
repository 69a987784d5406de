"""Maximal marginal relevance: a page that does not say the same thing ten times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from brain_async.errors import InvalidInputError, RerankerError
from brain_async.model.object import Object
from brain_async.model.results import RichObject
from brain_async.ports.host import PassageField

__all__ = ["MmrReranker", "mmr_order"]

_INLINE_OBJECTS = 100  # ordered in a millisecond or two


class MmrReranker:
    """Orders hits by maximal marginal relevance (Carbonell and Goldstein 1998), over the embeddings that are stored.

    The first is the most relevant; each next one has the greatest ``relevance x R - (1 - relevance) x S``, where R is its
    fused score divided by the best one and S its greatest cosine similarity to what stands before it. An object's
    embedding is the mean of its evidence's, each of length 1 (its own where it has no evidence); one without any, a hit of
    the graph alone, is similar to nothing. Equals keep the fused order. It asks no model and costs one read of the store.

    Args:
        relevance: the paper's lambda, in [0, 1]: 1 is the fused order, 0 the greatest variety.

    Raises:
        InvalidInputError: relevance is not in [0, 1].
        RerankerError: the store cannot read embeddings (it is no PassageReader).
    """

    def __init__(self, *, relevance: float = 0.7) -> None:
        if not 0 <= relevance <= 1:
            raise InvalidInputError(f"relevance must be from 0 to 1, not {relevance}", field="relevance")
        self._relevance = relevance

    @property
    def passage_fields(self) -> frozenset[PassageField]:
        """The embeddings of the evidence."""
        return frozenset({"embedding"})

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> list[RichObject]:  # noqa: ARG002 the port's
        """Raises RerankerError unless there is nothing to order: a page has no embeddings."""
        if len(objects) > 1:
            raise RerankerError("MMR needs a store that can read the embeddings of a page's evidence (PassageReader)")
        return list(objects)

    async def rerank_passages(
        self,
        query: str,  # noqa: ARG002 the port's
        objects: Sequence[RichObject],
        passages: Mapping[UUID, Object],
    ) -> list[RichObject]:
        """All ``objects``, by maximal marginal relevance."""
        if len(objects) <= _INLINE_OBJECTS:
            return self._ordered(objects, passages)
        return await anyio.to_thread.run_sync(self._ordered, objects, passages)

    def _ordered(self, objects: Sequence[RichObject], passages: Mapping[UUID, Object]) -> list[RichObject]:
        scores = np.array([obj.score or 0.0 for obj in objects])
        best = float(scores.max(initial=0.0))
        relevances = scores / best if best > 0 else scores
        order = mmr_order(relevances, _unit_vectors(objects, passages), self._relevance)
        return [objects[index] for index in order]


def mmr_order(relevances: NDArray[np.float64], vectors: NDArray[np.float64], relevance: float) -> Iterator[int]:
    """The numbers of all items in order of maximal marginal relevance, ties by number.

    ``relevances`` has shape (n,); ``vectors`` shape (n, dim), rows of length 1, or 0 for an item like no other.
    """
    nearest = np.zeros(len(relevances))
    left = np.ones(len(relevances), np.bool_)
    for place in range(len(relevances)):
        gain = relevance * relevances - (1 - relevance) * nearest
        chosen = int(np.argmax(np.where(left, gain if place else relevances, -np.inf)))
        left[chosen] = False
        similar = vectors @ vectors[chosen]
        nearest = similar if place == 0 else np.maximum(nearest, similar)
        yield chosen


def _unit_vectors(objects: Sequence[RichObject], passages: Mapping[UUID, Object]) -> NDArray[np.float64]:
    embeddings = {key: each.embedding for key, each in passages.items() if each.embedding is not None}
    dimension = len(next(iter(embeddings.values()), ()))
    rows = np.zeros((len(objects), dimension))
    for row, obj in zip(rows, objects, strict=True):
        for key in [part.part_id for part in obj.evidence] or [obj.id]:
            if key in embeddings:
                row += _unit(np.asarray(embeddings[key], np.float64))
        row[:] = _unit(row)
    return rows


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
