"""A tiny reader: the objects it is given, in one namespace, and how often it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ports.store import Hydration

NAMESPACE = UUID(int=1 << 100)
SCOPE = Scope(NAMESPACE)


def an_object(number: int, parent: int | None = None, **fields: object) -> Object:
    return Object(
        id=UUID(int=number),
        kind="thing",
        namespace_id=NAMESPACE,
        parent_id=None if parent is None else UUID(int=parent),
        **fields,  # type: ignore[arg-type]
    )


class Shelf:
    """An ObjectReader of what its tests need: hydrate and get_many."""

    def __init__(self, *objects: Object) -> None:
        self.objects = {obj.key: obj for obj in objects}
        self.calls: list[int] = []

    def _seen(self, scope: Scope, ids: Sequence[UUID]) -> dict[UUID, Object]:
        visible = (self.objects.get(object_id) for object_id in dict.fromkeys(ids))
        return {obj.key: obj for obj in visible if obj is not None and scope.sees(obj.namespace_id)}

    async def get(self, scope: Scope, object_id: UUID) -> Object | None:
        return self._seen(scope, [object_id]).get(object_id)

    async def get_many(self, scope: Scope, object_ids: Sequence[UUID]) -> Sequence[Object]:
        self.calls.append(len(object_ids))
        return list(self._seen(scope, object_ids).values())

    async def hydrate(self, scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID] = ()) -> Hydration:
        self.calls.append(len(object_ids))
        return Hydration(self._seen(scope, object_ids), self._seen(scope, part_ids))

    async def list_children(
        self, scope: Scope, parent_ids: Sequence[UUID], *, limit: int | None = None
    ) -> Mapping[UUID, Sequence[Object]]:
        raise NotImplementedError

    async def scan(self, scope: Scope, *, first_class: bool, after: UUID | None, limit: int) -> Sequence[Object]:
        raise NotImplementedError
