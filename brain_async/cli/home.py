"""Where the command line keeps its knowledge base, and how it opens one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import anyio

from brain_async.errors import BrainError, InvalidInputError, NotFoundError
from brain_async.model.kind import KindSpec
from brain_async.session import SearchContext

if TYPE_CHECKING:
    from brain_async.local import LocalEngine

__all__ = [
    "DEMO_NAMESPACE",
    "FILES_NAMESPACE",
    "data_home",
    "default_home",
    "demo_home",
    "is_home",
    "open_home",
    "restore_context",
    "save_context",
]

FILES_NAMESPACE = UUID("3c7c3b52-5d0e-4a54-9a0c-6a1f0d3a7e01")
"""Where `brain ingest` puts documents unless told otherwise."""

DEMO_NAMESPACE = UUID("3c7c3b52-5d0e-4a54-9a0c-6a1f0d3a7e02")
"""Where `brain demo` puts packages."""

_LAST_RESULT = "last_result.json"


def default_home() -> Path:
    """``$BRAIN_HOME``, else ``data_home``."""
    if home := os.environ.get("BRAIN_HOME"):
        return Path(home).expanduser()
    return data_home()


def data_home() -> Path:
    """``brain_async`` in the user's data directory."""
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share", "brain_async").expanduser()


def demo_home() -> Path:
    """The demo's own folder in the default home, so that its packages never mix with a user's documents."""
    return default_home() / "demo"


def is_home(home: Path) -> bool:
    """Whether there is a knowledge base in ``home``."""
    try:
        return (home / "postgres").is_dir()
    except OSError:
        return False


@asynccontextmanager
async def open_home(
    home: Path, *, kinds: Sequence[KindSpec] = (), read_only_graph: bool = False
) -> AsyncIterator[LocalEngine]:
    """Open the knowledge base in ``home``, creating it only when ``kinds`` are given to write under.

    ``read_only_graph`` as in ``open_local``: what only asks works beside a process that writes. Raises NotFoundError when
    there is none, and as ``open_local``.
    """
    # Imported here: showing the help needs no database driver.
    from brain_async.local import open_local

    if not kinds and not is_home(home):
        raise NotFoundError(f"no knowledge base in {home}: make one with `brain ingest PATH` or `brain demo`")
    try:
        await anyio.Path(home).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{home} cannot be used: {error.strerror}", field="home") from error
    async with open_local(home, kinds=kinds, read_only_graph=read_only_graph) as engine:
        yield engine


def save_context(home: Path, context: SearchContext) -> None:
    """Keep the newest result set for `brain continue`. A home that cannot be written to keeps none."""
    state = context.export()
    if state is None:
        return
    partial = home / f"{_LAST_RESULT}.{os.getpid()}"
    with suppress(OSError):
        partial.write_bytes(state)
        partial.replace(home / _LAST_RESULT)


def restore_context(home: Path) -> SearchContext:
    """The context that ``save_context`` kept. Raises NotFoundError when there is none."""
    context = SearchContext()
    try:
        context.restore((home / _LAST_RESULT).read_bytes())
    except (OSError, BrainError) as error:
        raise NotFoundError("there is no result to continue: search first") from error
    return context
