"""How good are the answers? ``python benchmarks/bench_quality.py FOLDER... [--json]``

Each folder is a test collection in the BEIR layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``). One parent and one
part a document go into a MemoryStore with the local embedder, and every judged query is answered by ``Engine.search``:
by each channel alone, by reciprocal ranks (k 60), and as the engine does by default. Where the folder has misspelt queries
too (``queries_typo.jsonl``), lexical and default answer both, with the words of the queries respelt and as they are typed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid5

import ir_measures
from ir_measures import R, nDCG

from brain_async import Engine, EngineConfig, FusionWeights, Object, Session
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
RESPELLING: dict[str, tuple[tuple[ChannelName, ...] | None, EngineConfig]] = {
    "lexical": (("lexical",), EngineConfig(candidate_k=DEPTH)),
    "lexical_as_typed": (("lexical",), EngineConfig(candidate_k=DEPTH, respell=False)),
    "default": (None, EngineConfig()),
    "default_as_typed": (None, EngineConfig(respell=False)),
}
BM25_GAPS = {"cranfield": (0.285, 0.364), "cisi": (0.364, 0.413), "med": (0.669, 0.696)}
"""nDCG@10 of BM25 (bm25s) over misspelt queries, and over the same respelt, by a public tool: the gap to be closed."""


Run = list[tuple[str, UUID, float]]
"""(query, document, score) of every document found."""


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


async def answered(session: Session, queries: Sequence[dict[str, str]], channels: Sequence[ChannelName] | None) -> Run:
    """The documents found for each query, best first."""
    run = []
    for query in queries:
        page = await session.search(query["text"], channels=channels, limit=DEPTH)
        run += [(query["id"], hit.id, -float(rank)) for rank, hit in enumerate(page.objects)]
    return run


async def measure(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """nDCG@10 and recall@50 of every system on one collection: over its queries, and over misspelt ones with ``typo``."""
    documents, qrels = lines(folder / "corpus.jsonl"), judgements(folder / "qrels.tsv")
    judged = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
    ids = {uuid5(SPACE, document["id"]): document["id"] for document in documents}
    objects = []
    for document in documents:
        parent = uuid5(SPACE, document["id"])
        objects.append(Object(id=parent, kind="document", title=document["title"]))
        part = uuid5(parent, "text")
        objects.append(
            Object(id=part, kind="text", title=document["title"], content=document["text"], parent_id=parent)
        )
    measured: dict[str, dict[str, dict[str, float]]] = {}
    async with open_local_embedder() as embedder:
        parts = {"graph": MemoryGraph(), "embedder": CachedEmbedder(embedder)}
        store = MemoryStore()
        await Engine(store, **parts).session(SPACE).put_many(objects)  # type: ignore[arg-type]
        for file, systems in (("queries.jsonl", SYSTEMS | RESPELLING), ("queries_typo.jsonl", RESPELLING)):
            if not (folder / file).exists():
                continue
            queries = [query for query in lines(folder / file) if query["id"] in judged]
            found = measured.setdefault("typo" if "typo" in file else "clean", {})
            for name, (channels, config) in systems.items():
                session = Engine(store, **parts, config=config).session(SPACE)  # type: ignore[arg-type]
                run = [
                    ir_measures.ScoredDoc(query, ids[hit], score)
                    for query, hit, score in await answered(session, queries, channels)
                ]
                figures = ir_measures.calc_aggregate([NDCG, RECALL], qrels, run)
                found[name] = {str(measure): round(value, 4) for measure, value in figures.items()}
    return measured


def check_respelling(report: Report, measured: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    """How much of the gap between misspelt and respelt queries is closed, and what clean queries lose by it."""

    def ndcg(name: str, queries: str, system: str) -> float:
        return measured[name][queries][system][str(NDCG)]

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
    """Measure every folder; the default is held against the best single channel and reciprocal ranks."""
    report = Report(benchmark="bench_quality", parameters={"folders": [folder.name for folder in folders]})
    measured = {folder.name: await measure(folder) for folder in folders}
    for name, found in measured.items():
        report.figures[name] = clean = found["clean"]
        if "typo" in found:
            report.figures[f"{name}_typo"] = found["typo"]
        best = max(clean[channel][str(NDCG)] for channel in ("lexical", "vector"))
        report.checks.append(Check.of(f"gain_over_best_channel_{name}", clean["default"][str(NDCG)] - best, ">=", 0.0))
    means = {
        system: statistics.mean(found["clean"][system][str(NDCG)] for found in measured.values()) for system in SYSTEMS
    }
    report.figures["mean_ndcg10"] = {name: round(value, 4) for name, value in means.items()}
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
