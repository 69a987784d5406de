"""What does the engine itself cost? ``python benchmarks/bench_engine.py --json``

``Engine.search`` over a store and a graph in this process that answer at once with canned hits: five channels of 40
candidates, 200 in all. Whatever time passes is the engine's own: ``engine_ms_200`` from the last channel's answer to the
page (the channels' outcomes, fuse, decay, promote, hydrate, page), ``search_ms_200`` the whole call, with the checks of its
arguments and the channels' tasks. Both are medians, in milliseconds.
"""

# ruff: noqa: ARG002 (canned answers to whatever a port is asked)

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, Object, Scope, SearchContext, SearchRequest
from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters
from brain_async.model.relation import Direction, Neighbor
from brain_async.ports.store import Hydration
from report import Check, Report, percentile

K = 40
PAGE = 10
PARTS_PER_PARENT = 3
SEARCHES = 3_000
WARM_UP = 300
DIMENSION = 8
SCOPE = Scope(UUID(int=1))
TEXT_CHANNELS = ("lexical", "trigram", "vector")
GRAPH_CHANNELS = ("graph_text", "graph_vector")
QUERY = "ACME-1423"  # like an identifier, so that the trigram channel runs too
_FIRST_TIME = datetime(2025, 1, 1, tzinfo=UTC)


class Embedder:
    """One vector for every text."""

    dimension = DIMENSION
    model = "canned"

    async def embed(self, text: str) -> NDArray[np.float32]:
        return np.ones(DIMENSION, np.float32)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), DIMENSION), np.float32)


class Answers:
    """The hits of each channel, the objects behind them, and when a channel was last asked."""

    def __init__(self, share: float) -> None:
        """``share`` (0 to 1) of each channel's hits are hits of an earlier channel too."""
        rng = random.Random(5)
        self.answered = 0.0
        self.hits: dict[str, list[Candidate]] = {}
        self.objects: dict[UUID, Object] = {}
        self.parts: dict[UUID, Object] = {}
        for names in (TEXT_CHANNELS, GRAPH_CHANNELS):
            known: list[Candidate] = []
            for name in names:
                again = rng.sample(known, min(len(known), round(K * share)))
                found = again + [self._make(rng, part=names is TEXT_CHANNELS) for _ in range(K - len(again))]
                known += found[len(again) :]
                scored = [msgspec.structs.replace(hit, score=rng.random()) for hit in found]
                self.hits[name] = sorted(scored, key=rank_order)

    def _make(self, rng: random.Random, *, part: bool) -> Candidate:
        number = len(self.parts) + len(self.objects)
        updated_at = _FIRST_TIME + timedelta(minutes=number)
        own_id = UUID(int=rng.getrandbits(128), version=4)
        parent_id = None
        if part:
            parent_id = UUID(int=number // PARTS_PER_PARENT + 1)
            self.parts[own_id] = Object(
                id=own_id, title=f"Part {number}", parent_id=parent_id, position=number, content="word " * 100
            )
        first_class = own_id if parent_id is None else parent_id
        self.objects[first_class] = Object(
            id=first_class,
            kind="document",
            title=f"Document {number}",
            summary="A summary of one line",
            properties={"number": number, "tag": "t1"},
            namespace_id=SCOPE.namespace_id,
            created_at=_FIRST_TIME,
            updated_at=updated_at,
        )
        return Candidate(id=own_id, parent_id=parent_id, title=f"Part {number}", position=number, updated_at=updated_at)

    def of(self, channel: str) -> list[Candidate]:
        """The hits of ``channel``."""
        self.answered = time.perf_counter()
        return self.hits[channel]


class CannedStore:
    """An ObjectReader (as far as a search needs it) and PartSearcher."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers

    async def search_lexical(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        return self.answers.of("lexical")

    async def search_trigram(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        return self.answers.of("trigram")

    async def search_vector(
        self, scope: Scope, vector: NDArray[np.float32], filters: Filters, *, k: int
    ) -> Sequence[Candidate]:
        return self.answers.of("vector")

    async def hydrate(self, scope: Scope, object_ids: Sequence[UUID], part_ids: Sequence[UUID] = ()) -> Hydration:
        objects, parts = self.answers.objects, self.answers.parts
        return Hydration(
            objects={each: objects[each] for each in object_ids}, parts={each: parts[each] for each in part_ids}
        )

    async def get(self, scope: Scope, object_id: UUID) -> Object | None:
        return self.answers.objects.get(object_id)

    async def get_many(self, scope: Scope, object_ids: Sequence[UUID]) -> Sequence[Object]:
        return [self.answers.objects[each] for each in object_ids if each in self.answers.objects]

    async def list_children(
        self, scope: Scope, parent_ids: Sequence[UUID], *, limit: int | None = None
    ) -> Mapping[UUID, Sequence[Object]]:
        return {each: [] for each in parent_ids}

    async def scan(self, scope: Scope, *, first_class: bool, after: UUID | None, limit: int) -> Sequence[Object]:
        return []


class CannedGraph:
    """A GraphReader without edges, and GraphObjectSearcher."""

    object_search_ready = True

    def __init__(self, answers: Answers) -> None:
        self.answers = answers

    async def neighbors(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        return {each: [] for each in frontier}

    async def search_objects_text(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        return self.answers.of("graph_text")

    async def search_objects_vector(
        self, scope: Scope, vector: NDArray[np.float32], filters: Filters, *, k: int
    ) -> Sequence[Candidate]:
        return self.answers.of("graph_vector")


async def measure(share: float) -> tuple[list[float], list[float]]:
    """(seconds from the last answer to the page, seconds of the whole call) of each search."""
    answers = Answers(share)
    engine = Engine(CannedStore(answers), graph=CannedGraph(answers), embedder=Embedder())
    context = SearchContext(SCOPE.namespace_id)
    request = SearchRequest(query=QUERY, limit=PAGE)
    after_channels: list[float] = []
    whole: list[float] = []
    for number in range(WARM_UP + SEARCHES):
        began = time.perf_counter()
        page = await engine.search(SCOPE, request, context)
        ended = time.perf_counter()
        if number >= WARM_UP:
            after_channels.append(ended - answers.answered)
            whole.append(ended - began)
    assert len(page.objects) == PAGE
    assert sum(outcome.hits for outcome in page.outcomes) == 5 * K
    return after_channels, whole


async def run() -> Report:
    """All candidates different, the dearest case, and half of them found by two channels."""
    report = Report(benchmark="bench_engine", parameters={"candidates": 5 * K, "limit": PAGE, "searches": SEARCHES})
    for name, share in (("all_different", 0.0), ("half_shared", 0.5)):
        after_channels, whole = await measure(share)
        report.figures[name] = {
            "engine_p50_ms": round(percentile(after_channels, 0.5), 3),
            "engine_p95_ms": round(percentile(after_channels, 0.95), 3),
            "search_p50_ms": round(percentile(whole, 0.5), 3),
            "search_p95_ms": round(percentile(whole, 0.95), 3),
        }
    worst = report.figures["all_different"]
    report.checks.append(Check.of("engine_ms_200", worst["engine_p50_ms"], "<=", 0.5))
    report.checks.append(Check.of("search_ms_200", worst["search_p50_ms"], "<=", 1.0))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run()).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
