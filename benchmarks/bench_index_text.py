"""What is a part found by, besides its own text? ``python benchmarks/bench_index_text.py FOLDER... [--json]``

Each folder is a test collection in the BEIR layout. Every document becomes a titled parent with parts of at most 400
characters without a title, in a MemoryStore with the local embedder, once for each ``ContextSpec``: nothing, the parent's
title, the part before and after, or both, in the text of the lexical channel, in that of the vectors, or in both.
The collections have no dates. nDCG@10 of the lexical channel, the vector channel and the default.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from pathlib import Path
from uuid import UUID, uuid5

from brain_async import ContextSpec, Engine, EngineConfig, KindSpec, Object
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.cli.passages import split_passages
from brain_async.evaluation import Collection, System, evaluate, read_collection
from brain_async.model.scope import Scope
from report import Report

NDCG = "nDCG@10"
PART_CHARS = 400
_SPACE = UUID("5f1c0d3e-6d0b-4a52-8f0a-3f5b5b1d9a11")
NOTHING, TITLE = ContextSpec(), ContextSpec(parent_title=True)
WINDOW, BOTH = ContextSpec(sibling_radius=1), ContextSpec(parent_title=True, sibling_radius=1)
VARIANTS = {
    "own text only": (NOTHING, NOTHING),
    "title in vectors (the kinds' default)": (NOTHING, TITLE),
    "title in both": (TITLE, TITLE),
    "window in both": (WINDOW, WINDOW),
    "title and window in words, title in vectors": (BOTH, TITLE),
    "title and window in both": (BOTH, BOTH),
}
"""Name to the context of the lexical channel and of the vectors."""
SYSTEMS = (
    System(name="lexical", role="alone", channels=("lexical",), config=EngineConfig()),
    System(name="vector", role="alone", channels=("vector",), config=EngineConfig()),
    System(name="default", role="whole", config=EngineConfig()),
)


def objects(collection: Collection) -> tuple[list[Object], dict[UUID, str]]:
    """A parent and its parts for each document, and the document of each parent."""
    made: list[Object] = []
    documents = {uuid5(_SPACE, document.id): document.id for document in collection.documents}
    for parent, document in zip(documents, collection.documents, strict=True):
        made.append(Object(id=parent, kind="document", title=document.title))
        made += [
            Object(id=uuid5(parent, str(at)), kind="passage", content=passage, parent_id=parent, position=at)
            for at, passage in enumerate(split_passages(document.text, max_chars=PART_CHARS))
        ]
    return made, documents


async def measure(folder: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 of each system under each variant."""
    collection = await read_collection(folder)
    made, documents = objects(collection)
    found = {}
    async with open_local_embedder() as local:
        embedder = CachedEmbedder(local)
        for name, (lexical, embedding) in VARIANTS.items():
            store, graph, scope = MemoryStore(), MemoryGraph(), Scope(_SPACE)
            kind = KindSpec(kind="passage", is_part=True, lexical_context=lexical, embedding_context=embedding)

            def open_with(
                config: EngineConfig, store: MemoryStore = store, graph: MemoryGraph = graph, kind: KindSpec = kind
            ) -> Engine:
                return Engine(
                    store,
                    graph=graph,
                    embedder=embedder,
                    config=config,
                    kinds=(KindSpec(kind="document", is_parent=True), kind),
                )

            done = await open_with(EngineConfig()).put_many(scope, made)
            if not done.ok:
                raise SystemExit(f"{len(done.failures)} objects could not be stored: {done.failures[0].message}")
            evaluated = await evaluate(open_with, scope, collection, documents, SYSTEMS)
            found[name] = {system.name: round(system.measures[NDCG], 4) for system in evaluated.systems}
    return found


async def run(folders: list[Path]) -> Report:
    """Measure every folder; ``mean`` is over the folders."""
    parameters = {"folders": [folder.name for folder in folders], "part_chars": PART_CHARS}
    report = Report(benchmark="bench_index_text", parameters=parameters)
    measured = {folder.name: await measure(folder) for folder in folders}
    for system in SYSTEMS:
        rows = {name: {folder: values[name][system.name] for folder, values in measured.items()} for name in VARIANTS}
        report.figures[system.name] = {
            name: {**values, "mean": round(statistics.fmean(values.values()), 4)} for name, values in rows.items()
        }
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.folders)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
