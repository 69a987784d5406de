"""Pages: the templates, compiled once, and the headers that every answer has, errors included."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from brain_async.errors import BrainError
from brain_async.fastapi.problems import Problem, problem_of
from brain_async.inspector.views import marked, number

__all__ = ["Pages"]

_PACKAGE = "brain_async.inspector"
_TEMPLATES = ("search.html", "object.html", "edge.html", "kinds.html", "state.html", "sign_in.html", "problem.html")
_STATIC = {"style.css": "text/css", "script.js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Pages:
    """Renders the templates. Everything is read when it is made: no request waits for the disk.

    Args:
        signs_in: whether there is a sign-in, and so a way to sign out.
        admin: whether there is a page of the state.
    """

    def __init__(self, *, signs_in: bool, admin: bool) -> None:
        pages = Environment(
            loader=PackageLoader(_PACKAGE),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        pages.filters["number"] = number
        pages.globals |= {"signs_in": signs_in, "admin": admin, "marked": marked}
        self._pages = {name: pages.get_template(name) for name in (*_TEMPLATES, "base.html", "macros.html")}
        self._static = {name: (files(_PACKAGE) / "static" / name).read_bytes() for name in _STATIC}

    def page(
        self, request: Request, name: str, values: dict[str, Any], status: int = 200, *, problem: Problem | None = None
    ) -> Response:
        """The page ``name``, its links relative to the path of ``request``: it works below any path of a host's."""
        given = {"root": root_of(request), "problem": problem, "error_field": "", **values}
        return self.answer(self._pages[name].render(given), "text/html", status)

    def error(self, request: Request, problem: Problem, *, signed_in: bool = True) -> Response:
        """The page that says only what is wrong."""
        return self.page(request, "problem.html", {"signed_in": signed_in}, problem.status, problem=problem)

    def refusal(self, request: Request, error: BrainError) -> Response:
        """``error`` of an error of the library."""
        return self.error(request, problem_of(error))

    def status(self, request: Request, status: HTTPStatus, code: str, detail: str = "") -> Response:
        """``error`` of what is no error of the library."""
        return self.error(
            request, Problem(title=status.phrase, status=status, code=code, detail=detail or status.phrase)
        )

    def static(self, name: str) -> Response:
        """The file ``name``."""
        return self.answer(self._static[name], _STATIC[name], 200)

    def answer(self, body: str | bytes, media_type: str, status: int, **headers: str) -> Response:
        """An answer with the headers that all have."""
        return Response(body, status, _HEADERS | headers, media_type)


def root_of(request: Request) -> str:
    """The way from the page asked for to the first one."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return "../" * (path.count("/") - 1) or "./"
