"""The options of `brain mcp`. What it does is imported when it runs, so that the help is quick."""

from __future__ import annotations

from signal import SIGINT
from typing import Annotated

import typer

from brain_async.cli.exit_codes import INTERRUPTED
from brain_async.cli.home import default_home
from brain_async.cli.options import Home, Namespace
from brain_async.cli.running import folder, run

__all__ = ["mcp"]


def mcp(
    home: Home = None,
    dsn: Annotated[
        str | None,
        typer.Option(envvar="BRAIN_DSN", help="A Postgres of your own, instead of a home.", show_default=False),
    ] = None,
    helix: Annotated[
        str | None, typer.Option(envvar="BRAIN_HELIX", metavar="URL", help="Its HelixDB.", show_default=False)
    ] = None,
    namespace: Namespace = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Without the tools that write.")] = False,
    save: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL=KIND",
            help="The kind that save_discovery, save_fact or save_memory writes, such as fact=note; repeatable.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds a call may take.")] = 30.0,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve over HTTP instead of stdio. HOST is 127.0.0.1 when left out; any but this machine needs a token.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="BRAIN_TOKEN", help="What HTTP requests must bring as a bearer token.", show_default=False),
    ] = None,
) -> None:
    """Serve agents over MCP, on stdin and stdout or over HTTP."""
    from brain_async.cli.mcp import run_mcp

    if home is not None and dsn:
        raise typer.BadParameter("give one of --home and --dsn (or $BRAIN_DSN)", param_hint="--home")
    if helix and not dsn:
        raise typer.BadParameter("it needs --dsn: a home has a graph of its own", param_hint="--helix")
    stopped_by = run(
        run_mcp(
            folder(home, default_home()),
            dsn=dsn or None,
            helix=helix or None,
            namespace=namespace,
            read_only=read_only,
            saves=save or (),
            timeout=timeout,
            http=http or None,
            token=token or None,
        )
    )
    if stopped_by == SIGINT:
        raise typer.Exit(INTERRUPTED)
