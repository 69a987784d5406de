"""What the parts of a write are found by besides their own text: read from the same write and from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.errors import BrainError
from brain_async.model.kind import ContextSpec, KindSpec
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Draft
from brain_async.ports.store import PASSAGE_CHARS
from brain_async.text import embedding_text, entity_index_text, index_context

__all__ = ["Written", "add_contexts"]

_NOTHING = ContextSpec()
_UNREGISTERED = KindSpec(kind="")


class Written:
    """The objects of one call, which may not be stored yet: they count in place of what the store holds under their ids."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.objects: dict[UUID, Object] = {}
        self.parts: dict[UUID, list[Object]] = {}
        for obj in objects:
            self.objects[obj.key] = obj
            if obj.parent_id is not None:
                self.parts.setdefault(obj.parent_id, []).append(obj)


class _Needing(msgspec.Struct, frozen=True):
    """A part and its specs; that of the embedding is empty where nothing is embedded."""

    draft: Draft
    parent_id: UUID
    lexical: ContextSpec
    embedding: ContextSpec

    @property
    def specs(self) -> tuple[ContextSpec, ContextSpec]:
        return self.lexical, self.embedding

    @property
    def radius(self) -> int:
        return max(spec.sibling_radius for spec in self.specs)


class _Surroundings(msgspec.Struct, frozen=True):
    """Titles of parents, the stored state of parts that are dated, and the parts around each part, in their order."""

    titles: Mapping[UUID, str]
    stored: Mapping[UUID, Object]
    siblings: Mapping[UUID, tuple[Sequence[str], Sequence[str]]]

    def around(self, obj: Object, spec: ContextSpec) -> list[str]:
        """The contents of the parts before and after."""
        before, after = self.siblings.get(obj.key, ((), ()))
        radius = spec.sibling_radius
        return [*before[max(0, len(before) - radius) :], *after[:radius]]


async def add_contexts(deps: Deps, scope: Scope, drafts: Sequence[Draft], written: Written) -> dict[int, str]:
    """Give each part its ``index_context``, by its kind; the text to embed of each draft, by its index.

    ``written`` holds all objects of the call. Where the store cannot be read, the parts that need it carry the error.
    Without an embedder the texts are those of first-class objects and of parts without their surroundings.
    """
    needing = [
        _needing(deps, draft, draft.object.parent_id)
        for draft in drafts
        if draft.error is None and draft.object.parent_id is not None
    ]
    texts = {
        draft.index: entity_index_text(draft.object)
        for draft in drafts
        if draft.error is None and draft.object.parent_id is None
    }
    try:
        found = await _surroundings(deps, scope, needing, written)
    except BrainError as error:
        found = _Surroundings({}, {}, {})
        for each in needing:
            if any(spec != _NOTHING for spec in each.specs):
                each.draft.error = error
    for each in needing:
        if each.draft.error is not None:
            continue
        obj = each.draft.object
        known = found.stored.get(obj.key)
        dated = obj if known is None else msgspec.structs.replace(obj, created_at=known.created_at)
        title = found.titles.get(each.parent_id, "")
        texts[each.draft.index] = embedding_text(each.embedding, dated, title, found.around(obj, each.embedding))
        context = index_context(each.lexical, dated, title, found.around(obj, each.lexical))
        if context != obj.index_context:
            each.draft.object = msgspec.structs.replace(obj, index_context=context)
    return texts


def _needing(deps: Deps, draft: Draft, parent_id: UUID) -> _Needing:
    kind = deps.catalog.get(draft.object.kind) or _UNREGISTERED
    embedding = _NOTHING if deps.embedder is None else kind.embedding_context
    return _Needing(draft, parent_id, kind.lexical_context, embedding)


async def _surroundings(deps: Deps, scope: Scope, needing: Sequence[_Needing], written: Written) -> _Surroundings:
    titled = [each.parent_id for each in needing if any(spec.parent_title for spec in each.specs)]
    # An object keeps the created_at of its first put.
    dated = [each.draft.object.key for each in needing if any(spec.date for spec in each.specs)]
    wanted = [*(key for key in dict.fromkeys(titled) if key not in written.objects), *dated]
    stored = {obj.key: obj for obj in await deps.store.get_many(scope, wanted)} if wanted else {}
    titles = {key: obj.title for key in titled if (obj := written.objects.get(key) or stored.get(key)) is not None}
    return _Surroundings(titles, stored, await _siblings(deps, scope, needing, written))


async def _siblings(
    deps: Deps, scope: Scope, needing: Sequence[_Needing], written: Written
) -> dict[UUID, tuple[list[str], list[str]]]:
    """The contents of the parts before and after each, at most as many as its specs ask for."""
    around = [each for each in needing if each.radius]
    if not around:
        return {}
    families = await deps.store.list_children(scope, list(dict.fromkeys(each.parent_id for each in around)))
    ordered: dict[UUID, list[Object]] = {}
    places: dict[UUID, int] = {}
    for parent_id, children in families.items():
        whole = [child for child in children if child.key not in written.objects] + written.parts.get(parent_id, [])
        ordered[parent_id] = sorted(whole, key=_child_order)
        places |= {child.key: place for place, child in enumerate(ordered[parent_id])}
    windows = {}
    for each in around:
        family, place = ordered[each.parent_id], places[each.draft.object.key]
        before, after = family[max(0, place - each.radius) : place], family[place + 1 : place + 1 + each.radius]
        windows[each.draft.object.key] = (before, after)
    unread = {
        child.key: None
        for window in windows.values()
        for side in window
        for child in side
        if child.key not in written.objects
    }
    contents = await _contents(deps, scope, list(unread))
    contents |= {key: obj.content[:PASSAGE_CHARS] for key, obj in written.objects.items()}
    return {
        key: ([contents.get(one.key, "") for one in before], [contents.get(one.key, "") for one in after])
        for key, (before, after) in windows.items()
    }


async def _contents(deps: Deps, scope: Scope, ids: Sequence[UUID]) -> dict[UUID, str]:
    """The beginnings of the contents of stored objects."""
    if not ids:
        return {}
    if deps.can.passages is not None:
        found = await deps.can.passages.read_passages(scope, ids, content=True, embedding=False)
        return {key: obj.content for key, obj in found.items()}
    objects = [await deps.store.get(scope, key) for key in ids]
    return {obj.key: obj.content[:PASSAGE_CHARS] for obj in objects if obj is not None}


def _child_order(part: Object) -> tuple[bool, int, UUID]:
    return (part.position is None, part.position or 0, part.key)
