"""What the templates show, as plain numbers and texts: marked words, the timeline, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from brain_async.analysis import index_terms, words
from brain_async.model.results import ChannelOutcome

__all__ = ["Lane", "marked", "number", "timeline"]

_WORD = re.compile(r"[^\W_]+")


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A channel on the timeline: where it starts and how long it is, in percent of the time until the last one ended."""

    outcome: ChannelOutcome
    left: float
    width: float


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is a word that ``query`` has too, in this form or another of its stem."""
    asked, terms = set(words(query)), set(index_terms(query))
    pieces: list[tuple[str, bool]] = []
    end = 0
    for match in _WORD.finditer(text):
        word = match[0]
        if asked.isdisjoint(words(word)) and terms.isdisjoint(index_terms(word)):
            continue
        if match.start() > end:
            pieces.append((text[end : match.start()], False))
        pieces.append((word, True))
        end = match.end()
    if end < len(text):
        pieces.append((text[end:], False))
    return pieces


def timeline(outcomes: Sequence[ChannelOutcome]) -> list[Lane]:
    """A lane for each channel, at least one percent long, within 0 to 100."""
    whole = max((outcome.started + outcome.seconds for outcome in outcomes), default=0.0) or 1.0
    lanes = []
    for outcome in outcomes:
        width = max(100 * outcome.seconds / whole, 1.0)
        lanes.append(Lane(outcome=outcome, left=min(100 * outcome.started / whole, 100 - width), width=width))
    return lanes


def number(value: float) -> str:
    """Three decimals; of what is nearer to 0 than that, three digits."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2e}"
