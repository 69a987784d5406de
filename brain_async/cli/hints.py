"""Commands to type next, spelled so that they work where this one was typed."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from brain_async.cli.home import default_home

__all__ = ["command_line", "command_name"]


def command_name() -> str:
    """What this command was called as: ``brain`` where the shell finds it, else its path, or ``python -m brain_async``."""
    called = sys.argv[0]
    if Path(called).parts[-2:] == ("brain_async", "__main__.py"):
        python = os.path.basename(sys.executable)
        return f"{python if shutil.which(python) == sys.executable else shlex.quote(sys.executable)} -m brain_async"
    if os.path.basename(called) != "brain" or not os.path.exists(called):
        return "brain"
    found = shutil.which("brain")
    return "brain" if found is not None and os.path.samefile(found, called) else shlex.quote(called)


def command_line(*arguments: str, home: Path) -> str:
    """The command with ``arguments``, and with ``--home`` unless ``home`` is the default one."""
    options = () if home == default_home() else ("--home", str(home))
    return " ".join((command_name(), *map(shlex.quote, (*arguments, *options))))
