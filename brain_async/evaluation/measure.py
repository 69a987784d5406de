"""Asking an engine the queries of a collection: rankings, and the seconds they took."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from brain_async.engine import Engine
from brain_async.evaluation.collection import Query
from brain_async.evaluation.systems import System
from brain_async.model.requests import SearchRequest
from brain_async.model.scope import Scope
from brain_async.ports.host import Progress
from brain_async.session import SearchContext

__all__ = ["DEPTH", "Asked", "ask"]

DEPTH = 50
"""Documents asked for: as many as the deepest measure looks at."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Query id to document ids, best first, and to seconds; ``degraded`` counts searches that lacked a channel."""

    ranking: dict[str, list[str]]
    seconds: dict[str, float]
    degraded: int


async def ask(
    engine: Engine,
    scope: Scope,
    system: System,
    queries: Sequence[Query],
    documents: Mapping[UUID, str],
    *,
    progress: Progress | None = None,
) -> Asked:
    """Each query to ``engine`` (whose config is the system's), one after the other; the first once before, as a warm-up.

    ``documents`` names the document of each parent. Raises what ``Engine.search`` raises.
    """
    ranking: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    degraded = 0
    for number, query in enumerate((queries[0], *queries)):
        request = SearchRequest(query=query.text, channels=system.channels, limit=DEPTH)
        began = time.perf_counter()
        page = await engine.search(scope, request, SearchContext())
        seconds[query.id] = time.perf_counter() - began
        ranking[query.id] = [documents[hit.id] for hit in page.objects if hit.id in documents]
        degraded += number > 0 and bool(page.degraded)
        if progress is not None and number:
            progress(number, len(queries))
    return Asked(ranking=ranking, seconds=seconds, degraded=degraded)
