"""SearchContext: a namespace and the result set that ``continue_`` pages through; Session: an engine bound to one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from brain_async.config import ChannelName
from brain_async.errors import (
    InvalidValueError,
    NamespaceRequiredError,
    ResultSetIdRequiredError,
    ResultSetNotFoundError,
)
from brain_async.model.filters import FilterInput
from brain_async.model.instant import to_utc
from brain_async.model.object import NIL_UUID, Object
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.model.requests import (
    ExpandManyRequest,
    ExpandRequest,
    FindLinksRequest,
    FindObjectsRequest,
    SearchRequest,
)
from brain_async.model.results import LinkHit, LinkManyResult, PutManyResult, ResultSet, RichObject, SearchPage
from brain_async.model.scope import Scope
from brain_async.model.session_state import decode_session_state, encode_session_state
from brain_async.ports.host import Progress

if TYPE_CHECKING:
    from brain_async.engine import Engine

__all__ = ["SearchContext", "Session"]


class SearchContext:
    """The state of one conversation: its namespace, and one active result set, the newest.

    It is a ``ResultSetStore`` that keeps one: a new search replaces what the last one stored. Calls that are already
    running keep the ``scope`` they were given. Use one per conversation; nothing in it is shared.
    """

    def __init__(self, namespace_id: UUID | None = None) -> None:
        """Raises NamespaceRequiredError when ``namespace_id`` is the nil UUID: None is "no namespace"."""
        self._namespace_id = _checked_namespace(namespace_id)
        self._active: ResultSet | None = None

    def __repr__(self) -> str:
        active = None if self._active is None else self._active.id
        return f"SearchContext(namespace_id={self._namespace_id!s}, active={active!s})"

    @property
    def namespace_id(self) -> UUID | None:
        """The namespace of the calls to come; None is unrestricted."""
        return self._namespace_id

    def set_namespace(self, namespace_id: UUID | None) -> None:
        """Change the namespace of the calls to come; the active result set is kept. Raises as the constructor."""
        self._namespace_id = _checked_namespace(namespace_id)

    @property
    def scope(self) -> Scope:
        """The namespace as a Scope, a value that later changes do not touch."""
        return Scope(self._namespace_id)

    @property
    def active(self) -> ResultSet | None:
        """The result set that ``continue_`` would page through."""
        return self._active

    async def get_result_set(self, result_set_id: UUID) -> ResultSet:
        """The active set. Raises ResultSetNotFoundError for every other id."""
        if self._active is None or self._active.id != result_set_id:
            raise ResultSetNotFoundError(result_set_id)
        return self._active

    async def put_result_set(self, result_set: ResultSet) -> None:
        """Make a copy of it the active set, with created_at filled in.

        Raises ResultSetIdRequiredError for a nil id, and InvalidValueError for a naive created_at.
        """
        if result_set.id == NIL_UUID:
            raise ResultSetIdRequiredError
        try:
            created_at = to_utc(result_set.created_at or datetime.now(UTC))
        except ValueError as error:
            raise InvalidValueError(f"created_at cannot be kept: {error}", field="created_at") from None
        self._active = msgspec.structs.replace(
            result_set,
            object_ids=tuple(result_set.object_ids),
            relations=dict(result_set.relations),
            created_at=created_at,
        )

    def export(self) -> bytes | None:
        """Strict JSON that ``restore`` reads, in this process or another; None when there is nothing to keep."""
        return encode_session_state(self._namespace_id, self._active)

    def restore(self, data: bytes | str | None) -> None:
        """Replace the whole state with an exported one; None, empty data and JSON null clear it.

        Reads the envelope that ``export`` writes (the Go package ``brain`` writes the same) and the older bare result
        set, which has no namespace. Raises InvalidSessionStateError and changes nothing when ``data`` is anything else.
        """
        self._namespace_id, self._active = decode_session_state(data)


def _checked_namespace(namespace_id: UUID | None) -> UUID | None:
    if namespace_id == NIL_UUID:
        raise NamespaceRequiredError("namespace_id must not be the nil UUID: pass None for no namespace")
    return namespace_id


class Session:
    """An engine's verbs bound to one SearchContext, with plain arguments: what most callers use.

    Each verb raises what ``Engine``'s of the same name does. The scope is the context's at the time of the call.
    """

    def __init__(self, engine: Engine, context: SearchContext) -> None:
        self._engine = engine
        self.context = context

    @property
    def scope(self) -> Scope:
        """The scope of the next call."""
        return self.context.scope

    async def search(
        self,
        query: str,
        *,
        filters: FilterInput | None = None,
        limit: int = 0,
        scope_ids: Sequence[UUID] = (),
        channels: Sequence[ChannelName] | None = None,
        respell: bool | None = None,
        explain: bool = False,
        explain_ids: Sequence[UUID] = (),
    ) -> SearchPage:
        """Find the parents whose parts answer the query, with evidence."""
        request = SearchRequest(
            query=query,
            filters=filters or {},
            limit=limit,
            scope_ids=scope_ids,
            channels=channels,
            respell=respell,
            explain=explain,
            explain_ids=explain_ids,
        )
        return await self._engine.search(self.scope, request, self.context)

    async def find_exact(
        self,
        query: str,
        *,
        filters: FilterInput | None = None,
        limit: int = 0,
        scope_ids: Sequence[UUID] = (),
        explain: bool = False,
        explain_ids: Sequence[UUID] = (),
    ) -> SearchPage:
        """Find by id, title or path-like phrase, typos forgiven."""
        request = SearchRequest(
            query=query,
            filters=filters or {},
            limit=limit,
            scope_ids=scope_ids,
            explain=explain,
            explain_ids=explain_ids,
        )
        return await self._engine.find_exact(self.scope, request, self.context)

    async def find_objects(
        self, query: str, *, kinds: Sequence[str] = (), filters: FilterInput | None = None, limit: int = 0
    ) -> SearchPage:
        """Find whole first-class objects."""
        request = FindObjectsRequest(query=query, kinds=kinds, filters=filters or {}, limit=limit)
        return await self._engine.find_objects(self.scope, request, self.context)

    async def find_links(self, relation_type: str, query: str, *, limit: int = 0) -> list[LinkHit]:
        """Find edges of one relation by their notes."""
        request = FindLinksRequest(relation_type=relation_type, query=query, limit=limit)
        return await self._engine.find_links(self.scope, request)

    async def continue_(self, result_set_id: UUID | None = None, *, limit: int = 0) -> SearchPage:
        """The next page of a result set; of the active one when no id is given."""
        if result_set_id is None and self.context.active is not None:
            result_set_id = self.context.active.id
        return await self._engine.continue_(self.scope, result_set_id, self.context, limit=limit)

    async def expand(
        self,
        object_id: UUID | None,
        relation_types: Sequence[str] = (),
        *,
        want_containment: bool = False,
        max_hops: int = 1,
        direction: str = "both",
        limit: int = 0,
    ) -> SearchPage:
        """From one object to its parts and its neighbours."""
        request = ExpandRequest(
            object_id=object_id,
            relation_types=relation_types,
            want_containment=want_containment,
            max_hops=max_hops,
            direction=direction,
            limit=limit,
        )
        return await self._engine.expand(self.scope, request, self.context)

    async def expand_many(
        self,
        seed_ids: Sequence[UUID],
        relation_types: Sequence[str] = (),
        *,
        want_containment: bool = False,
        max_hops: int = 1,
        direction: str = "both",
        budget: int = 0,
    ) -> list[RichObject]:
        """Expand several seeds into one list."""
        request = ExpandManyRequest(
            seed_ids=seed_ids,
            relation_types=relation_types,
            want_containment=want_containment,
            max_hops=max_hops,
            direction=direction,
            budget=budget,
        )
        return await self._engine.expand_many(self.scope, request)

    async def expand_by_recipe(self, name: str, object_id: UUID | None) -> SearchPage:
        """Expand as a registered recipe says."""
        return await self._engine.expand_by_recipe(self.scope, name, object_id, self.context)

    async def read(self, object_id: UUID | None) -> RichObject:
        """One object with its content."""
        return await self._engine.read(self.scope, object_id)

    async def list_children(self, parent_id: UUID | None) -> list[RichObject]:
        """The parts of a parent, in order."""
        return await self._engine.list_children(self.scope, parent_id)

    async def put(self, obj: Object) -> Object:
        """Insert or replace one object."""
        return await self._engine.put(self.scope, obj)

    async def put_many(self, objects: Sequence[Object], *, progress: Progress | None = None) -> PutManyResult:
        """Insert or replace many, in batches."""
        return await self._engine.put_many(self.scope, objects, progress=progress)

    async def soft_delete(self, object_id: UUID | None) -> None:
        """Hide an object and its edges."""
        await self._engine.soft_delete(self.scope, object_id)

    async def link(
        self,
        from_id: UUID | None,
        to_id: UUID | None,
        relation_type: str,
        *,
        note: str = "",
        status: str = "",
        role: str = "",
        confidence: float = 0.0,
        evidence_id: UUID | None = None,
    ) -> Edge:
        """Link two first-class objects."""
        meta = EdgeMeta(note=note, status=status, role=role, confidence=confidence, evidence_id=evidence_id)
        return await self._engine.link(self.scope, from_id, to_id, relation_type, meta)

    async def link_many(self, edges: Sequence[Edge], *, progress: Progress | None = None) -> LinkManyResult:
        """Link many, in batches."""
        return await self._engine.link_many(self.scope, edges, progress=progress)

    async def unlink(self, from_id: UUID | None, to_id: UUID | None, relation_type: str) -> None:
        """Remove one edge."""
        await self._engine.unlink(self.scope, from_id, to_id, relation_type)
