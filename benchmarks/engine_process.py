"""One engine process of bench_processes.py: ``python benchmarks/engine_process.py DSN HELIX_URL NUMBER``.

It has what a deployed process has: a pool of its own, a PostgresStore, a HelixGraph over HTTP, the edge ledger in Postgres. It
reads one JSON order a line and answers each with one line: ``{"do": "run", "what": PHASE, "seconds": 3}``,
``{"do": "acknowledged"}``, ``{"do": "reconcile"}``, ``{"do": "verify", "objects": [...], "links": [...]}``. It ends with its
input.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import numpy as np
from bench_scale import make_queries
from numpy.typing import NDArray
from scale_corpus import DIMENSION, LARGE

from brain_async import Edge, Engine, Object, SearchContext, SearchRequest
from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.errors import BrainError
from helixgraph import HelixGraph, open_helix

__all__ = ["CALLERS", "LABEL", "PHASES", "Process", "open_process"]

CALLERS = 4
PHASES = ("search", "mixed", "ledger")
"""All callers search; all but one search, which puts and links; all record links in the ledger alone."""

PAGE = 10
LABEL = "follows"
_AT_ONCE = 500

Link = tuple[UUID, UUID]


class HashedEmbedder:
    """A vector that depends on the text and costs next to nothing."""

    dimension = DIMENSION
    model = "hashed"

    async def embed(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        return np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([await self.embed(text) for text in texts])


class Process:
    """The engine, and what it acknowledged to its callers so far."""

    def __init__(self, store: PostgresStore, graph: HelixGraph, ledger: CortexEdgeLedger, number: int) -> None:
        self.store, self.graph, self.ledger = store, graph, ledger
        self.engine = Engine(store, graph=graph, ledger=ledger, embedder=HashedEmbedder())
        self.random = random.Random(number)
        self.queries = make_queries(500)
        self.random.shuffle(self.queries)
        self.documents: list[UUID] = []
        self.objects: list[UUID] = []
        self.links: list[Link] = []

    async def load_documents(self) -> None:
        """Learn which documents there are to be linked."""
        found = await self.store.scan(LARGE, first_class=True, after=None, limit=_AT_ONCE)
        self.documents = [obj.id for obj in found if obj.id is not None]

    async def run(self, what: str, seconds: float) -> dict[str, Any]:
        """``CALLERS`` callers, one call after another each, for ``seconds``; what is under way then is finished and counted."""
        before = len(self.objects), len(self.links)
        searches: list[float] = []
        errors: Counter[str] = Counter()
        began = time.perf_counter()

        async def caller(number: int) -> None:
            while time.perf_counter() - began < seconds:
                try:
                    if what == "ledger":
                        await self._record()
                    elif what == "mixed" and number == 0:
                        await self._write()
                    else:
                        searches.append(await self._search(errors))
                except BrainError as error:
                    errors[error.code] += 1

        await asyncio.gather(*(caller(number) for number in range(CALLERS)))
        return {
            "elapsed": time.perf_counter() - began,
            "searches": searches,
            "puts": len(self.objects) - before[0],
            "links": len(self.links) - before[1],
            "errors": dict(errors),
        }

    async def acknowledged(self) -> dict[str, Any]:
        """All that was acknowledged here since the start."""
        return {"objects": list(map(str, self.objects)), "links": [[str(a), str(b)] for a, b in self.links]}

    async def reconcile(self) -> dict[str, Any]:
        """Deliver what the outboxes hold, as a Reconciler does."""
        report = await self.engine.reconcile()
        return {"ok": report.ok, "nodes": report.nodes, "edges": report.edges}

    async def verify(self, objects: Sequence[str], links: Sequence[Sequence[str]]) -> dict[str, Any]:
        """How many of ``objects`` and ``links`` are not found, the drift, and the ledger's root once it is verified."""
        wanted = list(map(UUID, objects))
        pairs = [(UUID(a), UUID(b)) for a, b in links]
        found: set[UUID | None] = set()
        for start in range(0, len(wanted), _AT_ONCE):
            found |= {obj.id for obj in await self.store.get_many(LARGE, wanted[start : start + _AT_ONCE])}
        recorded = await self.ledger.scan_edges(LARGE, after=None, limit=len(pairs) + 1)
        drawn = await self._drawn(sorted({a for a, _ in pairs}))
        verified = await self.ledger.ledger.verify()
        return {
            "objects_lost": len(set(wanted) - found),
            "links_not_recorded": len(set(pairs) - {(edge.from_id, edge.to_id) for edge in recorded}),
            "links_not_in_graph": len(set(pairs) - drawn),
            "links_recorded": len(recorded),
            "drift": drift.pending + drift.differences if (drift := await self.engine.drift()).compared else -1,
            "root": verified.overall_root.hex(),
        }

    async def _search(self, errors: Counter[str]) -> float:
        query = self.random.choice(self.queries)
        began = time.perf_counter()
        page = await self.engine.search(
            LARGE, SearchRequest(query=query, limit=PAGE), SearchContext(LARGE.namespace_id)
        )
        for channel in page.degraded:
            errors[f"degraded: {channel}"] += 1
        return time.perf_counter() - began

    async def _write(self) -> None:
        """A document with one part, linked to an earlier one."""
        document = await self.engine.put(LARGE, Object(kind="document", title="Added while others search"))
        assert document.id is not None
        self.objects.append(document.id)
        text = " ".join(self.random.choices(self.queries, k=20))
        part = await self.engine.put(
            LARGE, Object(kind="section", title="Part", content=text, parent_id=document.id, position=0)
        )
        assert part.id is not None
        self.objects.append(part.id)
        other = self.random.choice(self.documents)
        await self.engine.link(LARGE, document.id, other, LABEL)
        self.links.append((document.id, other))

    async def _record(self) -> None:
        a, b = self.random.sample(self.documents, 2)
        await self.ledger.record_edges(LARGE, [Edge(from_id=a, to_id=b, relation_type=LABEL)])
        self.links.append((a, b))

    async def _drawn(self, nodes: Sequence[UUID]) -> set[Link]:
        """The links from ``nodes`` that the graph has."""
        drawn: set[Link] = set()
        for start in range(0, len(nodes), _AT_ONCE):
            page = await self.graph.neighbors(
                LARGE, nodes[start : start + _AT_ONCE], [LABEL], direction="out", limit=10_000
            )
            drawn |= {(node, each.object_id) for node, neighbours in page.items() for each in neighbours}
        return drawn


@asynccontextmanager
async def open_process(dsn: str, helix_url: str, number: int) -> AsyncIterator[Process]:
    """A process over both servers; closed with the block."""
    async with (
        open_postgres(dsn, dimension=DIMENSION) as store,
        open_helix(helix_url, dimension=DIMENSION) as graph,
    ):
        yield Process(store, graph, CortexEdgeLedger(PostgresKeyValueStore(store)), number)


async def main(dsn: str, helix_url: str, number: str) -> None:
    """Say that it is open, then follow the orders."""
    async with open_process(dsn, helix_url, int(number)) as process:
        await process.load_documents()
        verbs: dict[str, Callable[..., Any]] = {
            "run": process.run,
            "acknowledged": process.acknowledged,
            "reconcile": process.reconcile,
            "verify": process.verify,
        }
        sys.stdout.write('"open"\n')
        sys.stdout.flush()
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            answer = await verbs[order.pop("do")](**order)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
