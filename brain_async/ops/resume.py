"""continue_: the next page of a result set."""

from __future__ import annotations

from uuid import UUID

import msgspec

from brain_async.errors import ResultSetIdRequiredError, ResultSetNotFoundError
from brain_async.model.object import NIL_UUID
from brain_async.model.results import ResultSet, SearchPage, rich_from_object
from brain_async.model.scope import Scope
from brain_async.ops.arguments import checked, required_result_sets
from brain_async.ops.deps import Deps
from brain_async.ports.paging import ResultSetStore
from brain_async.stages.hydrate import hydrate_page

__all__ = ["resume"]


async def resume(
    deps: Deps, scope: Scope, result_set_id: UUID | None, limit: int, result_sets: ResultSetStore | None
) -> SearchPage:
    """See ``Engine.continue_``."""
    async with deps.span("continue") as span:
        deps.check_scope(scope)
        result_sets = required_result_sets(result_sets)
        if result_set_id is None or checked(result_set_id, UUID, "result_set_id") == NIL_UUID:
            raise ResultSetIdRequiredError
        page_size = deps.page_size(limit)
        result_set = await result_sets.get_result_set(result_set_id)
        offset = min(max(result_set.offset, 0), len(result_set.object_ids))

        objects, consumed = await hydrate_page(deps.store, scope, result_set.object_ids[offset:], limit=page_size)
        offset += consumed
        await _move(result_sets, msgspec.structs.replace(result_set, offset=offset))
        return span.page(
            SearchPage(
                objects=tuple(rich_from_object(obj, relation=result_set.relations.get(obj.key)) for obj in objects),
                result_set_id=result_set.id,
                has_more=offset < len(result_set.object_ids),
                total=len(result_set.object_ids),
                respelled=result_set.respelled,
            )
        )


async def _move(result_sets: ResultSetStore, moved: ResultSet) -> None:
    """Keep the moved offset, unless a search that ran meanwhile has replaced the result set."""
    try:
        await result_sets.get_result_set(moved.id)
    except ResultSetNotFoundError:
        return
    await result_sets.put_result_set(moved)
