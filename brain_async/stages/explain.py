"""Explain: how a page was fused and, for ids the caller asks about, why they are not on it. Runs only on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.model.candidate import Fused, Promoted
from brain_async.model.filters import Filters
from brain_async.model.results import Explanation, Missing, SearchPage
from brain_async.model.scope import Scope
from brain_async.ports.store import ObjectReader

__all__ = ["explain"]


async def explain(
    reader: ObjectReader,
    scope: Scope,
    page: SearchPage,
    asked: Sequence[UUID],
    *,
    fusion: str,
    weights: Mapping[str, float],
    hydrated: Sequence[UUID],
    promoted: Sequence[Promoted],
    ranked: Sequence[Fused],
    filters: Filters,
    candidate_k: int,
    query: str = "",
) -> SearchPage:
    """``page`` with its explanation: one reason for each id of ``asked`` that is neither on it nor evidence on it.

    ``hydrated`` are the ids that the reranker was given, ``promoted`` and ``ranked`` what the stages made of all candidates,
    ``query`` what the channels were given where that is not what was asked.
    """
    shown = {obj.id for obj in page.objects} | {part.part_id for obj in page.objects for part in obj.evidence}
    absent = [object_id for object_id in dict.fromkeys(asked) if object_id not in shown]
    visible = {obj.key: obj for obj in await reader.get_many(scope, absent)} if absent else {}
    parent_ids = [obj.parent_id for obj in visible.values() if obj.parent_id is not None]
    parents = {obj.key: obj for obj in await reader.get_many(scope, parent_ids)} if parent_ids else {}
    place = {item.id: index for index, item in enumerate(promoted, start=1)}
    matched = {hit.candidate.id for hit in ranked}

    def reason(object_id: UUID) -> str:
        obj = visible.get(object_id)
        if obj is None:
            return "not visible in this scope: unknown, deleted, or of another namespace"
        parent = None if obj.parent_id is None else parents.get(obj.parent_id)
        if object_id in matched and obj.parent_id is not None:
            return of_a_matched_part(obj.parent_id)
        if object_id in place:
            return of_a_ranked_object(object_id)
        # Filters describe parts: whether a first-class object's own parts pass is not known here.
        if obj.is_part and not filters.matches(obj, parent):
            return "excluded by the filters, the kinds or the scope_ids of this request"
        what = "it" if obj.is_part else "a part of it (or its entity text)"
        return f"no channel had {what} among its first {candidate_k} candidates"

    def of_a_ranked_object(object_id: UUID) -> str:
        where = f"ranked {place[object_id]} of {len(promoted)}"
        if object_id in hydrated:
            return f"{where}, and left out by the reranker"
        return f"{where}, behind this page: continue, or raise the limit"

    def of_a_matched_part(owner: UUID) -> str:
        if owner in shown:
            return f"a part that matched, but not among the best of its parent {owner}, which is on this page"
        if owner in place:
            return f"a part that matched: its parent {owner} {of_a_ranked_object(owner)}"
        return f"a part that matched: its parent {owner} is not visible in this scope"

    explanation = Explanation(
        fusion=fusion,
        weights=weights,
        candidates=len(ranked),
        missing=tuple(Missing(id=object_id, reason=reason(object_id)) for object_id in absent),
        query=query,
    )
    return msgspec.structs.replace(page, explanation=explanation)
