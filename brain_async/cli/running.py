"""Running what a command does, and ending it with one line on stderr when it fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import typer

from brain_async.cli.error_lines import error_line
from brain_async.cli.exit_codes import INTERRUPTED
from brain_async.errors import BrainError

__all__ = ["failed", "folder", "run"]

T = TypeVar("T")


def failed(error: BrainError) -> typer.Exit:
    """Write ``error`` to stderr; what to raise then."""
    sys.stderr.write(f"error: {error_line(error)}\n")
    return typer.Exit(1)


def folder(given: Path | None, default: Path) -> Path:
    """The folder given, else the default one."""
    return given.expanduser() if given is not None else default


def run(work: Coroutine[Any, Any, T], *, stopped: str = "") -> T:
    """The result of ``work``; an error of the library ends the command with one line on stderr, Ctrl-C with ``stopped``."""
    try:
        return asyncio.run(work)
    except BrainError as error:
        raise failed(error) from None
    except KeyboardInterrupt:
        sys.stderr.write(stopped)
        raise typer.Exit(INTERRUPTED) from None
