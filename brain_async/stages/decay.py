"""Stage 3: recency decay, the exact-title boost, and the one order of the house."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from brain_async.model.candidate import Fused, best_first

__all__ = ["EXACT_TITLE_BOOST", "boost_exact_title", "decay_factor", "decayed"]

EXACT_TITLE_BOOST = 10.0
SECONDS_PER_DAY = 86_400.0


def decay_factor(newest: float, now: float, decay_lambda: float) -> float:
    """exp(-decay_lambda x age in days): 1 when switched off (lambda <= 0), for unset times and for the future.

    ``newest`` is ``newest_first`` of the time of the last update, ``now`` a POSIX timestamp in seconds.
    """
    age = now + newest
    return math.exp(-decay_lambda * age / SECONDS_PER_DAY) if decay_lambda > 0 and 0 < age < math.inf else 1.0


def boost_exact_title(fused: Iterable[Fused], query: str) -> None:
    """Add 10 to each candidate whose own title equals the query, trimmed and ignoring case. Runs before decay."""
    wanted = query.strip().lower()
    for item in fused:
        if item.candidate.title.strip().lower() == wanted:
            item.boost = EXACT_TITLE_BOOST


def decayed(fused: Iterable[Fused], now: datetime, decay_lambda: float) -> list[Fused]:
    """The candidates with score = (fused + boost) x decay, best first: score descending, newer first, id ascending."""
    ranked = list(fused)
    moment = now.timestamp()
    for item in ranked:
        item.decay = decay = decay_factor(item.newest, moment, decay_lambda)
        item.score = (item.fused + item.boost) * decay
    return best_first(ranked)
