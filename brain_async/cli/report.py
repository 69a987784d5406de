"""The machine-readable reports: one strict JSON document on stdout, each with a list of checks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from brain_async.model.results import LinkHit, RichObject, SearchPage

__all__ = ["Check", "best_ranks", "links_report", "page_report", "write_json"]


class Check(msgspec.Struct, frozen=True):
    """One thing that should hold: what was found, and what is aimed at, in words."""

    name: str
    value: Any
    aim: str
    holds: bool


def write_json(report: Mapping[str, Any]) -> None:
    """Write ``report`` to stdout, indented, and flush it."""
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=2)
    sys.stdout.write(encoded.decode() + "\n")
    sys.stdout.flush()


def page_report(command: str, page: SearchPage, *, seconds: float, checks: Sequence[Check] = ()) -> dict[str, Any]:
    """A page as the engine returned it, with what a program needs around it."""
    fields = msgspec.to_builtins(page)
    fields.setdefault("objects", [])
    return {"command": command, "seconds": round(seconds, 4), **fields, "checks": list(checks)}


def best_ranks(hit: RichObject) -> dict[str, int]:
    """The best rank that each channel gave a part of the hit, or its entity."""
    ranks: dict[str, int] = {}
    for explanation in hit.explain:
        for found in explanation.channels:
            ranks[found.channel] = min(found.rank, ranks.get(found.channel, found.rank))
    return ranks


def links_report(command: str, links: Sequence[LinkHit], *, seconds: float) -> dict[str, Any]:
    """What find_links found."""
    return {"command": command, "seconds": round(seconds, 4), "links": list(links), "checks": []}
