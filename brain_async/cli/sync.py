"""Bringing a knowledge base in step with a corpus: only what changed is written, what is gone is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from brain_async.cli.corpus import CorpusBatch
from brain_async.errors import ObjectNotFoundError
from brain_async.languages import DEFAULT_LANGUAGE
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress

if TYPE_CHECKING:
    from brain_async.local import LocalEngine

__all__ = ["CHECKSUM", "CorpusSync", "Problem", "stored_edges", "stored_parents"]

CHECKSUM = "checksum"
"""The property that says what a parent was made from."""

_PAGE = 500


class Problem(msgspec.Struct, frozen=True):
    """One object or link that could not be written: its title, and why."""

    title: str
    message: str


async def stored_parents(engine: LocalEngine, scope: Scope, kinds: Iterable[str]) -> dict[UUID, Object]:
    """The first-class objects of ``kinds`` in the scope, by id."""
    wanted = set(kinds)
    found: dict[UUID, Object] = {}
    last: UUID | None = None
    while page := await engine.store.scan(scope, first_class=True, after=last, limit=_PAGE):
        found |= {obj.key: obj for obj in page if obj.kind in wanted}
        last = page[-1].key
    return found


async def stored_edges(engine: LocalEngine, scope: Scope) -> dict[EdgeKey, Edge]:
    """Every recorded edge of the scope."""
    found: dict[EdgeKey, Edge] = {}
    last: EdgeKey | None = None
    while page := await engine.links.scan_edges(scope, after=last, limit=_PAGE):
        found |= {edge.key: edge for edge in page}
        last = page[-1].key
    return found


class CorpusSync:
    """One run: ``compare``, ``write``, ``link``, ``finish``, in this order; the counts stand on the object afterwards.

    A parent carries its checksum only when ``finish`` found all of its parts and links written, so a run that was stopped
    anywhere is completed by the next one.

    Attributes:
        added, changed: parents that are new, or differ from what is stored; the others are left alone.
        written: objects put, parts included.
        removed: objects deleted, parts included.
        linked, unlinked: edges written and removed.
        problems: what could not be written, and why.
    """

    def __init__(
        self, engine: LocalEngine, namespace_id: UUID, batch: CorpusBatch, *, relations: Sequence[str]
    ) -> None:
        """``relations`` are those whose edges ``batch`` knows completely for each of its parents."""
        self._engine = engine
        self._session = engine.session(namespace_id)
        self._relations = frozenset(relations)
        self._edges = batch.edges
        self._parents = {obj.key: obj for obj in batch.objects if not obj.is_part}
        self._parts: dict[UUID, list[Object]] = {}
        for obj in batch.objects:
            if obj.parent_id is not None:
                self._parts.setdefault(obj.parent_id, []).append(obj)
        self._incomplete: set[UUID] = set()
        self.added: list[Object] = []
        self.changed: list[Object] = []
        self.written = self.removed = self.linked = self.unlinked = 0
        self.problems: list[Problem] = []

    @property
    def unchanged(self) -> int:
        """How many parents are as stored."""
        return len(self._parents) - len(self.added) - len(self.changed)

    async def compare(self, *, everything: bool = False) -> None:
        """Find out what is new and what changed; with ``everything``, what is stored counts as changed."""
        stored = {obj.key: obj for obj in await self._engine.store.get_many(self._session.scope, list(self._parents))}
        for key, parent in self._parents.items():
            if key not in stored:
                self.added.append(parent)
            elif everything or _shown(parent) != _shown(stored[key]):
                self.changed.append(parent)

    async def write(self, *, gone: Iterable[UUID] = (), progress: Progress | None = None) -> None:
        """Put what is new or changed, then delete the parts it no longer has, and the parents that are ``gone``."""
        parents = self._to_write
        objects = [_unfinished(parent) for parent in parents]
        objects += [part for parent in parents for part in self._parts.get(parent.key, ())]
        result = await self._session.put_many(objects, progress=progress)
        self.written += len(result.objects)
        for failure in result.failures:
            obj = objects[failure.index]
            self._incomplete.add(obj.parent_id or obj.key)
            self.problems.append(Problem(obj.title, failure.message))

        children = await self._engine.store.list_children(self._session.scope, [parent.key for parent in self.changed])
        for parent_id, stored in children.items():
            kept = {part.key for part in self._parts.get(parent_id, ())}
            await self._delete(part.key for part in stored if part.key not in kept)
        await self._delete(gone)

    async def link(self, *, progress: Progress | None = None) -> None:
        """Write the edges that are new or have another note, and remove those that what changed no longer has."""
        stored = await stored_edges(self._engine, self._session.scope)
        edges = [edge for edge in self._edges if edge.key not in stored or stored[edge.key].meta.note != edge.meta.note]
        result = await self._session.link_many(edges, progress=progress)
        self.linked += len(result.edges)
        for failure in result.failures:
            edge = edges[failure.index]
            self._incomplete.add(edge.from_id)
            title = self._parents[edge.from_id].title if edge.from_id in self._parents else str(edge.from_id)
            self.problems.append(Problem(f"{title}: {edge.relation_type}", failure.message))

        kept = {edge.key for edge in self._edges}
        changed = {parent.key for parent in self.changed}
        for key in stored:
            if key.from_id in changed and key.relation_type in self._relations and key not in kept:
                await self._session.unlink(key.from_id, key.to_id, key.relation_type)
                self.unlinked += 1

    async def finish(self) -> None:
        """Give what is completely written its checksum."""
        whole = [p for p in self._to_write if CHECKSUM in p.properties and p.key not in self._incomplete]
        result = await self._session.put_many(whole)
        self.problems += [Problem(whole[failure.index].title, failure.message) for failure in result.failures]

    @property
    def _to_write(self) -> list[Object]:
        return [*self.added, *self.changed]

    async def _delete(self, object_ids: Iterable[UUID]) -> None:
        for object_id in object_ids:
            # Another process may have deleted it meanwhile: gone is gone.
            with suppress(ObjectNotFoundError):
                await self._session.soft_delete(object_id)
                self.removed += 1


def _shown(obj: Object) -> tuple[object, ...]:
    """What makes two versions of a parent differ; its text is in the checksum."""
    language = obj.language or DEFAULT_LANGUAGE
    return obj.kind, obj.title, obj.summary, obj.content_type, language, obj.properties


def _unfinished(parent: Object) -> Object:
    properties = {key: value for key, value in parent.properties.items() if key != CHECKSUM}
    return msgspec.structs.replace(parent, properties=properties)
