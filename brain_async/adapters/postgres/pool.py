"""Connections: one per call, waited for within bounds, on one event loop, with the driver's errors translated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import asyncpg

from brain_async.adapters.postgres.errors import DRIVER_ERRORS, translated
from brain_async.adapters.postgres.kept import RELEASE_SECONDS, KeptConnections
from brain_async.errors import ClosedError, EventLoopMismatchError, PoolExhaustedError
from brain_async.ports.waiting import add_wait

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

__all__ = ["UNBOUNDED", "Connection", "Connections", "create_pool"]

_ROLLBACK_SECONDS = 5.0

UNBOUNDED = 86_400.0
"""Seconds given to statements that build or move a lot."""


class Connection:
    """A pooled connection whose statements end after ``statement_timeout`` seconds unless they ask for more.

    The limit is kept by the driver, which cancels the statement in the server: no session setting is needed.
    """

    def __init__(self, driver: PoolConnectionProxy[asyncpg.Record], statement_timeout: float) -> None:
        self._driver = driver
        self._timeout = statement_timeout

    async def execute(self, sql: str, *arguments: Any, timeout: float | None = None) -> None:
        """Run one statement, or several without arguments."""
        await self._driver.execute(sql, *arguments, timeout=timeout or self._timeout)

    async def fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        """All rows."""
        return await self._driver.fetch(sql, *arguments, timeout=self._timeout)

    async def fetchrow(self, sql: str, *arguments: Any) -> asyncpg.Record | None:
        """The first row, or None."""
        return await self._driver.fetchrow(sql, *arguments, timeout=self._timeout)

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        """The first column of the first row, or None."""
        return await self._driver.fetchval(sql, *arguments, timeout=self._timeout)

    async def copy_in(self, table: str, columns: Sequence[str], data: bytes) -> None:
        """Append rows in the binary format of COPY to a table of the search path."""
        # A buffer goes out at once; a reader's would in turns, between which the driver meets a lost connection unprepared.
        buffer: Any = memoryview(data)  # bytes would be a path to it
        await self._driver.copy_to_table(table, source=buffer, columns=columns, format="binary", timeout=self._timeout)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A READ COMMITTED transaction, rolled back also when the caller is cancelled.

        asyncpg's own would be interrupted in its rollback by a cancelled anyio scope, and complain about that.
        """
        async with self._block("begin isolation level read committed", "commit", "rollback"):
            yield

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        """A read-only transaction of one moment, which its first statement fixes at once."""
        async with self._block("begin isolation level repeatable read, read only; select", "commit", "rollback"):
            yield

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """A savepoint within a transaction."""
        async with self._block("savepoint brain", "release savepoint brain", "rollback to savepoint brain"):
            yield

    @asynccontextmanager
    async def _block(self, begin: str, commit: str, rollback: str) -> AsyncIterator[None]:
        try:
            await self.execute(begin)
            yield
            await self.execute(commit)
        except BaseException:
            with anyio.move_on_after(_ROLLBACK_SECONDS, shield=True), suppress(*DRIVER_ERRORS):
                await self.execute(rollback)
            raise


