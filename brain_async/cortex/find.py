"""Find: a bounded walk over the ledger, whose nodes are read from the object store under a scope."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

import msgspec

from brain_async.cortex.query import EdgeExpr, FindResult, PathStep, Query, check_query
from brain_async.cortex.record import object_id_bytes
from brain_async.cortex.uri import parse_uri
from brain_async.cortex.view import LedgerView
from brain_async.cortex.walk import Walk
from brain_async.errors import ObjectNotFoundError
from brain_async.model.object import Object
from brain_async.model.relation import Relation
from brain_async.model.results import RichObject, rich_from_object
from brain_async.model.scope import Scope
from brain_async.model.sorting import sort_rich_objects
from brain_async.ports.store import ObjectReader

__all__ = ["find"]

_PAGE = 500
"""Objects read at a time where there is no start to walk from."""


async def find(view: LedgerView, objects: ObjectReader, scope: Scope, query: Query) -> FindResult:
    """Walk from ``query.from_`` and return what it reaches, hop by hop; nodes outside the scope are not walked through.

    Each object comes once, at its smallest hop, the start never; within a hop in the order of the walk. Raises as
    ``check_query``; ObjectNotFoundError when the start is not in the scope, or not of the kind its URI names;
    InvalidEdgeTypeError for an unknown type.
    """
    check_query(query)
    search = _Find(view, objects, scope, query)
    source = search.listed() if query.from_ is None else search.walked(await search.start(query.from_))
    return await search.collect(source)


class _Find:
    """One find."""

    def __init__(self, view: LedgerView, objects: ObjectReader, scope: Scope, query: Query) -> None:
        self._view = view
        self._objects = objects
        self._scope = scope
        self._query = query
        self._walk: Walk | None = None
        self._labels: dict[int, str] = {}
        self._hops: dict[UUID, int] = {}

    async def start(self, start: UUID | str) -> UUID:
        """The start's id, when the scope sees it."""
        kind, object_id = parse_uri(start) if isinstance(start, str) else ("", start)
        object_id_bytes(object_id, "from_")
        found = await self._objects.get_many(self._scope, [object_id])
        if not found or kind not in ("", found[0].kind):
            raise ObjectNotFoundError(object_id)
        return object_id

    async def walked(self, start: UUID) -> AsyncGenerator[RichObject, None]:
        """Matches of the walk, as it comes to them."""
        query, follow = self._query, self._query.follow or EdgeExpr()
        walk = self._walk = Walk(self._view, start.bytes, follow, max_edges=query.max_edges)
        known: dict[bytes, Object] = {}

        async def see(nodes: list[bytes]) -> list[bytes]:
            found = await self._objects.get_many(self._scope, [UUID(bytes=node) for node in nodes])
            known.update((obj.key.bytes, obj) for obj in found)
            return [node for node in nodes if node in known]

        async for hop, nodes in walk.hops(see):
            for node in nodes:
                obj = known.pop(node)
                if hop >= follow.min_hops and self._matches(obj):
                    self._hops[obj.key] = hop
                    _, code, direction = walk.came_by[node]
                    relation = Relation(type=await self._label(code), direction=direction, depth=hop, source_id=start)
                    yield rich_from_object(obj, relation=relation)

    async def listed(self) -> AsyncGenerator[RichObject, None]:
        """Matches among all first-class objects, by ascending id."""
        after: UUID | None = None
        while page := await self._objects.scan(self._scope, first_class=True, after=after, limit=_PAGE):
            for obj in page:
                if self._matches(obj):
                    yield rich_from_object(obj)
            after = page[-1].key

    async def collect(self, source: AsyncGenerator[RichObject, None]) -> FindResult:
        """What of ``source`` is returned, in order, form and number as asked."""
        query = self._query
        if query.order_by.strip():
            everything = [found async for found in source]
            source = _each(sort_rich_objects(everything, query.order_by, descending=query.descending))
        objects: list[RichObject] = []
        place = tokens = 0
        has_more = False
        async with aclosing(source):
            async for match in source:
                place += 1
                if place <= query.offset:
                    continue
                has_more = query.limit is not None and len(objects) == query.limit
                found = None if has_more else await self._formed(match)
                if found is not None:
                    cost = -(-len(msgspec.json.encode(found)) // 4)
                    has_more = query.budget_tokens is not None and tokens + cost > query.budget_tokens
                    if not has_more:
                        objects.append(found)
                        tokens += cost
                if has_more:
                    break
        walk = self._walk
        return FindResult(
            objects=tuple(objects),
            hops={found.id: self._hops[found.id] for found in objects if walk is not None},
            paths={found.id: await self._path(walk, found.id) for found in objects if walk is not None},
            edges_scanned=0 if walk is None else walk.edges_scanned,
            tokens=tokens,
            has_more=has_more,
            truncated=walk is not None and walk.truncated,
        )

    def _matches(self, obj: Object) -> bool:
        query = self._query
        return (not query.types or obj.kind in query.types) and (query.where is None or query.where.matches(obj))

    async def _formed(self, found: RichObject) -> RichObject | None:
        """The object in the form asked for; None when it was deleted meanwhile."""
        match self._query.form:
            case "short":
                return RichObject(
                    id=found.id,
                    kind=found.kind,
                    title=found.title,
                    parent_id=found.parent_id,
                    namespace_id=found.namespace_id,
                    relation=found.relation,
                )
            case "full":
                obj = await self._objects.get(self._scope, found.id)
                return None if obj is None else rich_from_object(obj, content=True, relation=found.relation)
            case _:
                return found

    async def _path(self, walk: Walk, object_id: UUID) -> tuple[PathStep, ...]:
        return tuple(
            [
                PathStep(type=await self._label(code), direction=direction, object_id=UUID(bytes=node))
                for node, code, direction in walk.path(object_id.bytes)
            ]
        )

    async def _label(self, code: int) -> str:
        label = self._labels.get(code)
        if label is None:
            label = self._labels[code] = await self._view.type_label(code)
        return label


async def _each(objects: list[RichObject]) -> AsyncGenerator[RichObject, None]:
    for found in objects:
        yield found
