"""read and list_children: objects by id."""

from __future__ import annotations

from uuid import UUID

from brain_async.errors import ObjectNotFoundError
from brain_async.model.results import RichObject, rich_from_object
from brain_async.model.scope import Scope
from brain_async.ops.arguments import required_id
from brain_async.ops.deps import Deps

__all__ = ["list_children", "read"]


async def read(deps: Deps, scope: Scope, object_id: UUID | None) -> RichObject:
    """See ``Engine.read``."""
    async with deps.span("read") as span:
        deps.check_scope(scope)
        object_id = required_id(object_id)
        obj = await deps.store.get(scope, object_id)
        if obj is None:
            raise ObjectNotFoundError(object_id)
        span.returned(1)
        return rich_from_object(obj, content=True)


async def list_children(deps: Deps, scope: Scope, parent_id: UUID | None) -> list[RichObject]:
    """See ``Engine.list_children``."""
    async with deps.span("list_children") as span:
        deps.check_scope(scope)
        parent_id = required_id(parent_id)
        if not await deps.store.get_many(scope, [parent_id]):
            raise ObjectNotFoundError(parent_id)
        children = (await deps.store.list_children(scope, [parent_id])).get(parent_id, ())
        span.returned(len(children))
        return [rich_from_object(child) for child in children]
