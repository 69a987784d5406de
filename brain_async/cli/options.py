"""The options that several commands take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from brain_async.cli.home import data_home
from brain_async.config import EngineConfig

__all__ = [
    "AsTyped",
    "DemoHome",
    "Explain",
    "FilterItems",
    "Home",
    "Hops",
    "Json",
    "Kinds",
    "Limit",
    "Namespace",
    "ScopeIds",
]

_CONFIG = EngineConfig()
_DATA = str(data_home()).replace(str(Path.home()), "~")

Home = Annotated[
    Path | None,
    typer.Option(help=f"Folder of the knowledge base. (default: $BRAIN_HOME, else {_DATA})", show_default=False),
]
Namespace = Annotated[
    UUID | None,
    typer.Option(envvar="BRAIN_NAMESPACE", help="See this namespace only. (default: all)", show_default=False),
]
DemoHome = Annotated[
    Path | None,
    typer.Option(
        help=f"Folder of the demo's knowledge base. (default: demo in $BRAIN_HOME, else in {_DATA})", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON report instead.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", "-k", help="Only this kind; repeatable.", show_default=False)
]
FilterItems = Annotated[
    list[str] | None,
    typer.Option("--filter", "-f", metavar="KEY=VALUE", help="Only where this holds; repeatable.", show_default=False),
]


def _page_size(limit: int) -> int:
    return _at_most(_CONFIG.max_limit, limit, "on a page")


def _reach(hops: int) -> int:
    return _at_most(_CONFIG.max_expand_hops, hops, "hops")


def _at_most(most: int, given: int, of_what: str) -> int:
    """``given``, with a word on stderr when the engine takes less."""
    if given > most:
        sys.stderr.write(f"note: at most {most} {of_what}\n")
    return given


Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        min=0,
        callback=_page_size,
        help=f"Objects on a page, at most {_CONFIG.max_limit}. (default: {_CONFIG.default_limit})",
        show_default=False,
    ),
]
ScopeIds = Annotated[
    list[UUID] | None, typer.Option("--scope-id", help="Only these objects and their parts.", show_default=False)
]
Explain = Annotated[bool, typer.Option("--explain", help="Say how each channel ranked each hit.")]
AsTyped = Annotated[bool, typer.Option("--as-typed", help="Respell no word of the query.")]
Hops = Annotated[int, typer.Option(min=1, callback=_reach, help=f"How far, at most {_CONFIG.max_expand_hops}.")]
