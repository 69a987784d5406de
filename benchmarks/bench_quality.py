"""How good are the answers? ``python benchmarks/bench_quality.py FOLDER... [--json]``

Each folder is a test collection in the BEIR layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``). One parent and one
part a document go into a MemoryStore with the local embedder, and every judged query is answered by ``Engine.search``:
by each channel alone, by reciprocal ranks (k 60), and as the engine does by default. `brain eval` measures one collection
in Postgres, with more to choose.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from pathlib import Path

from brain_async import Engine, EngineConfig, FusionWeights
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.evaluation import System, evaluate, ingest_collection, read_collection
from report import Check, Report

NDCG, RECALL = "nDCG@10", "R@50"
DEPTH = 50
DEEP = EngineConfig(candidate_k=DEPTH)
RRF = EngineConfig(fusion="rrf", weights=FusionWeights(lexical=1.0, vector=1.0), candidate_k=DEPTH)
SYSTEMS = (
    System(name="lexical", role="alone", channels=("lexical",), config=DEEP),
    System(name="vector", role="alone", channels=("vector",), config=DEEP),
    System(name="rrf60", role="whole", channels=("lexical", "vector"), config=RRF),
    System(name="default", role="whole", config=EngineConfig()),
)


async def measure(folder: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 and recall@50 of every system on one collection."""
    collection = await read_collection(folder)
    async with open_local_embedder() as local:
        embedder, store, graph = CachedEmbedder(local), MemoryStore(), MemoryGraph()

        def open_with(config: EngineConfig) -> Engine:
            return Engine(store, graph=graph, embedder=embedder, config=config)

        scope, documents, _ = await ingest_collection(
            open_with(EngineConfig()), collection, split=lambda text: [text], settings="whole"
        )
        found = await evaluate(open_with, scope, collection, documents, SYSTEMS)
    return {system.name: {name: round(system.measures[name], 4) for name in (NDCG, RECALL)} for system in found.systems}


async def run(folders: list[Path]) -> Report:
    """Measure every folder; the default is held against the best single channel and reciprocal ranks."""
    report = Report(benchmark="bench_quality", parameters={"folders": [folder.name for folder in folders]})
    for folder in folders:
        report.figures[folder.name] = measured = await measure(folder)
        best = max(measured[name][NDCG] for name in ("lexical", "vector"))
        report.checks.append(
            Check.of(f"gain_over_best_channel_{folder.name}", measured["default"][NDCG] - best, ">=", 0.0)
        )
    means = {
        system.name: statistics.mean(report.figures[folder.name][system.name][NDCG] for folder in folders)
        for system in SYSTEMS
    }
    report.figures["mean_ndcg10"] = {name: round(value, 4) for name, value in means.items()}
    report.checks.append(Check.of("gain_over_rrf", means["default"] - means["rrf60"], ">=", 0.0))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.folders)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
