"""Errors as ``application/problem+json`` (RFC 9457), with the stable code of the error tree and the field that is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from brain_async.errors import (
    BackendError,
    BackendTimeoutError,
    BrainError,
    CatalogFrozenError,
    ClosedError,
    EventLoopMismatchError,
    InvalidInputError,
    NotFoundError,
    PoolExhaustedError,
    SearchIndexNotReadyError,
    UnavailableError,
)
from brain_async.model.results import LinkFailure, PutFailure

__all__ = [
    "BACKEND_DETAIL",
    "PROBLEM_TYPE",
    "ClientGone",
    "NotJson",
    "Problem",
    "ProblemRoute",
    "TooLarge",
    "problem_of",
    "problem_response",
    "public_failures",
    "status_of",
]

F = TypeVar("F", PutFailure, LinkFailure)

logger = logging.getLogger("brain_async")

PROBLEM_TYPE = "application/problem+json"

BACKEND_DETAIL = "a backend failed; the server's log says why"

_CLIENT_GONE = 499
"""What proxies log for a client that did not wait for the answer; nobody receives it."""

# The first class that an error belongs to decides.
_STATUS: tuple[tuple[type[BrainError], HTTPStatus], ...] = (
    (InvalidInputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (CatalogFrozenError, HTTPStatus.CONFLICT),
    (ClosedError, HTTPStatus.SERVICE_UNAVAILABLE),
    (EventLoopMismatchError, HTTPStatus.SERVICE_UNAVAILABLE),
    (UnavailableError, HTTPStatus.NOT_IMPLEMENTED),
    (PoolExhaustedError, HTTPStatus.SERVICE_UNAVAILABLE),
    (BackendTimeoutError, HTTPStatus.GATEWAY_TIMEOUT),
    (BackendError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_SOON = (PoolExhaustedError, SearchIndexNotReadyError)
"""Worth another try in a second."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an error.

    Attributes:
        status, title: the HTTP status and its phrase.
        code: ``code`` of the error's class, or a name of HTTP's own: ``payload_too_large``, ``unsupported_media_type``,
            ``unauthorized``, ``bad_host``, ``route_not_found``, ``method_not_allowed``, ``http_error``, ``internal_error``.
        detail: what is wrong, for a person. A failing backend's own words stay in the server's log.
        field: the argument that is wrong.
    """

    type: str = msgspec.field(default_factory=lambda: "about:blank")
    title: str
    status: int
    code: str
    detail: str = ""
    field: str = ""


class ClientGone(Exception):
    """Raised within a request whose client closed the connection."""


def status_of(error: BrainError) -> HTTPStatus:
    """The HTTP status of an error's class."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: BrainError) -> Problem:
    """``error`` as a problem. What a backend said is logged instead, as it may name hosts, tables and other tenants' ids."""
    status = status_of(error)
    detail = str(error)
    if isinstance(error, BackendError):
        logger.warning("%s: %s", error.code, error, exc_info=error)
        detail = BACKEND_DETAIL
    return Problem(
        title=status.phrase,
        status=status,
        code=error.code,
        detail=detail,
        field=error.field if isinstance(error, InvalidInputError) else "",
    )


def public_failures(failures: Iterable[F]) -> tuple[F, ...]:
    """The failures of a bulk write, without what a backend said."""
    told = []
    for failure in failures:
        if failure.code in _BACKEND_CODES:
            logger.warning("%s: %s", failure.code, failure.message)
            failure = msgspec.structs.replace(failure, message=BACKEND_DETAIL)
        told.append(failure)
    return tuple(told)


def _codes(kind: type[BrainError]) -> set[str]:
    return {kind.code}.union(*map(_codes, kind.__subclasses__()))


_BACKEND_CODES = _codes(BackendError)


def problem_response(
    status: HTTPStatus, code: str, detail: str, *, field: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """The response of a problem that is no error of the library."""
    return _response(Problem(title=status.phrase, status=status, code=code, detail=detail, field=field), headers)


def _response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=PROBLEM_TYPE,
        headers=dict(headers) if headers else None,
    )


class ProblemRoute(APIRoute):
    """A route whose errors leave it as problems, also those of the host's dependencies; anything else is the host's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, with its errors translated."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except TooLarge as error:
                # What is still on its way is not read: the connection cannot be used again.
                return problem_response(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.code, str(error), headers={"Connection": "close"}
                )
            except NotJson as error:
                return problem_response(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, error.code, str(error))
            except BrainError as error:
                return _response(problem_of(error), {"Retry-After": "1"} if isinstance(error, _SOON) else None)
            except RequestValidationError as error:
                return _invalid_parameter(error)
            except ClientGone:
                return Response(status_code=_CLIENT_GONE)

        return handler


class TooLarge(Exception):
    """Raised when a body is larger than the route takes."""

    code = "payload_too_large"


class NotJson(Exception):
    """Raised when a body is not declared to be JSON."""

    code = "unsupported_media_type"


def _invalid_parameter(error: RequestValidationError) -> Response:
    """The first wrong parameter of the path, the query or a dependency of the host's."""
    first: Mapping[str, Any] = next(iter(error.errors()), {})
    field = ".".join(str(step) for step in first.get("loc", ())[1:])
    return problem_response(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        InvalidInputError.code,
        f"{field}: {first.get('msg', 'not valid')}" if field else str(first.get("msg", "not valid")),
        field=field,
    )
