"""How good are the answers? ``python benchmarks/bench_quality.py FOLDER... [--json]``

Each folder is a test collection in the BEIR layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``). One parent and one
part a document go into a MemoryStore with the local embedder, and every judged query is answered by ``Engine.search``:
by each channel alone, by reciprocal ranks (k 60), and as the engine does by default. Where the folder has misspelt queries
too (``queries_typo.jsonl``), lexical and default answer both, with the words of the queries respelt and as they are typed.
`brain eval` measures one collection in Postgres, with more to choose.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from pathlib import Path

from brain_async import Engine, EngineConfig, FusionWeights
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.config import ChannelName
from brain_async.evaluation import System, evaluate, ingest_collection, read_collection
from report import Check, Report

NDCG, RECALL = "nDCG@10", "R@50"
DEPTH = 50
DEEP = EngineConfig(candidate_k=DEPTH)
RRF = EngineConfig(fusion="rrf", weights=FusionWeights(lexical=1.0, vector=1.0), candidate_k=DEPTH)
ALONE: tuple[ChannelName, ...] = ("lexical", "vector")
FUSED = (
    System(name="lexical", role="alone", channels=("lexical",), config=DEEP),
    System(name="vector", role="alone", channels=("vector",), config=DEEP),
    System(name="rrf60", role="whole", channels=ALONE, config=RRF),
    System(name="default", role="whole", config=EngineConfig()),
)
RESPELLING = (
    System(name="lexical", role="alone", channels=("lexical",), config=DEEP),
    System(
        name="lexical_as_typed",
        role="alone",
        channels=("lexical",),
        config=EngineConfig(candidate_k=DEPTH, respell=False),
    ),
    System(name="default", role="whole", config=EngineConfig()),
    System(name="default_as_typed", role="whole", config=EngineConfig(respell=False)),
)
BM25_GAPS = {"cranfield": (0.285, 0.364), "cisi": (0.364, 0.413), "med": (0.669, 0.696)}
"""nDCG@10 of BM25 (bm25s) over misspelt queries, and over the same respelt, by a public tool: the gap to be closed."""
FUSED_BY_OTHERS = 0.511
"""Mean nDCG@10 of the three by min-max scores (bm25s 0.6, these vectors 0.4); reciprocal ranks have 0.503."""

Measured = dict[str, dict[str, dict[str, float]]]
"""Queries ("clean" or "typo") to system to measure to value."""


async def measure(folder: Path) -> Measured:
    """nDCG@10 and recall@50 of every system on one collection: over its queries, and over misspelt ones."""
    collection = await read_collection(folder)
    measured: Measured = {}
    async with open_local_embedder() as local:
        embedder, store, graph = CachedEmbedder(local), MemoryStore(), MemoryGraph()

        def open_with(config: EngineConfig) -> Engine:
            return Engine(store, graph=graph, embedder=embedder, config=config)

        scope, documents, _ = await ingest_collection(
            open_with(EngineConfig()), collection, split=lambda text: [text], settings="whole"
        )
        misspelt = folder / "queries_typo.jsonl"
        asked = {"clean": (collection, (*FUSED, *(each for each in RESPELLING if each.name.endswith("_as_typed"))))}
        if misspelt.exists():
            asked["typo"] = (await read_collection(folder, queries=misspelt), RESPELLING)
        for name, (judged, systems) in asked.items():
            found = await evaluate(open_with, scope, judged, documents, systems)
            measured[name] = {
                each.name: {measure: round(each.measures[measure], 4) for measure in (NDCG, RECALL)}
                for each in found.systems
            }
    return measured


def check_respelling(report: Report, measured: dict[str, Measured]) -> None:
    """How much of the gap between misspelt and respelt queries is closed, and what clean queries lose by it."""

    def ndcg(name: str, queries: str, system: str) -> float:
        return measured[name][queries][system][NDCG]

    names = [name for name, found in measured.items() if "typo" in found]
    if not names:
        return
    for system in ("lexical", "default"):
        lost = sum(
            ndcg(name, "clean", system + "_as_typed") - ndcg(name, "typo", system + "_as_typed") for name in names
        )
        regained = sum(ndcg(name, "typo", system) - ndcg(name, "typo", system + "_as_typed") for name in names)
        report.figures[f"typo_regained_{system}"] = round(regained / lost, 3)
        worst = min(ndcg(name, "clean", system) - ndcg(name, "clean", system + "_as_typed") for name in names)
        report.checks.append(Check.of(f"clean_queries_respelt_{system}", worst, ">=", -0.003))
    known = [name for name in names if name in BM25_GAPS]
    if known:
        gap = sum(respelt - typed for typed, respelt in (BM25_GAPS[name] for name in known))
        closed = sum(ndcg(name, "typo", "lexical") - ndcg(name, "typo", "lexical_as_typed") for name in known)
        report.checks.append(Check.of("typo_gap_closed", closed / gap, ">=", 0.9))


async def run(folders: list[Path]) -> Report:
    """Measure every folder; the default is held against the best single channel, reciprocal ranks and min-max."""
    report = Report(benchmark="bench_quality", parameters={"folders": [folder.name for folder in folders]})
    measured = {folder.name: await measure(folder) for folder in folders}
    for name, found in measured.items():
        report.figures[name] = clean = found["clean"]
        if "typo" in found:
            report.figures[f"{name}_typo"] = found["typo"]
        best = max(clean[channel][NDCG] for channel in ALONE)
        report.checks.append(Check.of(f"ndcg10_{name}", clean["default"][NDCG], ">=", best))
    means = {
        system.name: statistics.mean(found["clean"][system.name][NDCG] for found in measured.values())
        for system in FUSED
    }
    report.figures["mean_ndcg10"] = {name: round(value, 4) for name, value in means.items()}
    if set(measured) == set(BM25_GAPS):
        report.checks.append(Check.of("ndcg10_mean", means["default"], ">=", FUSED_BY_OTHERS))
    report.checks.append(Check.of("gain_over_rrf", means["default"] - means["rrf60"], ">=", 0.0))
    check_respelling(report, measured)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.folders)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
