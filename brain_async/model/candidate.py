"""Candidate: one hit of one channel, with the few columns that ranking needs."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from brain_async.model.relation import Edge

__all__ = ["Candidate", "EdgeHit", "rank_order"]


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A hit: higher ``score`` is better; scores are comparable within one channel's list only."""

    id: UUID
    parent_id: UUID | None = None
    title: str = ""
    position: int | None = None
    updated_at: datetime | None = None
    score: float = 0.0


class EdgeHit(msgspec.Struct, frozen=True, kw_only=True):
    """An edge whose note matched; higher ``score`` is better."""

    edge: Edge
    score: float


def rank_order(candidate: Candidate) -> tuple[float, float, int]:
    """The one order of the house, as a sort key: score descending, newer first (unset last), id ascending."""
    newest = -candidate.updated_at.timestamp() if candidate.updated_at is not None else float("inf")
    return (-candidate.score, newest, candidate.id.int)
