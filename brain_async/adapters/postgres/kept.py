"""Connections of a pool that serves one store alone, kept between calls.

asyncpg's pool makes a task of each acquire and each release: more than a short statement costs. Here a free connection goes
to the next caller at once, and those who wait for one are served in turn. What a call did not leave clean goes back
to the pool, which knows how to mend or replace it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import anyio
import asyncpg

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Driver: TypeAlias = PoolConnectionProxy[asyncpg.Record]

__all__ = ["RELEASE_SECONDS", "KeptConnections"]

RELEASE_SECONDS = 10.0
"""How long a connection may take to end a call that was given up; after that it is closed. The driver would otherwise take
the time that getting the connection was given."""

_IDLE_SECONDS = 60.0
"""A connection that nobody wanted for so long goes back to the pool, which closes it in its own time."""


class KeptConnections:
    """Those of ``pool``, of which nobody else takes any."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._pool = pool
        self._free: list[tuple[Driver, float]] = []
        self._out = 0
        """How many the pool has given, free ones among them, or is asked for."""
        self._waiting: deque[asyncio.Future[Driver | None]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None
        self._returning: set[asyncio.Task[None]] = set()

    @property
    def free(self) -> int:
        """How many are kept for the next caller."""
        return len(self._free)

    async def take(self, timeout: float) -> Driver:
        """A connection, to be given back. Raises TimeoutError when none becomes free within ``timeout`` seconds."""
        while self._free:
            connection, _ = self._free.pop()
            if _usable(connection):
                return connection
            await self._discard(connection)
        if self._out < self._pool.get_max_size():
            self._out += 1
            return await self._acquire(timeout)
        with anyio.fail_after(timeout) as deadline:
            handed = await self._handed()
        return handed if handed is not None else await self._acquire(deadline.deadline - anyio.current_time())

    async def give(self, connection: Driver, *, clean: bool) -> None:
        """Take back a connection; one on which a call failed or was given up is not ``clean``."""
        if not (clean and _usable(connection)):
            await self._discard(connection)
        elif not self._hand(connection):
            loop = asyncio.get_running_loop()
            self._free.append((connection, loop.time()))
            if self._sweeping is None:
                self._sweeping = loop.call_later(_IDLE_SECONDS, self._sweep, loop)

    async def aclose(self) -> None:
        """Give all free ones back to the pool; those that are in use come back through ``give``."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._free:
            await self._discard(self._free.pop()[0])

    async def _acquire(self, timeout: float) -> Driver:
        """One from the pool, which is counted as out already."""
        try:
            return await self._pool.acquire(timeout=timeout)
        except BaseException:
            self._freed()
            raise

    async def _discard(self, connection: Driver) -> None:
        try:
            await self._pool.release(connection, timeout=RELEASE_SECONDS)
        finally:
            self._freed()

    def _freed(self) -> None:
        """One less is out; whoever waits longest may ask the pool in its place."""
        if not self._hand(None):
            self._out -= 1

    async def _handed(self) -> Driver | None:
        """What becomes free, in turn: a connection, or None for the place of one."""
        future: asyncio.Future[Driver | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            return await future
        except BaseException:
            if future.done() and not future.cancelled():  # it was handed over in the moment of giving up
                connection = future.result()
                if connection is None:
                    self._freed()
                else:
                    await self.give(connection, clean=True)
            raise

    def _hand(self, connection: Driver | None) -> bool:
        """Give ``connection``, or None for the place of one, to whoever waits longest; False when nobody does."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(connection)
                return True
        return False

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give back what nobody wanted; the least recently used are at the front."""
        self._sweeping = None
        while self._free and loop.time() - self._free[0][1] >= _IDLE_SECONDS:
            task = loop.create_task(self._discard(self._free.pop(0)[0]))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)
        if self._free:
            self._sweeping = loop.call_later(_IDLE_SECONDS, self._sweep, loop)


def _usable(connection: Driver) -> bool:
    try:
        return not (connection.is_closed() or connection.is_in_transaction())
    except asyncpg.InterfaceError:  # its server process has died, and the pool has taken it back by itself
        return False
