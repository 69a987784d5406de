"""Server-sent events: the progress of a long write, then its result."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectSendStream
from fastapi import Response
from starlette.types import Receive, Scope, Send

from brain_async.errors import BrainError
from brain_async.fastapi.problems import problem_of
from brain_async.ports.host import Progress

__all__ = ["EventStream"]

_KEEPALIVE_SECONDS = 15.0
_KEEPALIVE = b": still at work\n\n"

Work = Callable[[Progress], Awaitable[object]]


class EventStream(Response):
    """Runs ``work`` and sends ``progress`` events (done, total), then ``result`` or ``error`` (a problem).

    The work is cancelled when the client goes away. A comment every 15 seconds keeps proxies from closing the connection.
    """

    media_type = "text/event-stream"

    def __init__(self, work: Work) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._work = work

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        outbox, events = anyio.create_memory_object_stream[bytes](math.inf)

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group, events:
            group.start_soon(watch)
            group.start_soon(_run, self._work, outbox)
            while True:
                try:
                    with anyio.fail_after(_KEEPALIVE_SECONDS):
                        event = await events.receive()
                except TimeoutError:
                    event = _KEEPALIVE
                except anyio.EndOfStream:
                    break
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()


async def _run(work: Work, outbox: MemoryObjectSendStream[bytes]) -> None:
    def tell(name: str, data: object) -> None:
        with suppress(anyio.BrokenResourceError):  # the client has gone, and the work is about to be cancelled
            outbox.send_nowait(_event(name, data))

    with outbox:
        try:
            result = await work(lambda done, total: tell("progress", {"done": done, "total": total}))
        except BrainError as error:
            tell("error", problem_of(error))
        else:
            tell("result", result)


def _event(name: str, data: object) -> bytes:
    # JSON has no line breaks of its own, so one line holds it.
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
