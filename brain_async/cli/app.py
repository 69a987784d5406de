"""The ``brain`` command: its entry point, and what happens when something goes wrong."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from brain_async.cli.exit_codes import INTERRUPTED

__all__ = ["main"]

_NEEDED = ("typer", "rich", "markdown_it", "docutils")
_INSTALL_LINE = "pip install 'brain-async[local,cli]'"


def main() -> None:
    """Run the command line, and exit: 0 when all went well, 1 for an error, 2 for wrong usage, 130 after Ctrl-C."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"error: the brain command needs {', '.join(missing)}: {_INSTALL_LINE}\n")
        sys.exit(1)
    try:
        from brain_async.cli.commands import app

        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing may be written to it any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
