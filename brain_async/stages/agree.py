"""How far the dense channels are to be trusted with this query: by what they have in common with the text channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from brain_async.model.candidate import Candidate

__all__ = ["agreed_weights", "agreement"]

_TOP = 10
_LEAST = 0.5
"""The share of its weight that a dense channel keeps at worst: it may be right where the words are all different."""

_COUNTERPARTS = {"vector": "lexical", "graph_vector": "graph_text"}


def agreement(first: Sequence[Candidate], second: Sequence[Candidate]) -> float:
    """How much of each list's best ten the other holds anywhere, on the mean of both: 0 (nothing) to 1. Both hold hits."""

    def held(best: Sequence[Candidate], others: Sequence[Candidate]) -> float:
        ids: set[UUID] = {hit.id for hit in others}
        top = best[:_TOP]
        return sum(hit.id in ids for hit in top) / len(top)

    return (held(first, second) + held(second, first)) / 2


def agreed_weights(
    ranked: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], *, enough: float
) -> dict[str, float]:
    """``weights`` with less for a dense channel whose list has little in common with that of the text channel beside it.

    From an agreement of ``enough`` on it keeps its weight; below, it loses in proportion, at most half. Lists that have
    almost nothing in common are seen where the embedder does not know the corpus' language, and there the words are the
    better guess. A channel that found nothing says nothing of the other; 0 switches this off.
    """
    agreed = dict(weights)
    for dense, text in _COUNTERPARTS.items():
        if enough > 0 and dense in weights and ranked.get(dense) and ranked.get(text):
            kept = agreement(ranked[text], ranked[dense]) / enough
            agreed[dense] *= min(1.0, max(_LEAST, kept))
    return agreed
