"""inspector: the application whose pages show a search, an object and its neighbourhood; it only reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from uuid import UUID

import anyio.to_thread
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from brain_async.engine import Engine
from brain_async.errors import BackendError, BrainError, InvalidInputError, ObjectNotFoundError, UnavailableError
from brain_async.fastapi.cursors import Cursors
from brain_async.fastapi.problems import ClientGone, problem_of
from brain_async.fastapi.reading import while_connected
from brain_async.fastapi.sources import EngineSource, ScopeSource, provider_of
from brain_async.fastapi.turns import Turns
from brain_async.inspector.form import VERBS, Form, labels_of
from brain_async.inspector.history import has_history, head_of, history_of
from brain_async.inspector.layout import layout
from brain_async.inspector.neighbourhood import MAX_HOPS, around
from brain_async.inspector.rendering import Pages
from brain_async.inspector.searching import searched
from brain_async.inspector.sign_in import Sessions, add_sign_in
from brain_async.model.scope import Scope

__all__ = ["inspector"]

_CLIENT_GONE = 499

Fill = Callable[[], Awaitable[dict[str, Any]]]


def inspector(
    engine: EngineSource,
    *,
    scope: ScopeSource,
    token: str | None = None,
    cursors: Cursors | None = None,
    max_reads: int | None = None,
    admin: bool = False,
) -> FastAPI:
    """An application of pages, for ``service(page=...)`` or below any path of a host's.

    ``/`` searches; ``/object/{id}`` and ``/edge`` show what is found, ``/kinds`` the kinds and their fields, ``/proof`` is the
    proof of a link as bytes. They answer to GET only, with a Content-Security-Policy under which nothing but the stylesheet and
    the script of their own is loaded.

    Args:
        engine, scope: as for ``brain_async.fastapi.router``: a page shows what the scope sees. Where that is unrestricted, the
            search form can name a namespace; nothing in a request can widen it.
        token: asked for by a form, and then kept as a cookie that only this site's own pages send; ``Authorization: Bearer`` is
            taken too. None lets everyone in.
        cursors: for paging; needed where several processes serve the same browsers, with one secret.
        max_reads: pages that are looked up at once; those beyond wait their turn.
        admin: whether there is ``/state``: the health of the backends, of all namespaces, and the drift of the graph.

    Raises InvalidInputError for ``max_reads`` below 1, and for an empty token.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    pages = Pages(signs_in=token is not None, admin=admin)
    _add_errors(app, pages)
    _Inspector(app, pages, engine, scope, cursors or Cursors(), Turns(max_reads)).add_pages(admin=admin)
    if token is not None:
        add_sign_in(app, Sessions(token), pages)
    return app


