"""Which way to fuse two ranked lists? ``python benchmarks/bench_fusion.py FOLDER... [--model PATH] [--json]``

Each folder is a test collection in the BEIR layout, one part a document, in a MemoryStore with the local embedder, or a model
of sentence-transformers. The lists of the lexical and of the vector channel are read once, and fused in each of the ways.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, EngineConfig
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder, open_sentence_transformer
from brain_async.adapters.memory import MemoryStore
from brain_async.evaluation import Collection, Judge, ingest_collection, read_collection
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.ports.host import QueryEmbedder
from brain_async.stages.agree import agreed_weights
from brain_async.stages.fuse import fuse
from report import Report

NDCG = "nDCG@10"
SHARES = (0.2, 0.3, 0.4, 0.5)
Lists: TypeAlias = dict[str, Sequence[Candidate]]
Scaling = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def min_max(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the lowest of the list, 0, to its highest, 1."""
    spread = float(np.ptp(scores))
    return (scores - scores.min()) / spread if spread else np.ones_like(scores)


def z_score(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """In standard deviations above the lowest of the list, which stands for what is not in it."""
    deviation = float(scores.std())
    return (scores - scores.min()) / deviation if deviation else np.ones_like(scores)


def distribution(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """From three standard deviations below the mean, 0, to three above, 1."""
    deviation = float(scores.std())
    return np.clip((scores - scores.mean()) / (6 * deviation) + 0.5, 0, 1) if deviation else np.ones_like(scores)


def scaled(lists: Lists, share: float, *, by: Scaling) -> list[str]:
    """The ids by the weighed sum of their scaled scores."""
    totals: dict[str, float] = {}
    for name, weight in (("lexical", 1 - share), ("vector", share)):
        hits = lists[name]
        if hits:
            values = by(np.asarray([hit.score for hit in hits]))
            for hit, value in zip(hits, values.tolist(), strict=True):
                totals[str(hit.parent_id)] = totals.get(str(hit.parent_id), 0.0) + weight * value
    return sorted(totals, key=lambda key: -totals[key])


def engine(lists: Lists, share: float, *, enough: float) -> list[str]:
    """As the engine's ``relative``; ``enough`` is ``EngineConfig.agreement``."""
    weights = agreed_weights(lists, {"lexical": 1 - share, "vector": share}, enough=enough, clear=0.0)
    return by_engine(lists, weights, k=1, rrf=False)


def reciprocal(lists: Lists, share: float, *, k: int) -> list[str]:
    """As the engine's ``rrf``."""
    return by_engine(lists, {"lexical": 1 - share, "vector": share}, k=k, rrf=True)


def by_engine(lists: Lists, weights: dict[str, float], *, k: int, rrf: bool) -> list[str]:
    """What the engine's own stage makes of the lists."""
    fused = fuse(lists, method="rrf" if rrf else "relative", weights=weights, rrf_k=k)
    return [str(item.candidate.parent_id) for item in sorted(fused, key=lambda item: -item.fused)]


METHODS: dict[str, Callable[[Lists, float], list[str]]] = {
    "rrf k=60": partial(reciprocal, k=60),
    "rrf k=5": partial(reciprocal, k=5),
    "min-max": partial(scaled, by=min_max),
    "z-score": partial(scaled, by=z_score),
    "distribution": partial(scaled, by=distribution),
    "relative": partial(engine, enough=0.0),
    "relative, agreement 0.3": partial(engine, enough=0.3),
    "relative, agreement 0.4": partial(engine, enough=0.4),
}


def _at(method: Callable[[Lists, float], list[str]], share: float, lists: Lists) -> list[str]:
    return method(lists, share)


async def read_lists(collection: Collection, embedder: QueryEmbedder) -> tuple[dict[str, Lists], dict[str, str]]:
    """Query id to the list of each channel, and the document of each parent."""
    store = MemoryStore()
    filler = Engine(store, embedder=embedder)
    scope, documents, _ = await ingest_collection(filler, collection, split=lambda text: [text], settings="whole")
    k = EngineConfig().candidate_k
    return {
        query.id: {
            "lexical": await store.search_lexical(scope, query.text, Filters(), k=k),
            "vector": await store.search_vector(scope, await embedder.embed(query.text), Filters(), k=k),
        }
        for query in collection.queries
    }, {str(parent): document for parent, document in documents.items()}


async def measure(folder: Path, embedder: QueryEmbedder) -> dict[str, float]:
    """nDCG@10 of each channel and of each method at each share of the vector channel."""
    collection = await read_collection(folder)
    lists, documents = await read_lists(collection, embedder)
    judge = Judge(collection)

    def ndcg(ranked: Callable[[Lists], list[str]]) -> float:
        ranking = {query: [documents[parent] for parent in ranked(found)] for query, found in lists.items()}
        return round(statistics.fmean(judge.values(ranking)[NDCG].values()), 4)

    found = {"lexical": ndcg(lambda each: engine(each, 0.0, enough=0.0))}
    found["vector"] = ndcg(lambda each: engine(each, 1.0, enough=0.0))
    for name, method in METHODS.items():
        for share in SHARES:
            found[f"{name}, share {share:g}"] = ndcg(partial(_at, method, share))
    return found


async def run(folders: list[Path], model: Path | None) -> Report:
    """Measure every folder; ``margin`` is the worst difference to the better channel of a collection."""
    parameters = {"folders": [folder.name for folder in folders], "model": "local" if model is None else model.name}
    report = Report(benchmark="bench_fusion", parameters=parameters)
    async with AsyncExitStack() as stack:
        opened = open_local_embedder() if model is None else open_sentence_transformer(model)
        embedder = CachedEmbedder(await stack.enter_async_context(opened))
        measured = {folder.name: await measure(folder, embedder) for folder in folders}
    for name in next(iter(measured.values())):
        figures = {folder: values[name] for folder, values in measured.items()}
        report.figures[name] = {
            **figures,
            "mean": round(statistics.fmean(figures.values()), 4),
            "margin": round(
                min(value - max(measured[key]["lexical"], measured[key]["vector"]) for key, value in figures.items()), 4
            ),
        }
    report.parameters["suggested_share"] = embedder.dense_share
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, help="a folder with a model of sentence-transformers")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.folders, arguments.model)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
