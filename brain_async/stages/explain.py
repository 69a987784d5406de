"""Explain: for ids the caller asks about, why they are not on the page. Runs only on request."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from brain_async.model.candidate import Fused, Promoted
from brain_async.model.filters import Filters
from brain_async.model.results import Missing
from brain_async.model.scope import Scope
from brain_async.ports.store import ObjectReader

__all__ = ["explain_missing"]


async def explain_missing(
    reader: ObjectReader,
    scope: Scope,
    asked: Sequence[UUID],
    *,
    page_ids: Sequence[UUID],
    promoted: Sequence[Promoted],
    ranked: Sequence[Fused],
    filters: Filters,
    candidate_k: int,
) -> tuple[Missing, ...]:
    """One reason for each id of ``asked`` that is neither on the page nor evidence on it, in the order asked."""
    visible = {obj.key: obj for obj in await reader.get_many(scope, asked)}
    parent_ids = [obj.parent_id for obj in visible.values() if obj.parent_id is not None]
    parents = {obj.key: obj for obj in await reader.get_many(scope, parent_ids)} if parent_ids else {}
    place = {item.id: index for index, item in enumerate(promoted, start=1)}
    owner_of_part = {hit.candidate.id: hit.candidate.parent_id for hit in ranked if hit.candidate.parent_id is not None}
    on_page = set(page_ids)
    missing = []
    for object_id in dict.fromkeys(asked):
        owner = owner_of_part.get(object_id)
        if object_id in on_page:
            continue
        if object_id not in visible:
            reason = "not visible in this scope: unknown, deleted, or of another namespace"
        elif object_id in place:
            reason = f"ranked {place[object_id]} of {len(promoted)}, behind this page: continue, or raise the limit"
        elif owner is not None and owner in on_page:
            reason = f"a part that matched: it stands under its parent {owner} on this page"
        elif owner is not None:
            reason = (
                f"a part that matched: its parent {owner} ranked {place.get(owner, '(invisible)')} of {len(promoted)}"
            )
        elif (obj := visible[object_id]).parent_id is not None and not filters.matches(obj, parents.get(obj.parent_id)):
            reason = "excluded by the filters, the kinds or the scope_ids of this request"
        else:
            what = "it" if visible[object_id].is_part else "a part of it (or its entity text)"
            reason = f"no channel had {what} among its first {candidate_k} candidates"
        missing.append(Missing(id=object_id, reason=reason))
    return tuple(missing)
