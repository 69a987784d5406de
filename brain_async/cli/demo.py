"""`brain demo`: the installed Python packages as a knowledge base, and one query of each verb on it."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec

from brain_async.cli.corpus import CorpusBatch, distributions_corpus
from brain_async.cli.demo_queries import Answer, ask
from brain_async.cli.distributions import Distribution, read_distributions
from brain_async.cli.home import DEMO_NAMESPACE, open_home, save_context
from brain_async.cli.kinds import AUTHOR, KINDS, PACKAGE, REQUIRES, WRITTEN_BY, object_id
from brain_async.cli.progress import Phases
from brain_async.cli.report import Check
from brain_async.cli.sync import CHECKSUM, CorpusSync, Problem, stored_edges, stored_parents
from brain_async.model.object import Object
from brain_async.model.relation import Edge
from brain_async.model.scope import Scope

if TYPE_CHECKING:
    from uuid import UUID

    from brain_async.local import LocalEngine

__all__ = ["Demo", "demo_checks", "demo_report", "run_demo"]

_FORMAT = 1
"""To be raised whenever the same distribution is turned into other objects than before, so that they are made anew."""

_COLD_SECONDS = 180
_WARM_SECONDS = 10


class Demo(msgspec.Struct, kw_only=True):
    """What one run did and found.

    Attributes:
        reused: nothing had changed since the run before.
        counts: of what is stored now, and of what this run wrote and removed.
        seconds: by phase, in order; ``total`` is the whole.
    """

    home: Path
    reused: bool = True
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    answers: list[Answer] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)
    lexical_backend: str = ""
    versions: dict[str, str] = msgspec.field(default_factory=dict)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time of the block to the phase's."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - began


async def run_demo(home: Path, phases: Phases, *, fresh: bool) -> Demo:
    """Bring the knowledge base in ``home`` in step with the environment and query it.

    Packages whose metadata and README are as before are left alone, unless ``fresh``. Raises as ``open_home``, and
    whatever a query raises.
    """
    began = time.perf_counter()
    demo = Demo(home=home)
    phases.begin("starting PostgreSQL")
    starting = time.perf_counter()
    async with open_home(home, kinds=KINDS) as engine:
        demo.seconds["start"] = time.perf_counter() - starting
        await _ingest(engine, demo, phases, fresh=fresh)
        phases.begin("querying")
        with demo.timed("queries"):
            await _query(engine, demo)
        demo.seconds["total"] = time.perf_counter() - began
        await _describe(engine, demo)
    return demo


async def _ingest(engine: LocalEngine, demo: Demo, phases: Phases, *, fresh: bool) -> None:
    scope = Scope(DEMO_NAMESPACE)
    phases.begin("reading the installed packages")
    with demo.timed("read"):
        distributions = await anyio.to_thread.run_sync(read_distributions)
        checksums = {object_id(DEMO_NAMESPACE, PACKAGE, d.normalized_name): _checksum(d) for d in distributions}
        stored = await stored_parents(engine, scope, (PACKAGE, AUTHOR))
        kept = {obj.key: obj.properties.get(CHECKSUM) for obj in stored.values() if obj.kind == PACKAGE}
        demo.reused = kept == checksums and not fresh
        if demo.reused:
            return
        batch = await anyio.to_thread.run_sync(_corpus, distributions, checksums)

    sync = CorpusSync(engine, DEMO_NAMESPACE, batch, relations=(REQUIRES, WRITTEN_BY))
    with demo.timed("ingest"):
        await sync.compare(everything=fresh)
        wanted = {obj.id for obj in batch.objects}
        gone = [key for key in stored if key not in wanted]
        await sync.write(gone=gone, progress=phases.begin("embedding and writing"))
    with demo.timed("link"):
        await sync.link(progress=phases.begin("linking"))
    with demo.timed("ingest"):
        await sync.finish()
    demo.counts |= {"written": sync.written, "removed": sync.removed, "linked": sync.linked, "unlinked": sync.unlinked}
    demo.problems = sync.problems


def _checksum(distribution: Distribution) -> str:
    return hashlib.sha256(msgspec.json.encode((_FORMAT, distribution))).hexdigest()[:16]


def _corpus(distributions: list[Distribution], checksums: dict[UUID, str]) -> CorpusBatch:
    batch = distributions_corpus(distributions, namespace_id=DEMO_NAMESPACE)

    def marked(obj: Object) -> Object:
        if obj.kind != PACKAGE:
            return obj
        return msgspec.structs.replace(obj, properties=obj.properties | {CHECKSUM: checksums[obj.key]})

    return msgspec.structs.replace(batch, objects=tuple(map(marked, batch.objects)))


async def _query(engine: LocalEngine, demo: Demo) -> None:
    scope = Scope(DEMO_NAMESPACE)
    parents = await stored_parents(engine, scope, (PACKAGE, AUTHOR))
    edges: list[Edge] = list((await stored_edges(engine, scope)).values())
    packages = [obj for obj in parents.values() if obj.kind == PACKAGE]
    demo.counts = {
        "packages": len(packages),
        "sections": sum(obj.properties["sections"] for obj in packages),
        "authors": len(parents) - len(packages),
        "edges": len(edges),
        **demo.counts,
    }
    demo.answers, context = await ask(engine, packages, edges)
    save_context(demo.home, context)


async def _describe(engine: LocalEngine, demo: Demo) -> None:
    description = await engine.store.describe()
    demo.lexical_backend = description.lexical_backend
    demo.versions = {
        "python": platform.python_version(),
        "brain_async": version("brain-async"),
        "postgres": description.server_version,
        "helix": version("helix-db-embedded"),
        **description.available,
    }


def demo_checks(demo: Demo) -> list[Check]:
    """Whether the queries found something, and in time."""
    with_hits = sum(bool(answer.hits) for answer in demo.answers)
    limit = _WARM_SECONDS if demo.reused else _COLD_SECONDS
    total = round(demo.seconds["total"], 2)
    return [
        Check("queries_with_hits", with_hits, ">= 6", with_hits >= 6),
        Check("seconds_total", total, f"<= {limit}", total <= limit),
    ]


def demo_report(demo: Demo) -> dict[str, Any]:
    """The report of `brain demo --json`."""
    return {
        "command": "demo",
        "home": str(demo.home),
        "reused": demo.reused,
        "counts": demo.counts,
        "seconds": {phase: round(seconds, 3) for phase, seconds in demo.seconds.items()},
        "queries": [answer.report() for answer in demo.answers],
        "problems": demo.problems,
        "lexical_backend": demo.lexical_backend,
        "versions": demo.versions,
        "checks": demo_checks(demo),
    }
