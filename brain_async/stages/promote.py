"""Stage 4: promote parts to their parents, keeping the best parts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from brain_async.model.candidate import Fused, Promoted, newest_first

__all__ = ["promote"]


def promote(ranked: Sequence[Fused], evidence_n: int) -> list[Promoted]:
    """Group ``ranked`` (best first) by parent, best parent first: score descending, newer first, id ascending.

    A parent's score is that of its best part (never the sum, which would reward length) plus that of its own hit in a
    graph channel, if any; a hit without a parent stands for itself. ``updated_at`` is the newest among its hits.
    """
    groups: dict[UUID, list[Fused]] = {}
    for item in ranked:
        owner = item.candidate.parent_id or item.candidate.id
        groups.setdefault(owner, []).append(item)
    promoted = []
    for owner, hits in groups.items():
        parts = [hit for hit in hits if hit.candidate.parent_id is not None]
        own = sum(hit.score for hit in hits if hit.candidate.parent_id is None)
        times = [hit.candidate.updated_at for hit in hits if hit.candidate.updated_at is not None]
        promoted.append(
            Promoted(
                id=owner,
                score=own + (parts[0].score if parts else 0.0),
                updated_at=max(times, default=None),
                hits=hits,
                evidence=parts[:evidence_n],
            )
        )
    promoted.sort(key=lambda item: (-item.score, newest_first(item.updated_at), item.id.int))
    return promoted
