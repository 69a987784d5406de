"""service: a whole application over one engine, with a token before it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from brain_async.errors import InvalidInputError
from brain_async.fastapi.cursors import Cursors
from brain_async.fastapi.health import health_router
from brain_async.fastapi.loop_watch import LoopWatch
from brain_async.fastapi.problems import problem_response
from brain_async.fastapi.sources import EngineSource, ScopeSource
from brain_async.fastapi.verbs import router

__all__ = ["service"]

_OPEN_PATHS = frozenset({"/healthz"})
_API = ("/v1/", "/readyz")


def service(
    engine: EngineSource,
    *,
    scope: ScopeSource,
    token: str | None = None,
    hosts: Sequence[str] | None = None,
    cursors: Cursors | None = None,
    max_reads: int | None = None,
    writes: bool = True,
    page: ASGIApp | None = None,
    page_asks: bool = False,
    watch: LoopWatch | None = None,
) -> FastAPI:
    """The verbs under ``/v1``, ``/healthz`` and ``/readyz``, and ``/v1/openapi.json``; no CORS.

    Args:
        engine, scope, cursors, max_reads, writes: as for ``router``.
        token: required as ``Authorization: Bearer`` on every path but ``/healthz``. None lets everyone in.
        hosts: names that the ``Host`` header may have, without port; None takes any. Without a token, it keeps a page whose
            name was made to lead here from being taken for ours by a browser.
        page: an application for all other paths, such as one with a page at ``/``.
        page_asks: whether ``page`` asks for the token by itself, as ``inspector(token=...)`` does. A request without the token
            is then given to the page, and to nothing else.
        watch: a running LoopWatch, for ``/readyz``.
    """
    app = FastAPI(
        title="brain_async", version=_version(), docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json"
    )
    verbs = router(engine, scope=scope, cursors=cursors, max_reads=max_reads, writes=writes, admin=True)
    app.include_router(verbs, prefix="/v1")
    app.include_router(health_router(engine, watch=watch))
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(Exception, _unexpected)
    if page is not None:
        app.mount("/", page)
    if hosts is not None:
        app.add_middleware(_KnownHosts, hosts=hosts)
    if token is not None:
        app.add_middleware(_TokenRequired, token=token, page=page if page_asks else None)
    return app


class _TokenRequired:
    """Refuses requests without the token, or leaves those that are not for the API to ``page``."""

    def __init__(self, app: ASGIApp, token: str, page: ASGIApp | None = None) -> None:
        if not token:
            raise InvalidInputError("the token must not be empty", field="token")
        self._app = app
        self._page = page
        self._digest = _digest(token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] == "lifespan" or scope["path"] in _OPEN_PATHS or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        if self._page is not None and not scope["path"].removeprefix(scope.get("root_path", "")).startswith(_API):
            # Straight to the page: whatever the path is taken for, no endpoint of the API is behind it.
            await self._page(scope, receive, send)
            return
        refusal = problem_response(
            HTTPStatus.UNAUTHORIZED,
            "unauthorized",
            "send the token as Authorization: Bearer",
            headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
        )
        await refusal(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        # Digests are of one length: the time that comparing takes tells nothing, not even how long the token is.
        matches = hmac.compare_digest(_digest(given.strip().encode("latin-1")), self._digest)
        return matches and scheme.lower() == "bearer"


class _KnownHosts:
    """Refuses requests to a name that is not ours."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] == "lifespan" or _host_name(Headers(scope=scope).get("host", "")) in self._hosts:
            await self._app(scope, receive, send)
            return
        refusal = problem_response(
            HTTPStatus.MISDIRECTED_REQUEST, "bad_host", "no such host here", headers={"Connection": "close"}
        )
        await refusal(scope, receive, send)


def _host_name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() and not host.endswith("]") else host).strip("[]").lower()


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


async def _http_problem(_request: Request, error: Exception) -> Response:
    """What the framework itself refuses."""
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
    code = {404: "route_not_found", 405: "method_not_allowed"}.get(status, "http_error")
    return problem_response(status, code, status.phrase, headers=getattr(error, "headers", None))


async def _unexpected(_request: Request, _error: Exception) -> Response:
    """A defect; the server logs it."""
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "the server's log says why")


def _version() -> str:
    try:
        return version("brain-async")
    except PackageNotFoundError:
        return "0"
