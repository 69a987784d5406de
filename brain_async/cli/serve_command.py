"""The options of `brain serve`. What it does is imported when it runs, so that the help is quick."""

from __future__ import annotations

from signal import SIGINT
from typing import Annotated

import typer

from brain_async.cli.exit_codes import INTERRUPTED
from brain_async.cli.home import default_home
from brain_async.cli.options import Home, Namespace
from brain_async.cli.running import folder, run

__all__ = ["serve"]


def serve(
    home: Home = None,
    dsn: Annotated[
        str | None,
        typer.Option(envvar="BRAIN_DSN", help="A Postgres of your own, instead of a home.", show_default=False),
    ] = None,
    helix: Annotated[
        str | None, typer.Option(envvar="BRAIN_HELIX", metavar="URL", help="Its HelixDB.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; any but this machine needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
    token: Annotated[
        str | None,
        typer.Option(envvar="BRAIN_TOKEN", help="What requests must bring as a bearer token.", show_default=False),
    ] = None,
    namespace: Namespace = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Without the endpoints that write.")] = False,
) -> None:
    """Answer over HTTP: every verb under /v1, /healthz and /readyz."""
    from brain_async.cli.serve import run_serve

    stopped_by = run(
        run_serve(
            folder(home, default_home()),
            dsn=dsn or None,
            helix=helix or None,
            host=host,
            port=port,
            token=token or None,
            namespace=namespace,
            read_only=read_only,
        )
    )
    if stopped_by == SIGINT:
        raise typer.Exit(INTERRUPTED)
