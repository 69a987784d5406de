"""What the templates draw, as plain numbers and texts: marked words, the timeline, the neighbourhood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from brain_async.model.results import ChannelOutcome, RichObject

__all__ = ["marked", "picture", "timeline"]

_COLUMN, _ROW, _LABEL = 260, 56, 14


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is a word of ``query`` (ignoring case)."""
    words = sorted(set(re.findall(r"\w+", query)), key=len, reverse=True)
    if not words:
        return [(text, False)]
    pieces = re.split(rf"(?i)\b({'|'.join(map(re.escape, words))})", text)
    return [(piece, index % 2 == 1) for index, piece in enumerate(pieces) if piece]


def timeline(outcomes: Sequence[ChannelOutcome]) -> list[dict[str, Any]]:
    """A lane for each channel, its start and length in percent of the time until the last one ended."""
    whole = max((outcome.started + outcome.seconds for outcome in outcomes), default=0.0) or 1.0
    return [
        {"outcome": outcome, "left": 100 * outcome.started / whole, "width": max(100 * outcome.seconds / whole, 1)}
        for outcome in outcomes
    ]


def picture(seed: RichObject, around: Sequence[RichObject]) -> dict[str, Any]:
    """Where nodes and edges go, in SVG units: a column for each hop, the seed in the first."""
    places: dict[UUID, tuple[int, int]] = {seed.id: (10, 10)}
    nodes = [{"obj": seed, "x": 10, "y": 10, "name": _short(seed)}]
    edges = []
    rows: dict[int, int] = {}
    for obj in around:
        relation = obj.relation
        if relation is None or obj.id in places:
            continue
        row = rows.get(relation.depth, 0)
        rows[relation.depth] = row + 1
        x, y = 10 + _COLUMN * relation.depth, 10 + _ROW * row
        places[obj.id] = (x, y)
        nodes.append({"obj": obj, "x": x, "y": y, "name": _short(obj)})
        from_x, from_y = places.get(relation.source_id or seed.id, places[seed.id])
        arrow = "→" if relation.direction == "out" else "←"
        edges.append(
            {
                "x1": from_x + 140,
                "y1": from_y + 18,
                "x2": x,
                "y2": y + 18,
                "label": f"{arrow} {relation.type[:_LABEL]}",
                "title": relation.type,
                "note": relation.meta.note,
            }
        )
    depth = max(rows, default=0)
    return {
        "nodes": nodes,
        "edges": edges,
        "width": 170 + _COLUMN * depth,
        "height": 10 + _ROW * max(rows.values(), default=1),
    }


def _short(obj: RichObject) -> str:
    name = obj.title or str(obj.id)
    return name if len(name) <= 17 else name[:16] + "…"
