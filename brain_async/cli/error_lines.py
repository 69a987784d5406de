"""An error as the one line that stderr gets."""

from __future__ import annotations

import re

from brain_async.errors import BrainError

__all__ = ["error_line"]

_LOG = "; its log ends:"
_GRAVE = re.compile(r"\b(?:PANIC|FATAL|ERROR):")
_STAMP = re.compile(r"^.*?\b(?=(?:PANIC|FATAL|ERROR|LOG|HINT|DETAIL):)")


def error_line(error: BrainError) -> str:
    """What ``error`` says, as one line; of a server's output and log only the line that says what went wrong."""
    told, separator, log = str(error).partition(_LOG)
    if not separator:
        return " ".join(told.split())
    head = " ".join(told.strip().partition("\n")[0].split()).rstrip(".;: ")
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _GRAVE.search(line)] or lines
    return f"{head}; its log says: {' '.join(_STAMP.sub('', telling[-1]).split())}" if telling else head