class _Inspector:
    """Builds the pages."""

    def __init__(
        self, app: FastAPI, pages: Pages, engine: EngineSource, scope: ScopeSource, cursors: Cursors, turns: Turns
    ) -> None:
        self._app = app
        self._pages = pages
        self._engine: Any = Depends(provider_of(engine))
        self._scope: Any = Depends(scope)
        self._cursors = cursors
        self._turns = turns

    def add_pages(self, *, admin: bool) -> None:
        """Every page."""
        self._get("/", self._search())
        self._get("/object/{object_id}", self._object())
        self._get("/edge", self._edge())
        self._get("/proof", self._proof())
        self._get("/kinds", self._kinds())
        if admin:
            self._get("/state", self._state())
        for name in ("style.css", "script.js"):
            self._get(f"/{name}", self._static(name))

    def _get(self, path: str, endpoint: Callable[..., Awaitable[Response]]) -> None:
        self._app.add_api_route(path, endpoint, methods=["GET"], response_class=Response)

    async def _shown(
        self,
        request: Request,
        name: str,
        fill: Fill,
        *,
        field_of: Callable[[BrainError], str] | None = None,
        **base: Any,
    ) -> Response:
        """The page with what ``fill`` found out; with what went wrong beside its field, where it has one."""
        values = {"signed_in": True, **base}
        try:
            values |= await while_connected(request, lambda: self._turns.run(fill))
        except BrainError as error:
            if field_of is None:
                return self._pages.refusal(request, error)
            problem = problem_of(error)
            values["error_field"] = field_of(error)
            return self._pages.page(request, name, values, problem.status, problem=problem)
        return await anyio.to_thread.run_sync(self._pages.page, request, name, values)

    def _search(self) -> Callable[..., Awaitable[Response]]:
        async def search(request: Request, engine: Engine = self._engine, scope: Scope = self._scope) -> Response:
            form = Form.of(request.query_params)

            async def fill() -> dict[str, Any]:
                return await searched(engine, scope, form, self._cursors)

            base: dict[str, Any] = {
                "form": form,
                "verbs": VERBS,
                "may_choose": scope.namespace_id is None,
                "page": None,
                "links": None,
            }
            base |= {"kinds": [spec.kind for spec in engine.catalog], "has_history": has_history(engine)}
            return await self._shown(request, "search.html", fill, field_of=form.field_of, **base)

        return search

    def _object(self) -> Callable[..., Awaitable[Response]]:
        async def show(
            request: Request,
            object_id: str,
            labels: str = "",
            hops: int = 1,
            direction: str = "both",
            engine: Engine = self._engine,
            scope: Scope = self._scope,
        ) -> Response:
            hops = min(max(hops, 1), MAX_HOPS)

            async def fill() -> dict[str, Any]:
                found = await engine.read(scope, _known_id(object_id))
                parts = await engine.list_children(scope, found.id)
                near, trouble = None, None
                if found.parent_id is None:
                    try:
                        near = await around(engine, scope, found, labels_of(labels), hops, direction)
                    except (BackendError, UnavailableError) as error:
                        trouble = problem_of(error)
                names = {} if near is None else {obj.id: obj.title or str(obj.id) for obj in near.objects}
                drawn = None if near is None or not near.edges else await anyio.to_thread.run_sync(layout, near)
                return {"obj": found, "parts": parts, "near": near, "drawn": drawn, "names": names, "trouble": trouble}

            base: dict[str, Any] = {
                "labels": labels,
                "hops": hops,
                "direction": direction,
                "has_history": has_history(engine),
            }
            return await self._shown(request, "object.html", fill, **base)

        return show

    def _edge(self) -> Callable[..., Awaitable[Response]]:
        async def edge(
            request: Request,
            source: str = "",
            label: str = "",
            target: str = "",
            engine: Engine = self._engine,
            scope: Scope = self._scope,
        ) -> Response:
            async def fill() -> dict[str, Any]:
                ends = _known_id(source), _known_id(target)
                history = await history_of(engine, scope, ends[0], label, ends[1])
                names = {end: await _name(engine, scope, end) for end in ends}
                return {"history": history, "names": names}

            return await self._shown(request, "edge.html", fill)

        return edge

    def _proof(self) -> Callable[..., Awaitable[Response]]:
        async def proof(
            request: Request,
            source: str = "",
            label: str = "",
            target: str = "",
            engine: Engine = self._engine,
            scope: Scope = self._scope,
        ) -> Response:
            try:
                ends = _known_id(source), _known_id(target)
                history = await while_connected(
                    request, lambda: self._turns.run(lambda: history_of(engine, scope, ends[0], label, ends[1]))
                )
            except BrainError as error:
                return self._pages.refusal(request, error)
            # Named by the root that it holds under: the ledger may have moved on since the page was shown.
            name = f'attachment; filename="edge-proof-{history.root.hex()}.cbor"'
            return self._pages.answer(history.proof, "application/cbor", 200, **{"Content-Disposition": name})

        return proof

    def _kinds(self) -> Callable[..., Awaitable[Response]]:
        async def kinds(request: Request, engine: Engine = self._engine, _scope: Scope = self._scope) -> Response:
            async def fill() -> dict[str, Any]:
                return {"schema": await engine.schema()}

            return await self._shown(request, "kinds.html", fill)

        return kinds

    def _state(self) -> Callable[..., Awaitable[Response]]:
        async def state(request: Request, engine: Engine = self._engine, scope: Scope = self._scope) -> Response:
            async def fill() -> dict[str, Any]:
                drift, head, trouble = None, None, None
                try:
                    head = await head_of(engine)
                    drift = await engine.drift(scope)
                except BrainError as error:  # a page about what is wrong is shown whatever is wrong
                    trouble = problem_of(error)
                return {"report": await engine.health(), "drift": drift, "head": head, "trouble": trouble}

            return await self._shown(request, "state.html", fill)

        return state

    def _static(self, name: str) -> Callable[..., Awaitable[Response]]:
        async def static() -> Response:
            return self._pages.static(name)

        return static


def _add_errors(app: FastAPI, pages: Pages) -> None:
    """Errors as pages, with the same headers as all others."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        code = {404: "page_not_found", 405: "method_not_allowed"}.get(status, "http_error")
        answer = pages.status(request, status, code)
        answer.headers.update(error.headers or {})
        return answer

    async def invalid(request: Request, _error: Exception) -> Response:
        return pages.status(request, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", "the address is not valid")

    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, BrainError)
        return pages.refusal(request, error)

    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=_CLIENT_GONE)

    async def unexpected(request: Request, _error: Exception) -> Response:
        return pages.status(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "the server's log says why")

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(BrainError, known)
    app.add_exception_handler(ClientGone, gone)
    app.add_exception_handler(Exception, unexpected)


def _known_id(text: str) -> UUID:
    """Raises InvalidInputError for what is no UUID."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInputError("an id must be a UUID", field="id") from None


async def _name(engine: Engine, scope: Scope, object_id: UUID) -> str:
    """The title of an object; its id where it has none, or is not visible any more."""
    try:
        return (await engine.read(scope, object_id)).title or str(object_id)
    except ObjectNotFoundError:
        return str(object_id)
