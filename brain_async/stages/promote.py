"""Stage 4: promote parts to their parents, keeping the best parts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from brain_async.model.candidate import Fused, Promoted

__all__ = ["promote"]


def promote(ranked: Sequence[Fused], evidence_n: int) -> list[Promoted]:
    """Group ``ranked`` (best first) by parent, best parent first: score descending, newer first, id ascending.

    A parent's score is that of its best part (never the sum, which would reward length) plus that of its own hit in a
    graph channel, if any; a hit without a parent stands for itself. It is as new as its newest hit.
    """
    promoted: dict[UUID, Promoted] = {}
    with_part: set[UUID] = set()
    for hit in ranked:
        candidate = hit.candidate
        owner = candidate.id if candidate.parent_id is None else candidate.parent_id
        item = promoted.get(owner)
        if item is None:
            item = promoted[owner] = Promoted(owner, 0.0, hit.newest, [], [])
        item.hits.append(hit)
        if hit.newest < item.newest:
            item.newest = hit.newest
        if candidate.parent_id is None or owner not in with_part:
            item.score += hit.score
        if candidate.parent_id is not None:
            with_part.add(owner)
            if len(item.evidence) < evidence_n:
                item.evidence.append(hit)
    return sorted(promoted.values(), key=lambda item: (-item.score, item.newest, item.id))
