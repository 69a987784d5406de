"""Stage 4: promote parts to their parents, keeping the best parts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from brain_async.model.candidate import Fused, Promoted, best_first

__all__ = ["promote"]


def promote(ranked: Sequence[Fused], evidence_n: int) -> list[Promoted]:
    """Group ``ranked`` (best first) by parent, best parent first: score descending, newer first, id ascending.

    A parent's score is that of its best part (never the sum, which would reward length) plus that of its own hit in a
    graph channel, if any; a hit without a parent stands for itself. It is as new as its newest hit.
    ``evidence_n`` is at least 1.
    """
    promoted: dict[UUID, Promoted] = {}
    for hit in ranked:
        candidate = hit.candidate
        parent_id = candidate.parent_id
        owner = candidate.id if parent_id is None else parent_id
        item = promoted.get(owner)
        if item is None:
            promoted[owner] = Promoted(owner, hit.score, hit.newest, [hit], [] if parent_id is None else [hit])
            continue
        item.hits.append(hit)
        if hit.newest < item.newest:
            item.newest = hit.newest
        if parent_id is None or not item.evidence:
            item.score += hit.score
        if parent_id is not None and len(item.evidence) < evidence_n:
            item.evidence.append(hit)
    return best_first(list(promoted.values()))
