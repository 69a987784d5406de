"""Candidate: one hit of one channel, with the few columns that ranking needs."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from operator import attrgetter
from typing import TypeVar
from uuid import UUID

import msgspec

from brain_async.model.relation import Edge
from brain_async.model.results import ChannelRank

__all__ = ["Candidate", "EdgeHit", "Fused", "Promoted", "best_first", "newest_first", "rank_order"]


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A hit: higher ``score`` is better; scores are comparable within one channel's list only."""

    id: UUID
    parent_id: UUID | None = None
    title: str = ""
    position: int | None = None
    updated_at: datetime | None = None
    score: float = 0.0


class Fused(msgspec.Struct, gc=False):
    """A candidate on its way through the stages: ``fused`` from the channels, ``score`` after boost and decay.

    ``newest`` is ``newest_first`` of its updated_at, kept because every stage orders by it.
    """

    candidate: Candidate
    channels: list[ChannelRank]
    newest: float
    fused: float = 0.0
    boost: float = 0.0
    decay: float = 1.0
    score: float = 0.0

    @property
    def id(self) -> UUID:
        """The candidate's."""
        return self.candidate.id


class Promoted(msgspec.Struct, gc=False):
    """A parent (or a first-class object) with what earned it its place.

    ``hits`` are all its candidates, best first; ``evidence`` the parts among them, best first, cut to evidence_n; ``newest``
    is that of its newest hit.
    """

    id: UUID
    score: float
    newest: float
    hits: list[Fused]
    evidence: list[Fused]


Ranked = TypeVar("Ranked", Fused, Promoted)

_score = attrgetter("score")


class EdgeHit(msgspec.Struct, frozen=True, kw_only=True):
    """An edge whose note matched; higher ``score`` is better."""

    edge: Edge
    score: float


def best_first(items: list[Ranked]) -> list[Ranked]:
    """``items``, sorted in place by score descending, newer first, id ascending.

    Only where scores tie are times and ids looked at: sorting by one float is several times cheaper.
    """
    items.sort(key=_score, reverse=True)
    if any(item.score == after.score for item, after in pairwise(items)):
        items.sort(key=lambda item: (-item.score, item.newest, item.id))
    return items


def rank_order(candidate: Candidate) -> tuple[float, float, int]:
    """The one order of the house, as a sort key: score descending, newer first (unset last), id ascending."""
    return (-candidate.score, newest_first(candidate.updated_at), candidate.id.int)


def newest_first(at: datetime | None) -> float:
    """A sort key that puts newer times first and unset ones last."""
    return -at.timestamp() if at is not None else float("inf")
