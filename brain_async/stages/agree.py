"""How far the dense channels are to be trusted with this query, beside the text channels: two signs that the lists give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from brain_async.model.candidate import Candidate

__all__ = ["agreed_weights", "agreement", "lead"]

_TOP = 10
_LEAST_AGREEING = 0.25
"""The share of its weight left to a dense channel where nothing agrees: it may be right where the words are all different."""

_SUREST = 0.3
_LEAST_BESIDE_SURE = 0.5
"""A dense channel loses half of its weight where the lead of the text channel beside it is 0.3 above the threshold, or more."""

_COUNTERPARTS = {"vector": "lexical", "graph_vector": "graph_text"}


def agreement(first: Sequence[Candidate], second: Sequence[Candidate]) -> float:
    """How much of each list's best ten the other holds anywhere, on the mean of both: 0 (nothing) to 1. Both hold hits."""

    def held(best: Sequence[Candidate], others: Sequence[Candidate]) -> float:
        ids: set[UUID] = {hit.id for hit in others}
        top = best[:_TOP]
        return sum(hit.id in ids for hit in top) / len(top)

    return (held(first, second) + held(second, first)) / 2


def lead(hits: Sequence[Candidate]) -> float:
    """How far the tenth hit's score is behind the first's, of text scores: 0 to 1, and 0 for fewer than ten hits."""
    best = hits[0].score
    return 1 - hits[_TOP - 1].score / best if len(hits) >= _TOP and best > 0 else 0.0


def agreed_weights(
    ranked: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], *, enough: float, sure: float
) -> dict[str, float]:
    """``weights`` with less for a dense channel that the text channel beside it gives reason to doubt.

    Two things do. Their lists have little in common: from an agreement of ``enough`` on the weight stays, below it shrinks in
    proportion, to a quarter at most. That is seen where the embedder does not know the corpus' language, and there the words
    are the better guess. And the text channel is sure of its best hit: from a ``lead`` of ``sure`` on the weight falls, to
    half, since words that single a part out need no help. A channel that found nothing says nothing of the other; 0
    switches either off.
    """
    agreed = dict(weights)
    for dense, text in _COUNTERPARTS.items():
        if dense not in weights or not ranked.get(dense) or not ranked.get(text):
            continue
        if enough > 0:
            agreeing = agreement(ranked[text], ranked[dense]) / enough
            agreed[dense] *= min(1.0, max(_LEAST_AGREEING, agreeing))
        if sure > 0:
            doubt = (lead(ranked[text]) - sure) / _SUREST
            agreed[dense] *= 1.0 - (1.0 - _LEAST_BESIDE_SURE) * min(1.0, max(0.0, doubt))
    return agreed
