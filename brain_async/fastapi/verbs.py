"""router: an endpoint for every verb of an engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Request, Response

from brain_async.engine import Engine
from brain_async.fastapi.bodies import (
    ContinueBody,
    EdgeBody,
    ExpandBody,
    ExpandByRecipeBody,
    ExpandManyBody,
    FindLinksBody,
    FindObjectsBody,
    KindsBody,
    LinkBody,
    LinkManyBody,
    LinksReply,
    ObjectBody,
    ObjectsReply,
    PageReply,
    PutManyBody,
    PutManyReply,
    ReconcileBody,
    SchemaReply,
    SearchBody,
)
from brain_async.fastapi.cursors import Cursors
from brain_async.fastapi.documents import body_document, responses_document
from brain_async.fastapi.events import EventStream
from brain_async.fastapi.problems import ProblemRoute, public_failures
from brain_async.fastapi.reading import decoded, decoded_items, read_body, while_connected
from brain_async.fastapi.sources import EngineSource, ScopeSource, provider_of
from brain_async.fastapi.turns import Turns
from brain_async.model.drift import Drift, ReconcileReport
from brain_async.model.object import Object
from brain_async.model.relation import Edge
from brain_async.model.results import LinkManyResult, RichObject, SearchPage
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress
from brain_async.session import SearchContext

__all__ = ["router"]

B = TypeVar("B")
I = TypeVar("I")  # noqa: E741

_NO_LIMIT = Turns(None)

Call = Callable[[Engine, Scope, B], Awaitable[object]]
BulkCall = Callable[[Engine, Scope, Sequence[I], Progress | None], Awaitable[object]]
PagedCall = Callable[[Engine, Scope, B, SearchContext], Awaitable[SearchPage]]


def router(
    engine: EngineSource,
    *,
    scope: ScopeSource,
    cursors: Cursors | None = None,
    max_body: int = 1 << 20,
    max_bulk_body: int = 8 << 20,
    max_reads: int | None = None,
    writes: bool = True,
    admin: bool = False,
) -> APIRouter:
    """A router with an endpoint for every verb, to be included under a prefix of the host's.

    Bodies are JSON and decoded strictly: an unknown field is an error. Errors are ``application/problem+json``. A call is
    cancelled when its client closes the connection. Large writes answer with server-sent events when the request accepts
    ``text/event-stream``.

    Args:
        engine: an engine, or a dependency that gives one, such as ``lifespan_engine``.
        scope: a dependency that gives the Scope of a request, from what the host trusts: a session, a token, a path. There
            is no default, and no header is looked at: see ``fixed_scope`` and ``header_scope``.
        cursors: for paging; needed where several processes serve the same clients, with one secret.
        max_body, max_bulk_body: bytes that a body may hold; the second for put_many and link_many.
        max_reads: calls of reading verbs that run at once; those beyond wait their turn, and have their deadlines from then
            on, for at most ten seconds (503, ``pool_exhausted``). A small multiple of the store's connections is as quick, and
            keeps the event loop free. None is no limit.
        writes: whether there are endpoints that write.
        admin: whether there are endpoints for the kinds of all namespaces, drift and reconcile.
    """
    verbs = _Verbs(
        engine, scope, cursors or Cursors(), Turns(max_reads), max_body=max_body, max_bulk_body=max_bulk_body
    )
    verbs.add_reads()
    if writes:
        verbs.add_writes()
    if admin:
        verbs.add_admin(writes=writes)
    return verbs.router


class _Verbs:
    """Builds the router."""

    def __init__(
        self,
        engine: EngineSource,
        scope: ScopeSource,
        cursors: Cursors,
        reads: Turns,
        *,
        max_body: int,
        max_bulk_body: int,
    ) -> None:
        self.router = APIRouter(route_class=ProblemRoute, default_response_class=Response)
        self._engine = Depends(provider_of(engine))
        self._scope = Depends(scope)
        self._cursors = cursors
        self._reads = reads
        self._max_body = max_body
        self._max_bulk_body = max_bulk_body

    # The verbs

    def add_reads(self) -> None:
        """The verbs that only read."""
        self._paged("/search", SearchBody, lambda engine, *call: engine.search(*call), Engine.search)
        self._paged("/find_exact", SearchBody, lambda engine, *call: engine.find_exact(*call), Engine.find_exact)
        self._paged(
            "/find_objects", FindObjectsBody, lambda engine, *call: engine.find_objects(*call), Engine.find_objects
        )
        self._paged("/expand", ExpandBody, lambda engine, *call: engine.expand(*call), Engine.expand)
        self._paged(
            "/expand_by_recipe",
            ExpandByRecipeBody,
            lambda engine, scope, body, kept: engine.expand_by_recipe(scope, body.name, body.object_id, kept),
            Engine.expand_by_recipe,
        )
        self._paged("/continue", ContinueBody, self._continue, Engine.continue_)

        async def find_links(engine: Engine, scope: Scope, body: FindLinksBody) -> LinksReply:
            return LinksReply(links=await engine.find_links(scope, body))

        async def expand_many(engine: Engine, scope: Scope, body: ExpandManyBody) -> ObjectsReply:
            return ObjectsReply(objects=await engine.expand_many(scope, body))

        self._post("/find_links", FindLinksBody, LinksReply, find_links, Engine.find_links, turns=self._reads)
        self._post("/expand_many", ExpandManyBody, ObjectsReply, expand_many, Engine.expand_many, turns=self._reads)

        async def children(engine: Engine, scope: Scope, object_id: UUID) -> ObjectsReply:
            return ObjectsReply(objects=await engine.list_children(scope, object_id))

        self._on_object("GET", "/objects/{object_id}", RichObject, Engine.read, Engine.read)
        self._on_object("GET", "/objects/{object_id}/children", ObjectsReply, children, Engine.list_children)

        async def schema(request: Request, kind: str = "", engine: Engine = self._engine) -> Response:
            return _reply(await while_connected(request, lambda: engine.schema(kind)))

        self._route("GET", "/schema", schema, Engine.schema, SchemaReply)

    def add_writes(self) -> None:
        """The verbs that write objects and links."""

        async def link(engine: Engine, scope: Scope, body: LinkBody) -> Edge:
            return await engine.link(scope, body.from_id, body.to_id, body.relation_type, body.meta)

        async def put_many(
            engine: Engine, scope: Scope, objects: Sequence[ObjectBody], progress: Progress | None
        ) -> PutManyReply:
            done = await engine.put_many(scope, objects, progress=progress)
            stored = [obj.key for obj in done.objects]
            return PutManyReply(stored=stored, failures=public_failures(done.failures), waiting=done.waiting)

        async def link_many(
            engine: Engine, scope: Scope, edges: Sequence[EdgeBody], progress: Progress | None
        ) -> LinkManyResult:
            done = await engine.link_many(scope, edges, progress=progress)
            return msgspec.structs.replace(done, failures=public_failures(done.failures))

        self._post("/objects", ObjectBody, Object, lambda engine, scope, obj: engine.put(scope, obj), Engine.put)
        self._bulk("/objects/batch", PutManyBody, ObjectBody, "objects", PutManyReply, put_many, Engine.put_many)
        self._on_object("DELETE", "/objects/{object_id}", None, Engine.soft_delete, Engine.soft_delete)
        self._post("/links", LinkBody, Edge, link, Engine.link)
        self._bulk("/links/batch", LinkManyBody, EdgeBody, "edges", LinkManyResult, link_many, Engine.link_many)

        async def unlink(
            request: Request,
            from_id: UUID,
            to_id: UUID,
            relation_type: str,
            engine: Engine = self._engine,
            scope: Scope = self._scope,
        ) -> Response:
            await while_connected(request, lambda: engine.unlink(scope, from_id, to_id, relation_type))
            return Response(status_code=204)

        self._route("DELETE", "/links", unlink, Engine.unlink, None)

    def add_admin(self, *, writes: bool) -> None:
        """What looks after all namespaces, or after the graph."""

        async def drift(request: Request, engine: Engine = self._engine, scope: Scope = self._scope) -> Response:
            return _reply(await while_connected(request, lambda: engine.drift(scope)))

        self._route("GET", "/drift", drift, Engine.drift, Drift)
        if not writes:
            return

        async def reconcile(engine: Engine, scope: Scope, body: ReconcileBody) -> ReconcileReport:
            return await engine.reconcile(scope, full=body.full)

        async def apply_kinds(engine: Engine, _scope: Scope, body: KindsBody) -> object:
            await engine.apply_kinds(body.kinds)
            return await engine.schema()

        self._post("/reconcile", ReconcileBody, ReconcileReport, reconcile, Engine.reconcile)
        self._post("/kinds", KindsBody, SchemaReply, apply_kinds, Engine.apply_kinds)

    async def _continue(self, engine: Engine, scope: Scope, body: ContinueBody, kept: SearchContext) -> SearchPage:
        result_set = self._cursors.open(scope.namespace_id, body.cursor)
        await kept.put_result_set(result_set)
        return await engine.continue_(scope, result_set.id, kept, limit=body.limit)

    # The shapes of endpoints

    def _paged(self, path: str, kind: type[B], call: PagedCall[B], verb: Callable[..., Any]) -> None:
        async def with_cursor(engine: Engine, scope: Scope, body: B) -> PageReply:
            # A context of its own for each request; what has to be kept of it goes to the client.
            kept = SearchContext(scope.namespace_id)
            page = await call(engine, scope, body, kept)
            following = self._cursors.seal(scope.namespace_id, kept.active) if page.has_more and kept.active else None
            return PageReply.of(page, following)

        self._post(path, kind, PageReply, with_cursor, verb, turns=self._reads)

    def _post(
        self,
        path: str,
        kind: type[B],
        reply: Any,
        call: Call[B],
        verb: Callable[..., Any],
        *,
        turns: Turns = _NO_LIMIT,
    ) -> None:
        async def endpoint(request: Request, engine: Engine = self._engine, scope: Scope = self._scope) -> Response:
            body = decoded(await read_body(request, self._max_body), kind)
            return _reply(await while_connected(request, lambda: turns.run(lambda: call(engine, scope, body))))

        self._route("POST", path, endpoint, verb, reply, body=kind)

    def _bulk(
        self,
        path: str,
        body_kind: Any,
        kind: type[I],
        field: str,
        reply: Any,
        call: BulkCall[I],
        verb: Callable[..., Any],
    ) -> None:
        async def endpoint(request: Request, engine: Engine = self._engine, scope: Scope = self._scope) -> Response:
            items = await decoded_items(await read_body(request, self._max_bulk_body), kind, field)
            if "text/event-stream" in request.headers.get("accept", ""):
                return EventStream(lambda progress: call(engine, scope, items, progress))
            return _reply(await while_connected(request, lambda: call(engine, scope, items, None)))

        self._route("POST", path, endpoint, verb, reply, body=body_kind, events=True)

    def _on_object(self, method: str, path: str, reply: Any, call: Call[UUID], verb: Callable[..., Any]) -> None:
        async def endpoint(
            request: Request, object_id: UUID, engine: Engine = self._engine, scope: Scope = self._scope
        ) -> Response:
            result = await while_connected(request, lambda: call(engine, scope, object_id))
            return Response(status_code=204) if reply is None else _reply(result)

        self._route(method, path, endpoint, verb, reply)

    def _route(
        self,
        method: str,
        path: str,
        endpoint: Callable[..., Awaitable[Response]],
        verb: Callable[..., Any],
        reply: Any,
        *,
        body: Any = None,
        events: bool = False,
    ) -> None:
        """``verb`` gives the operation its name and its words."""
        name = verb.__name__.rstrip("_")
        described = (verb.__doc__ or "").strip().partition(".")[0] + "."
        self.router.add_api_route(
            path,
            endpoint,
            methods=[method],
            name=name,
            operation_id=name,
            summary=name,
            description=" ".join(described.split()).replace("``", "`"),
            status_code=200 if reply is not None else 204,
            response_model=None,
            responses=responses_document(reply, "What the verb returns" if reply else "Done", events=events),
            openapi_extra=body_document(body) if body is not None else None,
            tags=["brain"],
        )


def _reply(result: object) -> Response:
    return Response(msgspec.json.encode(result), media_type="application/json")
