"""A peer as a process: one JSON request a line on standard input, one JSON answer a line on standard output.

Searches are timed here, inside the peer's own process, so that the exchange with the driver is no part of any figure. Runs in
the peer's virtual environment: standard library and numpy only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from peers.collection import Collection

__all__ = ["DEPTH", "HNSW_EF_CONSTRUCTION", "HNSW_EF_SEARCH", "HNSW_M", "POOL", "Peer", "answer", "serve"]

POOL = 8
DEPTH = 50
HNSW_M = 16
HNSW_EF_CONSTRUCTION = 64
HNSW_EF_SEARCH = 64


class Peer(Protocol):
    """What a peer's process implements.

    Attributes:
        variants: the ways of searching it has; the first is the one it is compared by.
        packages: distributions whose versions are reported.
    """

    @property
    def variants(self) -> Sequence[str]: ...

    @property
    def packages(self) -> Sequence[str]: ...

    async def open(self, collection: Collection, dsn: str) -> None:
        """Connect to the empty database ``dsn``. Not timed."""
        ...

    async def ingest(self) -> Mapping[str, float]:
        """Store the collection and build every index; by variant, the seconds it took ("" for all others)."""
        ...

    async def search(self, variant: str, query: int, /, *, k: int, label: str | None) -> Sequence[str]:
        """Ids of at most ``k`` documents, best first, for the collection's query number ``query``."""
        ...

    async def aclose(self) -> None:
        """Close what ``open`` opened."""
        ...


async def _run(peer: Peer, request: Mapping[str, Any]) -> dict[str, Any]:
    """All queries by so many callers at once: seconds of each, seconds and CPU seconds in all, and pages in the order asked."""
    numbered = list(enumerate(request["queries"]))
    pages: list[Sequence[str]] = [()] * len(numbered)
    latencies: list[float] = []
    pending = iter(numbered)

    async def caller() -> None:
        for place, query in pending:
            began = time.perf_counter()
            pages[place] = await peer.search(request["variant"], query, k=request["k"], label=request["label"])
            latencies.append(time.perf_counter() - began)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(request["concurrency"])))
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    measured: dict[str, Any] = {
        "latencies": latencies,
        "elapsed": elapsed,
        "cpu": cpu,
        "rows": [len(page) for page in pages],
    }
    if request["pages"]:
        measured["pages"] = [list(page) for page in pages]
    return measured


async def answer(peer: Peer, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one request of ``peers.process``. Raises ValueError for one that is not known."""
    match request["op"]:
        case "hello":
            return {"variants": list(peer.variants), "versions": {name: version(name) for name in peer.packages}}
        case "open":
            await peer.open(Collection.load(Path(request["folder"])), request["dsn"])
            return {}
        case "ingest":
            cpu = time.process_time()
            seconds = dict(await peer.ingest())
            return {"seconds": seconds, "cpu": time.process_time() - cpu}
        case "run":
            return await _run(peer, request)
        case "close":
            await peer.aclose()
            return {}
    raise ValueError(f"unknown request {request['op']!r}")


async def _serve(peer: Peer) -> None:
    # Whatever the libraries print goes to standard error: standard output carries answers only.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    while line := await asyncio.to_thread(sys.stdin.readline):
        answered = await answer(peer, json.loads(line))
        answers.write(json.dumps(answered) + "\n")
        answers.flush()


def serve(peer: Peer) -> None:
    """Answer requests until standard input ends."""
    asyncio.run(_serve(peer))
