"""Admission: which objects of a batch may be written, given what the store holds. One rule for every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.errors import BrainError, InvalidValueError, NamespaceMismatchError, ParentNotFirstClassError
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = ["StoredState", "admit"]


class StoredState(msgspec.Struct, frozen=True):
    """What the store knows of an id: its namespace, whether it is a part, is deleted, has live parts."""

    namespace_id: UUID | None
    part: bool
    deleted: bool
    has_parts: bool


def _misplaced(obj: Object, scope: Scope, states: Mapping[UUID, StoredState]) -> BrainError | None:
    state = states.get(obj.key)
    if obj.namespace_id is None or not scope.sees(obj.namespace_id):
        return NamespaceMismatchError(f"object {obj.id} is not of the scope's namespace", field="namespace_id")
    if state is not None and state.namespace_id != obj.namespace_id:
        return NamespaceMismatchError(f"id {obj.id} is in use in another namespace", field="id")
    return None


def admit(
    objects: Sequence[Object],
    scope: Scope,
    states: Mapping[UUID, StoredState],
    refused: Mapping[int, BrainError] | None = None,
) -> list[BrainError | None]:
    """For each object, in order, the error that keeps it out, or None.

    ``states`` are those of the objects and of their parents, as far as they are stored; ``refused`` the errors of objects
    that were refused before, by index. First-class objects are decided before the parts, so that a part may come
    ahead of its parent.
    """
    verdicts: list[BrainError | None] = [(refused or {}).get(index) for index in range(len(objects))]
    seen: set[UUID] = set()
    for index, obj in enumerate(objects):
        if obj.key in seen:
            verdicts[index] = InvalidValueError(
                f"id {obj.id} comes twice in one batch: the first is stored", field="id"
            )
        seen.add(obj.key)
        verdicts[index] = verdicts[index] or _misplaced(obj, scope, states)
    accepted = {
        obj.key: obj
        for obj, verdict in zip(objects, verdicts, strict=True)
        if verdict is None and obj.parent_id is None
    }
    parents_in_use: set[UUID] = set()
    for index, obj in enumerate(objects):
        if verdicts[index] is not None or obj.parent_id is None:
            continue
        verdicts[index] = _misparented(obj, obj.parent_id, accepted, states, parents_in_use)
        if verdicts[index] is None:
            accepted[obj.key] = obj
            parents_in_use.add(obj.parent_id)
    return verdicts


def _misparented(
    obj: Object,
    parent_id: UUID,
    accepted: Mapping[UUID, Object],
    states: Mapping[UUID, StoredState],
    parents_in_use: set[UUID],
) -> BrainError | None:
    state, parent, parent_state = states.get(obj.key), accepted.get(parent_id), states.get(parent_id)
    if parent_id == obj.id:
        problem = "an object cannot be its own parent"
    elif obj.key in parents_in_use or (state is not None and state.has_parts):
        problem = f"object {obj.id} has parts of its own and cannot become a part"
    elif parent is not None:
        if parent.parent_id is None and parent.namespace_id == obj.namespace_id:
            return None
        problem = f"parent {parent_id} is not a first-class object of the same namespace"
    elif parent_state is None or parent_state.deleted or parent_state.namespace_id != obj.namespace_id:
        problem = f"parent {parent_id} does not exist"
    elif parent_state.part:
        problem = f"parent {parent_id} is itself a part"
    else:
        return None
    return ParentNotFirstClassError(problem, field="parent_id")
