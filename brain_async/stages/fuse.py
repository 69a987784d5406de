"""Stage 2: fuse the ranked lists of the channels into one scored set of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.config import FusionMethod
from brain_async.model.candidate import Candidate, Fused, newest_first
from brain_async.model.results import ChannelRank

__all__ = ["fuse"]

ZERO_BASED = frozenset({"lexical", "trigram", "graph_text"})
"""Channels whose scores start at a true zero, "nothing in common"; a similarity has none, its list's lowest stands in."""


def _merge(known: Candidate, seen: Candidate) -> Candidate:
    """``known`` with its gaps filled from ``seen``; the newer updated_at wins."""
    newest = max((at for at in (known.updated_at, seen.updated_at) if at is not None), default=None)
    return msgspec.structs.replace(
        known,
        parent_id=known.parent_id if known.parent_id is not None else seen.parent_id,
        title=known.title or seen.title,
        position=known.position if known.position is not None else seen.position,
        updated_at=newest,
    )


def _shares(channel: str, hits: Sequence[Candidate], method: FusionMethod, weight: float, rrf_k: int) -> list[float]:
    if method == "rrf":
        return [weight / (rrf_k + rank) for rank in range(1, len(hits) + 1)]
    low = 0.0 if channel in ZERO_BASED else min(hit.score for hit in hits)
    spread = max(hit.score for hit in hits) - low
    return [weight * ((hit.score - low) / spread if spread > 0 else 1.0) for hit in hits]


def fuse(
    ranked: Mapping[str, Sequence[Candidate]], *, method: FusionMethod, weights: Mapping[str, float], rrf_k: int
) -> list[Fused]:
    """Fuse the lists of ``ranked`` (channel to hits, best first), each weighed by ``weights[channel]``.

    ``rrf``: weight / (rrf_k + rank), rank from 1 (Cormack, Clarke, Buettcher 2009). ``relative``: weight x the score
    scaled to [0, 1] by its channel's maximum and its lowest possible value (Bruch, Gai, Ingber 2023), which is 0 for
    text scores and, for similarities, the lowest of the list; a list of equal scores counts in full. A candidate's
    shares add up. The output is in the order of first sighting, not sorted.
    """
    fused: dict[UUID, Fused] = {}
    for channel, hits in ranked.items():
        if not hits:
            continue
        shares = _shares(channel, hits, method, weights[channel], rrf_k)
        for rank, (hit, share) in enumerate(zip(hits, shares, strict=True), start=1):
            channel_rank = ChannelRank(channel, rank, hit.score, share)
            found = fused.get(hit.id)
            if found is None:
                fused[hit.id] = Fused(hit, [channel_rank], newest_first(hit.updated_at), share, 0.0, 1.0, share)
                continue
            if not (found.candidate.title and found.candidate.updated_at == hit.updated_at):
                found.candidate = _merge(found.candidate, hit)
                found.newest = newest_first(found.candidate.updated_at)
            found.fused += share
            found.score = found.fused
            found.channels.append(channel_rank)
    return list(fused.values())
