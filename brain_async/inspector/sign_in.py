"""Signing in with the token of the service: a form, and a cookie that no script and no other site gets to use."""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from brain_async.errors import InvalidInputError
from brain_async.fastapi.problems import ClientGone
from brain_async.inspector.rendering import Pages, root_of

__all__ = ["Sessions", "SignInRequired", "add_sign_in"]

COOKIE: Final = "brain_inspector"
_LIFETIME_SECONDS: Final = 12 * 3600
_MAX_BODY: Final = 8192
_OPEN_PATHS: Final = frozenset({"/sign-in", "/sign-out", "/style.css", "/script.js"})
_PLACE = re.compile(r"(?:[a-z]+(?:/[0-9a-f-]+)?)?(?:\?[\w.~%&=+*-]*)?")
"""Where a sign-in may lead: pages of the inspector, relative to its first one."""


class Sessions:
    """Checks the token, and makes cookies that prove it was given.

    A cookie holds when it ends and a signature made with the token: the server keeps nothing, any worker with the same token
    takes it, and another token ends all of them.

    Raises InvalidInputError for an empty token.
    """

    def __init__(self, token: str, *, clock: Callable[[], float] = time.time) -> None:
        if not token:
            raise InvalidInputError("the token must not be empty", field="token")
        self._digest = _digest(token)
        self._key = hmac.digest(token.encode(), b"brain_async.inspector", "sha256")
        self._clock = clock

    def is_token(self, given: str) -> bool:
        """Whether ``given`` is the token. The time that it takes does not depend on how much of it is right."""
        return hmac.compare_digest(_digest(given), self._digest)

    def issue(self) -> str:
        """A cookie for twelve hours."""
        ends = str(int(self._clock()) + _LIFETIME_SECONDS)
        return f"{ends}.{self._signature(ends)}"

    def holds(self, cookie: str) -> bool:
        """Whether ``cookie`` was issued for this token, and has not ended."""
        ends, _, signature = cookie.partition(".")
        same = hmac.compare_digest(_digest(signature), _digest(self._signature(ends)))
        return same and ends.isascii() and ends.isdecimal() and int(ends) > self._clock()

    def signed_in(self, request: Request) -> bool:
        """Whether the request brings a cookie that holds, or the token as ``Authorization: Bearer``."""
        if self.holds(request.cookies.get(COOKIE, "")):
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return self.is_token(given.strip()) and scheme.lower() == "bearer"

    def _signature(self, ends: str) -> str:
        return hmac.new(self._key, ends.encode(), "sha256").hexdigest()


class SignInRequired:
    """Shows the form instead of any page to who has not signed in."""

    def __init__(self, app: ASGIApp, sessions: Sessions, pages: Pages) -> None:
        self._app = app
        self._sessions = sessions
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] != "http" or _path(scope) in _OPEN_PATHS or self._sessions.signed_in(Request(scope)):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        place = _path(scope).removeprefix("/") + (f"?{request.url.query}" if request.url.query else "")
        form = _form(self._pages, request, place if _PLACE.fullmatch(place) else "", HTTPStatus.UNAUTHORIZED)
        await form(scope, receive, send)


def add_sign_in(app: FastAPI, sessions: Sessions, pages: Pages) -> None:
    """``/sign-in`` and ``/sign-out``: the only endpoints that take a POST, and they change nothing but the cookie."""

    async def form(request: Request) -> Response:
        return _form(pages, request, "", HTTPStatus.OK)

    async def sign_in(request: Request) -> Response:
        if _is_foreign(request):
            return pages.status(request, HTTPStatus.FORBIDDEN, "forbidden", "sign in on the page itself")
        given = await _fields(request)
        place = given.get("to", "")
        if not _PLACE.fullmatch(place):
            place = ""
        if not sessions.is_token(given.get("token", "")):
            return _form(pages, request, place, HTTPStatus.UNAUTHORIZED, wrong=True)
        answer = _redirect(pages, root_of(request) + place)
        _set_cookie(request, answer, sessions.issue(), _LIFETIME_SECONDS)
        return answer

    async def sign_out(request: Request) -> Response:
        if _is_foreign(request):
            return pages.status(request, HTTPStatus.FORBIDDEN, "forbidden", "sign out on the page itself")
        answer = _redirect(pages, root_of(request) + "sign-in")
        _set_cookie(request, answer, "", 0)
        return answer

    app.add_api_route("/sign-in", form, methods=["GET"])
    app.add_api_route("/sign-in", sign_in, methods=["POST"])
    app.add_api_route("/sign-out", sign_out, methods=["POST"])
    app.add_middleware(SignInRequired, sessions=sessions, pages=pages)


def _form(pages: Pages, request: Request, place: str, status: HTTPStatus, *, wrong: bool = False) -> Response:
    values = {"signed_in": False, "to": place, "wrong": wrong}
    return pages.page(request, "sign_in.html", values, status)


def _redirect(pages: Pages, place: str) -> Response:
    return pages.answer("", "text/html", HTTPStatus.SEE_OTHER, Location=place)


def _set_cookie(request: Request, answer: Response, value: str, seconds: int) -> None:
    answer.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path=request.scope.get("root_path", "") + "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def _is_foreign(request: Request) -> bool:
    """Whether a page of another site sent the form. Browsers say so; other clients have no cookies to protect."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


async def _fields(request: Request) -> dict[str, str]:
    """The fields of the form sent; {} when it is too large to be one."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY:
                return {}
    except ClientDisconnect as error:
        raise ClientGone from error
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=8).items()}


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()
