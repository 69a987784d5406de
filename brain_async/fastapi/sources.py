"""Where a request's engine and scope come from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias
from uuid import UUID

from fastapi import FastAPI, Request

from brain_async.engine import Engine
from brain_async.errors import ClosedError, InvalidInputError, NamespaceRequiredError
from brain_async.model.object import NIL_UUID
from brain_async.model.scope import Scope

__all__ = ["EngineSource", "ScopeSource", "fixed_scope", "header_scope", "lifespan", "lifespan_engine", "provider_of"]

EngineSource: TypeAlias = Engine | Callable[..., Engine | Awaitable[Engine]]
"""An engine, or a dependency that gives one."""

ScopeSource: TypeAlias = Callable[..., Scope | Awaitable[Scope]]
"""A dependency that says what the request may see and write."""

_STATE = "brain_engine"


def lifespan(
    opener: Callable[[], AbstractAsyncContextManager[Engine]],
) -> Callable[[FastAPI], AbstractAsyncContextManager[dict[str, Any]]]:
    """A lifespan for ``FastAPI(lifespan=...)`` that opens an engine, for ``lifespan_engine`` to find, and closes it.

    Args:
        opener: gives an engine to be entered, such as ``lambda: open_local("./knowledge")``.
    """

    @asynccontextmanager
    async def run(_app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with opener() as engine:
            yield {_STATE: engine}

    return run


async def lifespan_engine(request: Request) -> Engine:
    """A dependency: the engine that ``lifespan`` opened. Raises ClosedError when the app runs without it."""
    engine = getattr(request.state, _STATE, None)
    if not isinstance(engine, Engine):
        raise ClosedError("no engine is open: give the app lifespan=brain_async.fastapi.lifespan(...)")
    return engine


def provider_of(source: EngineSource) -> Callable[..., Engine | Awaitable[Engine]]:
    """``source`` as a dependency."""
    if not isinstance(source, Engine):
        return source
    engine = source

    async def given() -> Engine:
        return engine

    return given


def fixed_scope(namespace_id: UUID | None = None) -> Callable[[], Awaitable[Scope]]:
    """A dependency: every request sees this one namespace; None is unrestricted. Raises NamespaceRequiredError for nil."""
    if namespace_id == NIL_UUID:
        raise NamespaceRequiredError("the namespace must not be the nil UUID: pass None for no namespace")
    scope = Scope(namespace_id)

    async def fixed() -> Scope:
        return scope

    return fixed


async def header_scope(request: Request) -> Scope:
    """A dependency: the namespace that the ``X-Namespace`` header names.

    Whoever sends the header chooses what to see: only behind a gateway that sets it, and drops a client's own.
    Raises NamespaceRequiredError, InvalidInputError.
    """
    values = request.headers.getlist("x-namespace")
    if not values:
        raise NamespaceRequiredError("the X-Namespace header is required")
    try:
        (value,) = values
        namespace_id = UUID(value)
    except ValueError:
        raise InvalidInputError("X-Namespace must be one UUID", field="X-Namespace") from None
    if namespace_id == NIL_UUID:
        raise NamespaceRequiredError("X-Namespace must not be the nil UUID")
    return Scope(namespace_id)
