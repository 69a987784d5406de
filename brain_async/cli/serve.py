"""`brain serve`: a knowledge base over HTTP, until it is told to stop."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import anyio

from brain_async.cli.engines import open_engine
from brain_async.errors import InvalidInputError, MissingExtensionError

if TYPE_CHECKING:
    from fastapi import FastAPI


__all__ = ["is_loopback", "run_serve"]

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_GRACE_SECONDS = 10
_BACKLOG = 512
_MAX_READS = 16
"""Twice the connections of the store."""
_MAX_PAGES = 4
"""Of the inspector, beside the reads of the API."""
_KEEP_ALIVE_SECONDS = 75
"""Longer than the minute for which proxies keep idle connections: the side that closes first must not be this one."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens on ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


async def run_serve(
    home: Path,
    *,
    dsn: str | None = None,
    helix: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    namespace: UUID | None = None,
    read_only: bool = False,
) -> int:
    """Serve until SIGTERM or SIGINT; the number of the signal. Prints the address once requests are answered.

    Raises MissingExtensionError without the extra ``fastapi``, InvalidInputError for a ``helix`` without a ``dsn``, when
    ``host`` is open to others and there is no token, or when nothing can listen there, and as ``open_engine``.
    """
    missing = [name for name in ("fastapi", "jinja2", "uvicorn") if find_spec(name) is None]
    if missing:
        raise MissingExtensionError(f"brain serve needs {', '.join(missing)}: pip install 'brain-async[fastapi]'")
    if helix is not None and dsn is None:
        raise InvalidInputError("--helix needs --dsn: a home has a graph of its own", field="helix")
    if token is None and not is_loopback(host):
        raise InvalidInputError(
            f"--token or BRAIN_TOKEN is needed to listen on {host}: whoever reaches it could read and write everything",
            field="token",
        )
    from brain_async.fastapi import LoopWatch, fixed_scope, service
    from brain_async.inspector import inspector

    with _listening(host, port) as listener:
        async with open_engine(home, dsn=dsn, helix=helix, read_only=read_only) as engine:
            watch = LoopWatch()
            scope = fixed_scope(namespace)
            app = service(
                engine,
                scope=scope,
                token=token,
                # With a token a page of another name can do nothing: a browser does not send it by itself.
                hosts=None if token is not None else (*_LOOPBACK_NAMES, host),
                max_reads=_MAX_READS,
                writes=not read_only,
                page=inspector(engine, scope=scope, token=token, max_reads=_MAX_PAGES, admin=True),
                page_asks=True,
                watch=watch,
            )
            return await _serve(app, listener, host, watch.run)


async def _serve(
    app: FastAPI, listener: socket.socket, host: str, beside: Callable[[], Coroutine[Any, Any, None]]
) -> int:
    """Serve ``app``, and run ``beside`` from the moment that it answers."""
    import uvicorn

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn's own would end the process by the signal before the engine is closed.
            yield

    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = Server(config)
    stopped_by = 0
    async with anyio.create_task_group() as group:

        async def stop_on_signal() -> None:
            nonlocal stopped_by
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                group.start_soon(announce)
                async for received in signals:
                    server.force_exit = server.should_exit  # the second one does not wait for running requests
                    server.should_exit = True
                    stopped_by = received

        async def announce() -> None:
            while not server.started:  # noqa: ASYNC110
                await anyio.sleep(0.01)
            # What was made so far lives as long as the process. Looking through it for garbage would hold up the event loop
            # for a tenth of a second, time and again.
            gc.collect()
            gc.freeze()
            group.start_soon(beside)
            name = f"[{host}]" if ":" in host else host
            sys.stdout.write(f"serving on http://{name}:{listener.getsockname()[1]} (stop with Ctrl-C)\n")
            sys.stdout.flush()

        group.start_soon(stop_on_signal)
        await server.serve(sockets=[listener])
        group.cancel_scope.cancel()
    return stopped_by


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; port 0 takes a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidInputError(f"cannot listen on {host}:{port}: {error.strerror}", field="host") from error
    with listener:
        yield listener
