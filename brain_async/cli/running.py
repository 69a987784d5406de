"""Running what a command does: its result, or one line on stderr and an exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer

from brain_async.cli.error_lines import error_line
from brain_async.cli.exit_codes import INTERRUPTED
from brain_async.errors import BrainError

__all__ = ["checked", "run"]

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], *, stopped: str = "") -> T:
    """The result of ``work``; an error of the library ends the command with one line on stderr, Ctrl-C with ``stopped``."""
    try:
        return asyncio.run(work)
    except BrainError as error:
        raise _failed(error) from None
    except KeyboardInterrupt:
        sys.stderr.write(stopped)
        raise typer.Exit(INTERRUPTED) from None


def checked(parse: Any, *arguments: Any) -> Any:
    """The result of ``parse(*arguments)``; an error of the library ends the command with one line on stderr."""
    try:
        return parse(*arguments)
    except BrainError as error:
        raise _failed(error) from None


def _failed(error: BrainError) -> typer.Exit:
    sys.stderr.write(f"error: {error_line(error)}\n")
    return typer.Exit(1)
