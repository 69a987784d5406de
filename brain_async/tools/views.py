"""What a model is shown of the engine's results: ids, titles and snippets first, nothing that is empty, no content.

A whole object (``whole``) is for the tools whose purpose is the content.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from brain_async.model.instant import format_instant
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import Evidence, LinkHit, RichObject, SearchPage
from brain_async.text import snippet

__all__ = ["brief", "link_meta", "links", "page", "whole"]

_NEXT = "call continue with this result_set_id"
_NOTHING = "nothing found: use other words or fewer filters"


def page(found: SearchPage, *, nothing: str = _NOTHING) -> dict[str, Any]:
    """A page, best first; how to go on where there is more, and what was lost where a part of the search failed."""
    view: dict[str, Any] = {"objects": [_hit(obj) for obj in found.objects]}
    if found.respelled:
        view["respelled"] = dict(found.respelled)
    if found.mode is not None:
        view["mode"] = found.mode.value
    view["has_more"] = found.has_more
    if found.has_more:
        view |= {"total": found.total, "result_set_id": str(found.result_set_id), "next": _NEXT}
    if found.degraded:
        view["degraded"] = list(found.degraded)
        view["note"] = "part of the search failed, so something may be missing: say so, or search again later"
    elif not found.objects:
        view["note"] = nothing
    return view


def whole(obj: RichObject) -> dict[str, Any]:
    """One object with its content and properties."""
    return _filled(
        id=str(obj.id),
        kind=obj.kind,
        title=obj.title,
        summary=obj.summary,
        content=obj.content,
        content_type=obj.content_type,
        properties=obj.properties,
        parent_id=_text(obj.parent_id),
        position=obj.position,
        created_at=_instant(obj.created_at),
        updated_at=_instant(obj.updated_at),
    )


def brief(obj: RichObject) -> dict[str, Any]:
    """Enough to know an object by."""
    return _filled(id=str(obj.id), kind=obj.kind, title=obj.title)


def links(found: Sequence[LinkHit]) -> dict[str, Any]:
    """Edges, best first."""
    view: dict[str, Any] = {
        "links": [
            {
                "from": brief(hit.source),
                "to": brief(hit.target),
                "relation_type": hit.relation_type,
                **link_meta(hit.meta),
                "score": round(hit.score, 4),
            }
            for hit in found
        ]
    }
    if not found:
        view["note"] = "no link of this relation_type has such a note: use other words, or expand an object you know"
    return view


def link_meta(meta: EdgeMeta, *, status: str = "status") -> dict[str, Any]:
    """What a link says about itself; its status under the name ``status``."""
    return _filled(
        **{
            "note": meta.note,
            status: meta.status,
            "role": meta.role,
            "confidence": meta.confidence or None,
            "evidence_id": _text(meta.evidence_id),
        }
    )


def _hit(obj: RichObject) -> dict[str, Any]:
    return {
        **brief(obj),
        **_filled(
            summary=snippet(obj.summary),
            parent_id=_text(obj.parent_id),
            position=obj.position,
            relation=None if obj.relation is None else _relation(obj.relation),
            score=None if obj.score is None else round(obj.score, 4),
            evidence=[_evidence(part) for part in obj.evidence],
        ),
    }


def _evidence(part: Evidence) -> dict[str, Any]:
    return _filled(part_id=str(part.part_id), title=part.title, snippet=part.snippet)


def _relation(relation: Relation) -> dict[str, Any]:
    return {
        **_filled(type=relation.type, direction=relation.direction, depth=relation.depth or None),
        **link_meta(relation.meta),
    }


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else format_instant(moment)
