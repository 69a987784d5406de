"""inspector: the application whose pages show a search, an object and its neighbourhood; it only reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any
from uuid import UUID

from fastapi import Depends, FastAPI, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from brain_async.engine import Engine
from brain_async.errors import BrainError, InvalidInputError
from brain_async.fastapi.problems import problem_of
from brain_async.fastapi.reading import while_connected
from brain_async.fastapi.sources import EngineSource, ScopeSource, provider_of
from brain_async.fastapi.turns import Turns
from brain_async.inspector.views import marked, picture, timeline
from brain_async.model.requests import ExpandRequest, SearchRequest
from brain_async.model.scope import Scope
from brain_async.session import SearchContext

__all__ = ["inspector"]

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def inspector(engine: EngineSource, *, scope: ScopeSource, max_reads: int | None = None) -> FastAPI:
    """An application with ``/`` (search), ``/object/{id}`` and ``/style.css``, for ``service(page=...)``.

    Args:
        engine, scope: as for ``brain_async.fastapi.router``: a page shows what the scope sees, and nothing in a request
            can widen it.
        max_reads: pages that are looked up at once; those beyond wait their turn.

    Raises InvalidInputError for ``max_reads`` below 1.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # The loader reads files: everything is compiled here, so that no request waits for the disk.
    pages = Environment(loader=PackageLoader("brain_async.inspector"), autoescape=True, undefined=StrictUndefined)
    search_page, object_page = pages.get_template("search.html"), pages.get_template("object.html")
    pages.get_template("base.html")
    style = (files("brain_async.inspector") / "static" / "style.css").read_text()
    turns = Turns(max_reads)
    engine_of: Any = Depends(provider_of(engine))
    scope_of: Any = Depends(scope)

    async def shown(
        request: Request, template: Any, fill: Callable[[], Awaitable[dict[str, Any]]], **base: Any
    ) -> Response:
        status, values = 200, dict(base)
        try:
            values |= await while_connected(request, lambda: turns.run(fill))
        except BrainError as error:
            problem = problem_of(error)
            status, values = problem.status, {**base, "problem": problem}
        return Response(template.render(values), status, _HEADERS, "text/html")

    async def search(
        request: Request,
        q: str = "",
        verb: str = "search",
        kinds: str = "",
        ids: str = "",
        engine: Engine = engine_of,
        scope: Scope = scope_of,
    ) -> Response:
        async def fill() -> dict[str, Any]:
            if not q.strip():
                return {}
            wanted = kinds.replace(",", " ").split()
            body = SearchRequest(
                query=q,
                filters={"kind": wanted} if wanted else {},
                explain=True,
                explain_ids=[_id(text, "ids") for text in ids.replace(",", " ").split()],
            )
            call = engine.find_exact if verb == "find_exact" else engine.search
            page = await call(scope, body, SearchContext(scope.namespace_id))
            # One scale for all bars of the page: a longer bar is a larger share.
            best = max((why.fused for hit in page.objects for why in hit.explain), default=0.0)
            return {"page": page, "lanes": timeline(page.outcomes), "best": best}

        form = {"q": q, "verb": verb, "kinds": kinds, "ids": ids}
        return await shown(request, search_page, fill, **form, marked=marked, page=None, problem=None)

    async def object_(
        request: Request,
        object_id: str,
        labels: str = "",
        hops: int = 1,
        engine: Engine = engine_of,
        scope: Scope = scope_of,
    ) -> Response:
        hops = min(max(hops, 1), 4)

        async def fill() -> dict[str, Any]:
            found = await engine.read(scope, _id(object_id, "id"))
            parts = await engine.list_children(scope, found.id)
            drawn = None
            if wanted := labels.replace(",", " ").split():
                around = ExpandRequest(object_id=found.id, relation_types=wanted, max_hops=hops, limit=40)
                page = await engine.expand(scope, around, SearchContext(scope.namespace_id))
                drawn = picture(found, page.objects)
            return {"obj": found, "parts": parts, "drawn": drawn}

        return await shown(request, object_page, fill, labels=labels, hops=hops, obj=None, problem=None)

    async def style_css() -> Response:
        return Response(style, 200, _HEADERS, "text/css")

    app.add_api_route("/", search, methods=["GET"])
    app.add_api_route("/object/{object_id}", object_, methods=["GET"])
    app.add_api_route("/style.css", style_css, methods=["GET"])
    return app


def _id(text: str, field: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInputError(f"{field} must be UUIDs", field=field) from None
