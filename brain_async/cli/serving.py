"""The command that serves agents, and its options."""

from __future__ import annotations

from typing import Annotated

import typer

from brain_async.cli.home import default_home
from brain_async.cli.options import Home, Namespace
from brain_async.cli.running import run

__all__ = ["mcp"]

Dsn = Annotated[str, typer.Option(metavar="DSN", help="Serve this Postgres instead of a home.", show_default=False)]
Helix = Annotated[
    str, typer.Option(metavar="URL", help="The Helix server with the graph of the --dsn.", show_default=False)
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Leave out the tools that write.")]
Saves = Annotated[
    list[str] | None,
    typer.Option(
        "--save",
        metavar="TOOL=KIND",
        help="Kind that save_discovery, save_fact or save_memory writes, such as fact=note; repeatable.",
        show_default=False,
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds a call may take.")]
Http = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Serve over HTTP instead of stdio; HOST is 127.0.0.1 when left out.",
        show_default=False,
    ),
]
Token = Annotated[
    str,
    typer.Option(
        envvar="BRAIN_TOKEN",
        help="Bearer token that clients must send; needed to listen on anything but 127.0.0.1.",
        show_default=False,
    ),
]


def mcp(
    home: Home = None,
    dsn: Dsn = "",
    helix: Helix = "",
    namespace: Namespace = None,
    read_only: ReadOnly = False,
    save: Saves = None,
    timeout: Timeout = 30.0,
    http: Http = "",
    token: Token = "",
) -> None:
    """Serve the knowledge base to agents over MCP: on stdin and stdout, or over HTTP."""
    from brain_async.cli.mcp import run_mcp

    if home is not None and dsn:
        raise typer.BadParameter("give one of --home and --dsn", param_hint="--dsn")
    if helix and not dsn:
        raise typer.BadParameter("it goes with --dsn", param_hint="--helix")
    run(
        run_mcp(
            home.expanduser() if home is not None else default_home(),
            dsn=dsn,
            helix=helix,
            namespace=namespace,
            read_only=read_only,
            saves=save or (),
            timeout=timeout,
            http=http,
            token=token,
        )
    )
