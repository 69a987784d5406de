"""How good are the answers? ``python benchmarks/bench_quality.py FOLDER... [--json]``

Each folder is a test collection in the BEIR layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``). One parent and one
part a document go into a MemoryStore with the local embedder, and every judged query is answered by ``Engine.search``:
by each channel alone, by reciprocal ranks (k 60), and as the engine does by default.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from pathlib import Path
from uuid import UUID, uuid5

import ir_measures
from ir_measures import R, nDCG

from brain_async import Engine, EngineConfig, FusionWeights, Object
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.config import ChannelName
from report import Check, Report

SPACE = UUID(int=11)
DEPTH = 50
NDCG, RECALL = nDCG @ 10, R @ 50
SYSTEMS: dict[str, tuple[tuple[ChannelName, ...] | None, EngineConfig]] = {
    "lexical": (("lexical",), EngineConfig(candidate_k=DEPTH)),
    "vector": (("vector",), EngineConfig(candidate_k=DEPTH)),
    "rrf60": (
        ("lexical", "vector"),
        EngineConfig(fusion="rrf", weights=FusionWeights(lexical=1.0, vector=1.0), candidate_k=DEPTH),
    ),
    "default": (None, EngineConfig()),
}


def lines(path: Path) -> list[dict[str, str]]:
    """The objects of a JSON-lines file, ids under ``id``."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [{**row, "id": str(row.get("id", row.get("_id")))} for row in rows]


def judgements(path: Path) -> list[ir_measures.Qrel]:
    """query, document, grade; a heading line and TREC's second column are skipped."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if fields[-1].strip().lstrip("-").isdigit():
            found.append(ir_measures.Qrel(fields[0], fields[-2], int(fields[-1])))
    return found


async def measure(folder: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 and recall@50 of every system on one collection."""
    documents, qrels = lines(folder / "corpus.jsonl"), judgements(folder / "qrels.tsv")
    judged = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
    queries = [query for query in lines(folder / "queries.jsonl") if query["id"] in judged]
    ids = {uuid5(SPACE, document["id"]): document["id"] for document in documents}
    objects = []
    for document in documents:
        parent = uuid5(SPACE, document["id"])
        objects.append(Object(id=parent, kind="document", title=document["title"]))
        part = uuid5(parent, "text")
        objects.append(
            Object(id=part, kind="text", title=document["title"], content=document["text"], parent_id=parent)
        )
    measured = {}
    async with open_local_embedder() as embedder:
        parts = {"graph": MemoryGraph(), "embedder": CachedEmbedder(embedder)}
        store = MemoryStore()
        await Engine(store, **parts).session(SPACE).put_many(objects)  # type: ignore[arg-type]
        for name, (channels, config) in SYSTEMS.items():
            session = Engine(store, **parts, config=config).session(SPACE)  # type: ignore[arg-type]
            run = []
            for query in queries:
                page = await session.search(query["text"], channels=channels, limit=DEPTH)
                run += [
                    ir_measures.ScoredDoc(query["id"], ids[hit.id], -float(rank))
                    for rank, hit in enumerate(page.objects)
                ]
            figures = ir_measures.calc_aggregate([NDCG, RECALL], qrels, run)
            measured[name] = {str(measure): round(value, 4) for measure, value in figures.items()}
    return measured


async def run(folders: list[Path]) -> Report:
    """Measure every folder; the default is held against the best single channel and reciprocal ranks."""
    report = Report(benchmark="bench_quality", parameters={"folders": [folder.name for folder in folders]})
    for folder in folders:
        report.figures[folder.name] = measured = await measure(folder)
        best = max(measured[name][str(NDCG)] for name in ("lexical", "vector"))
        report.checks.append(
            Check.of(f"gain_over_best_channel_{folder.name}", measured["default"][str(NDCG)] - best, ">=", 0.0)
        )
    means = {
        name: statistics.mean(report.figures[folder.name][name][str(NDCG)] for folder in folders) for name in SYSTEMS
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