class Connections:
    """Hands out connections of a pool it does not own.

    ``local_settings`` are made inside every transaction, and behind a transaction-mode pooler every call is one, as nothing
    may outlive a transaction there. Elsewhere a read is a bare statement. Those of an ``exclusive`` pool, which nobody else
    uses, are kept between calls.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        acquire_timeout: float,
        statement_timeout: float,
        transaction_pooler: bool,
        local_settings: dict[str, str],
        exclusive: bool,
    ) -> None:
        self._pool = pool
        self._kept = KeptConnections(pool) if exclusive else None
        self._acquire_timeout = acquire_timeout
        self._statement_timeout = statement_timeout
        self._local_settings = local_settings
        self._closed = False
        self.transaction_pooler = transaction_pooler
        self._loop: asyncio.AbstractEventLoop | None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:  # made outside a loop: the first call decides
            self._loop = None

    async def aclose(self) -> None:
        """Refuse every later call; idempotent."""
        self._closed = True
        if self._kept is not None:
            await self._kept.aclose()

    def pool_state(self) -> dict[str, int]:
        """Connections that are open, that are idle, and that there may be at most."""
        return {
            "pool_open": self._pool.get_size(),
            "pool_idle": self._pool.get_idle_size() + (self._kept.free if self._kept is not None else 0),
            "pool_max": self._pool.get_max_size(),
        }

    def check_usable(self) -> None:
        """Raises ClosedError, and EventLoopMismatchError on another event loop than that of the first call."""
        if self._closed:
            raise ClosedError("the store is closed: open another one")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise EventLoopMismatchError("the store was opened on another event loop: open one per loop")

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[Connection]:
        """A connection outside any transaction, for what cannot run inside one."""
        self.check_usable()
        clean = False
        with translated():
            connection = await self._take()
            try:
                yield Connection(connection, self._statement_timeout)
                clean = True
            finally:
                if self._kept is None:
                    await self._pool.release(connection, timeout=RELEASE_SECONDS)
                else:
                    await self._kept.give(connection, clean=clean and not self._closed)

    async def _take(self) -> PoolConnectionProxy[asyncpg.Record]:
        began = time.perf_counter()
        try:
            if self._kept is None:
                return await self._pool.acquire(timeout=self._acquire_timeout)
            return await self._kept.take(self._acquire_timeout)
        except TimeoutError as error:
            raise PoolExhaustedError(
                f"no connection became free within {self._acquire_timeout:g} s (pool of {self._pool.get_max_size()})"
            ) from error
        finally:
            add_wait(time.perf_counter() - began)

    def session(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for one statement."""
        return self.transaction() if self.transaction_pooler else self.bare()

    @asynccontextmanager
    async def begin(self, connection: Connection, **settings: str) -> AsyncIterator[None]:
        """A READ COMMITTED transaction on a connection in hand, committed on leaving, with ``settings`` local to it."""
        async with connection.transaction():
            await self._settle(connection, self._local_settings | settings)
            yield

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """A connection in a read-only transaction that shows one moment."""
        async with self.bare() as connection, connection.snapshot():
            await self._settle(connection, self._local_settings)
            yield connection

    @staticmethod
    async def _settle(connection: Connection, settings: dict[str, str]) -> None:
        for name, value in settings.items():
            await connection.execute("select set_config($1, $2, true)", name, value)

    @asynccontextmanager
    async def transaction(self, **settings: str) -> AsyncIterator[Connection]:
        """A connection in a transaction."""
        async with self.bare() as connection, self.begin(connection, **settings):
            yield connection


async def _keep_session(_connection: Any) -> None:
    """Instead of asyncpg's reset query, half the cost of a short call: no session state is ever changed here.

    An open transaction has been rolled back by then.
    """


async def create_pool(
    dsn: str, *, pool_size: int, search_path: str | None, transaction_pooler: bool, statement_timeout: float
) -> Pool:
    """A pool with the settings retrieval needs.

    Plans are made for the actual arguments: a generic plan, frozen after five runs for a large namespace, starves the
    small ones. Behind a transaction-mode pooler nothing is set for the session and no prepared statement is named.
    """
    if transaction_pooler:
        options: dict[str, Any] = {"statement_cache_size": 0}
    else:
        options = {
            "server_settings": {
                "application_name": "brain_async",
                "plan_cache_mode": "force_custom_plan",
                "jit": "off",
                "client_connection_check_interval": "10s",
                **({"search_path": search_path} if search_path else {}),
            }
        }
    with translated():
        return await asyncpg.create_pool(
            dsn,
            min_size=0,
            max_size=pool_size,
            command_timeout=statement_timeout,
            reset=_keep_session,
            **options,
        )
