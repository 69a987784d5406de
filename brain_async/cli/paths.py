"""Paths as text that a store can keep, and whether the file of such a text is still there."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["is_gone", "path_text", "resolved_path"]

_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")


def path_text(path: Path) -> str:
    """``path`` with "/", and each byte of a name that is no UTF-8 as ``\\xff``: different files have different texts."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def resolved_path(path: Path) -> Path:
    """``path``, absolute and free of links; only absolute where it is a loop of links or a name that no file can have."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path.absolute()


def is_gone(text: str) -> bool:
    """Whether no file is at the path that ``path_text`` made ``text`` of. What cannot be looked at is not gone."""
    written = text.encode("utf-8", "surrogateescape")
    # A name may also hold the four characters of an escaped byte: then both readings are looked at.
    spellings = {written, _ESCAPED_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), written)}
    return all(map(_is_missing, spellings))


def _is_missing(path: bytes) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
