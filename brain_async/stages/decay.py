"""Stage 3: recency decay, the exact-title boost, and the one order of the house."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from brain_async.model.candidate import Fused

__all__ = ["EXACT_TITLE_BOOST", "boost_exact_title", "decay_factor", "decayed"]

EXACT_TITLE_BOOST = 10.0
SECONDS_PER_DAY = 86_400.0


def decay_factor(updated_at: datetime | None, now: datetime, decay_lambda: float) -> float:
    """exp(-decay_lambda x age in days): 1 when switched off (lambda <= 0), for unset times and for the future."""
    if decay_lambda <= 0 or updated_at is None:
        return 1.0
    age_days = max(0.0, (now - updated_at).total_seconds() / SECONDS_PER_DAY)
    return math.exp(-decay_lambda * age_days)


def boost_exact_title(fused: Iterable[Fused], query: str) -> None:
    """Add 10 to each candidate whose own title equals the query, trimmed and ignoring case. Runs before decay."""
    wanted = query.strip().lower()
    for item in fused:
        if item.candidate.title.strip().lower() == wanted:
            item.boost = EXACT_TITLE_BOOST


def decayed(fused: Iterable[Fused], now: datetime, decay_lambda: float) -> list[Fused]:
    """The candidates with score = (fused + boost) x decay, best first: score descending, newer first, id ascending."""
    ranked = list(fused)
    for item in ranked:
        item.decay = decay_factor(item.candidate.updated_at, now, decay_lambda)
        item.score = (item.fused + item.boost) * item.decay
    ranked.sort(key=lambda item: (-item.score, item.newest, item.candidate.id))
    return ranked
