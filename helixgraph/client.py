"""Connection: reads and writes over one SDK client, with deadlines, one writer, and retries of conflicts."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from helixdb import AsyncClient, HelixError

from brain_async.errors import BackendTimeoutError
from helixgraph.errors import helix_errors, is_transient
from helixgraph.request import Request

__all__ = ["Connection"]

_READ_ATTEMPTS = 12
# Writers of many processes on a busy machine collide again and again: about ten seconds of repeating in all.
_WRITE_ATTEMPTS = 40
_FIRST_PAUSE = 0.005  # seconds; doubles to _LONGEST_PAUSE, jittered
_LONGEST_PAUSE = 0.5
_EMBEDDED = "embedded://helixdb"

# Writers of one client take turns, whichever graphs they come through. A lock belongs to the event loop it is used in.
_locks: WeakKeyDictionary[AsyncClient, WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


class Connection:
    """Sends requests over ``client``, which stays the caller's to close.

    Args:
        client: an open SDK client, to a server or embedded.
        timeout: seconds that a read, a write's wait for its turn, and a write may each take; None for no limit.
    """

    def __init__(self, client: AsyncClient, *, timeout: float | None) -> None:
        self._client = client
        self._timeout = timeout
        self._abandoned: set[asyncio.Task[Any]] = set()
        with helix_errors():
            self._is_embedded = client.base_url == _EMBEDDED

    async def read(self, request: Request) -> dict[str, Any]:
        """The reply by entry name. Never waits for a writer."""
        with helix_errors():
            async with asyncio.timeout(self._timeout):
                for attempt in range(1, _READ_ATTEMPTS):
                    try:
                        return await self._send(request)
                    except HelixError as error:
                        if not is_transient(error):
                            raise
                    await _pause(attempt)
                return await self._send(request)

    async def write(self, request: Request) -> dict[str, Any]:
        """The reply by entry name; one at a time per client and event loop, repeated when it conflicts with another's.

        A write cannot be called back. When the caller is cancelled or the deadline passes, the call ends at once, and the
        next writer's turn comes when the engine has finished this one.
        """
        lock = self._lock()
        try:
            async with asyncio.timeout(self._timeout):
                await lock.acquire()
        except TimeoutError as error:
            raise BackendTimeoutError("other writes to the graph took too long; this one was not begun") from error
        task: asyncio.Task[dict[str, Any]] | None = None
        try:
            attempt = 0
            while True:
                attempt += 1
                task = asyncio.ensure_future(self._send(request))
                await asyncio.wait({task}, timeout=self._timeout)
                with helix_errors(writing=True):
                    if not task.done():
                        raise TimeoutError
                    try:
                        return task.result()
                    except HelixError as error:
                        if attempt == _WRITE_ATTEMPTS or not is_transient(error):
                            raise
                await _pause(attempt)
        finally:
            if task is None or task.done():
                lock.release()
            else:
                self._leave_behind(task, lock)

    async def settle(self) -> None:
        """Wait, within the deadline, until no write of this client is under way."""
        with helix_errors():
            async with asyncio.timeout(self._timeout), self._lock():
                pass

    async def aclose(self) -> None:
        """Close the client once its last write has ended. For whoever opened the client."""
        try:
            await self.settle()
        finally:
            with helix_errors():
                await self._client.close()

    async def _send(self, request: Request) -> dict[str, Any]:
        builder = self._client.request_builder().query(request)  # type: ignore[arg-type]  # it asks for to_json_bytes
        # The embedded engine takes no timeout; a server's silence ends with ours even when nobody waits any more.
        body = await builder.send_bytes(timeout=None if self._is_embedded else self._timeout)
        return msgspec.json.decode(body, type=dict[str, Any]) if body else {}

    def _lock(self) -> asyncio.Lock:
        by_loop = _locks.setdefault(self._client, WeakKeyDictionary())
        return by_loop.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def _leave_behind(self, task: asyncio.Task[Any], lock: asyncio.Lock) -> None:
        def ended(task: asyncio.Task[Any]) -> None:
            self._abandoned.discard(task)
            if not task.cancelled():
                task.exception()
            lock.release()

        self._abandoned.add(task)
        task.add_done_callback(ended)


async def _pause(attempt: int) -> None:
    await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)))
