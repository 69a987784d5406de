"""Admission: which objects of a batch may be written, and why the others may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec

from brain_async.errors import BrainError, InvalidValueError, NamespaceMismatchError, ParentNotFirstClassError
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = ["Refused", "admit"]


class Refused(msgspec.Struct, frozen=True):
    """Why an object was kept out."""

    error: BrainError


def admit(
    scope: Scope,
    objects: Sequence[Object],
    row: Callable[[UUID], Object | None],
    has_live_parts: Callable[[UUID], bool],
) -> list[Object | Refused]:
    """Each object, or its refusal, in order. An object refused for its id or namespace is no parent of the batch.

    Args:
        row: the stored object of an id, deleted ones included.
        has_live_parts: whether a stored object has parts that are not deleted.
    """
    verdicts: list[Object | Refused] = []
    seen: set[UUID] = set()
    for obj in objects:
        error = _ownership_error(scope, obj, row(obj.key), repeated=obj.key in seen)
        seen.add(obj.key)
        if error is None and obj.is_part and has_live_parts(obj.key):
            error = ParentNotFirstClassError(
                f"object {obj.key} has parts, so it cannot become a part", field="parent_id"
            )
        verdicts.append(obj if error is None else Refused(error))
    admitted = {verdict.key: verdict for verdict in verdicts if isinstance(verdict, Object)}

    def parent_of(part: Object) -> Object | None:
        if part.parent_id is None:
            return None
        return admitted.get(part.parent_id) or row(part.parent_id)

    return [
        Refused(ParentNotFirstClassError(_PARENT_RULE.format(verdict.parent_id), field="parent_id"))
        if isinstance(verdict, Object) and verdict.is_part and not _is_parent(parent_of(verdict), verdict)
        else verdict
        for verdict in verdicts
    ]


_PARENT_RULE = "parent {} is not a live first-class object of this namespace"


def _is_parent(parent: Object | None, part: Object) -> bool:
    return (
        parent is not None
        and parent.parent_id is None
        and parent.deleted_at is None
        and parent.namespace_id == part.namespace_id
    )


def _ownership_error(scope: Scope, obj: Object, stored: Object | None, *, repeated: bool) -> BrainError | None:
    if repeated:
        return InvalidValueError(f"id {obj.key} comes twice in this batch: only the first was taken", field="id")
    if not scope.sees(obj.namespace_id):
        return NamespaceMismatchError(f"object {obj.key} is not of the scope's namespace", field="namespace_id")
    if stored is not None and stored.namespace_id != obj.namespace_id:
        return NamespaceMismatchError(f"id {obj.key} is owned by another namespace", field="id")
    return None
