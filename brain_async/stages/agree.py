"""How far the dense channels are to be trusted with this query: by the text channels' lists, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from uuid import UUID

from brain_async.model.candidate import Candidate

__all__ = ["agreed_weights", "agreement", "standout"]

_TOP = 10
_LEAST = 0.5
"""The share of its weight that little agreement leaves a dense channel: it may be right where the words are all different."""

_COUNTERPARTS = {"vector": "lexical", "graph_vector": "graph_text"}


def agreement(first: Sequence[Candidate], second: Sequence[Candidate]) -> float:
    """How much of each list's best ten the other holds anywhere, on the mean of both: 0 (nothing) to 1. Both hold hits."""

    def held(best: Sequence[Candidate], others: Sequence[Candidate]) -> float:
        ids: set[UUID] = {hit.id for hit in others}
        top = best[:_TOP]
        return sum(hit.id in ids for hit in top) / len(top)

    return (held(first, second) + held(second, first)) / 2


def standout(hits: Sequence[Candidate]) -> float:
    """How many standard deviations the best score is above the mean of its list: 0 (all alike) to sqrt(len - 1).

    ``hits`` are best first and not empty.
    """
    scores = [hit.score for hit in hits]
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return (scores[0] - mean) / deviation if deviation > 0 else 0.0


def agreed_weights(
    ranked: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], *, enough: float, clear: float
) -> dict[str, float]:
    """``weights`` with less for a dense channel whose help the text channel beside it seems not to need, or not to share.

    Where the best of the text channel stands out of its list by more than ``clear`` (see ``standout``), the words have
    found what they name, and the dense channel loses in proportion: its weight is multiplied by clear / standout. Where the
    two lists have less in common than ``enough`` (see ``agreement``), it loses in proportion too, at most half: that is
    seen where the embedder does not know the corpus' language. A channel that found nothing says nothing of the other; 0
    switches either off.
    """
    agreed = dict(weights)
    for dense, text in _COUNTERPARTS.items():
        if dense not in weights or not ranked.get(dense) or not ranked.get(text):
            continue
        if enough > 0:
            agreed[dense] *= min(1.0, max(_LEAST, agreement(ranked[text], ranked[dense]) / enough))
        if clear > 0:
            agreed[dense] *= clear / max(clear, standout(ranked[text]))
    return agreed
