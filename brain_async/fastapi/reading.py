"""Request bodies: read within a limit, decoded strictly, and given up when the client goes away."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import msgspec
from anyio.lowlevel import checkpoint
from fastapi import Request
from starlette.requests import ClientDisconnect

from brain_async.errors import InvalidInputError
from brain_async.fastapi.problems import ClientGone, NotJson, TooLarge

__all__ = ["decoded", "decoded_items", "read_body", "while_connected"]

T = TypeVar("T")

_PATH = re.compile(r" - at `\$(.*)`$")
_NAMED = re.compile(r"^Object (?:contains unknown|missing required) field `([^`]+)`")
_SLICE = 32_768
"""Other tasks run after this many bytes of a list were decoded: well under a millisecond of work."""


async def read_body(request: Request, limit: int) -> bytes:
    """The body, of at most ``limit`` bytes. Raises TooLarge, as soon as that is known, NotJson and ClientGone."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        # A page of another origin can send other types without being asked by the browser whether it may.
        raise NotJson("send the body as application/json")
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        raise TooLarge(f"the body may hold {limit} bytes")
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise TooLarge(f"the body may hold {limit} bytes")
            chunks.append(chunk)
    except ClientDisconnect as error:
        raise ClientGone from error
    return b"".join(chunks)


def decoded(body: bytes | msgspec.Raw, kind: type[T], *, within: str = "") -> T:
    """``body`` as a ``kind``. Raises InvalidInputError, whose field is a path, below ``within``."""
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        raise InvalidInputError("the body is nested too deeply", field=within) from None
    except msgspec.ValidationError as error:
        message = str(error)
        path = found[1] if (found := _PATH.search(message)) else ""
        if named := _NAMED.match(message):
            path += f".{named[1]}"
        field = f"{within}{path}" if within else path.removeprefix(".")
        raise InvalidInputError(_PATH.sub("", message), field=field) from None
    except msgspec.DecodeError as error:
        raise InvalidInputError(f"the body is not JSON: {error}", field=within) from None


async def decoded_items(body: bytes, kind: type[T], field: str) -> Sequence[T]:
    """The list that is the only field of ``body``, decoded in slices between which other tasks run. Raises as ``decoded``."""
    fields = decoded(body, dict[str, msgspec.Raw])
    if unknown := [name for name in fields if name != field]:
        raise InvalidInputError(f"Object contains unknown field `{unknown[0]}`", field=unknown[0])
    if field not in fields:
        raise InvalidInputError(f"Object missing required field `{field}`", field=field)
    items: list[T] = []
    size = 0
    for index, raw in enumerate(decoded(fields[field], list[msgspec.Raw], within=field)):
        items.append(decoded(raw, kind, within=f"{field}[{index}]"))
        size += len(bytes(raw))
        if size > _SLICE:
            await checkpoint()
            size = 0
    return items


async def while_connected(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """What ``work`` returns or raises; it is cancelled, and ClientGone raised, once the client has closed the connection.

    The body has to be read before.
    """
    gone = False
    result: list[T] = []
    failure: Exception | None = None

    async def watch() -> None:
        nonlocal gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone = True
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            result.append(await work())
        except Exception as error:
            failure = error  # raised below: a task group would wrap it
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if gone or not result:
        raise ClientGone
    return result[0]
