"""Reading the people of a distribution out of its author and maintainer headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import getaddresses

__all__ = ["author_names"]

_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
# What follows a company's or a person's name after a comma and is no name of its own.
_SUFFIX = re.compile(r"(?:inc|llc|ltd|limited|gmbh|corp|co|jr|sr|ph\.?d|b\.?v|s\.?a|ag)\.?", re.IGNORECASE)
_NOBODY = re.compile(
    r"(?:unknown|none|n/a|(?:the\s+)?(?:many\s+)?(?:other\s+)?contributors?|(?:and\s+)?others?)\b.*", re.IGNORECASE
)
_ET_AL = re.compile(r",?\s+et\.?\s+al\.?$", re.IGNORECASE)
_ADDRESS = re.compile(r"[<(]?\s*\S+@\S+\s*[>)]?")


def author_names(names: Iterable[str], addresses: Iterable[str]) -> tuple[str, ...]:
    """The names in ``names`` ("A, B and C") and in ``addresses`` ("A <a@host>, B <b@host>"), each once ignoring case.

    Mail addresses are dropped, and so are "UNKNOWN", "contributors" and the like. Order of first appearance.
    """
    found: dict[str, str] = {}
    displayed = [name for header in addresses for name, _ in getaddresses([_decoded(header)])]
    for text in [*map(_decoded, names), *displayed]:
        for name in _split(_ADDRESS.sub(" ", text)):
            found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _split(text: str) -> list[str]:
    authors: list[str] = []
    for piece in _SEPARATOR.split(text):
        name = _ET_AL.sub("", " ".join(piece.split()).strip("\"'<>() "))
        if authors and _SUFFIX.fullmatch(name):
            authors[-1] = f"{authors[-1]}, {name}"
        elif name and not _NOBODY.fullmatch(name):
            authors.append(name)
    return authors


def _decoded(header: str) -> str:
    """``header`` with its RFC 2047 words decoded, which some build tools write for names beyond ASCII."""
    if "=?" not in header:
        return header
    try:
        return str(make_header(decode_header(header)))
    except (HeaderParseError, LookupError, ValueError):
        return header
