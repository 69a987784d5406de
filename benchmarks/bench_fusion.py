"""Which way to fuse two ranked lists? ``python benchmarks/bench_fusion.py FOLDER... [--model PATH] [--json]``

Each folder is a test collection in the BEIR layout, one part a document, and stands for others too: see ``standins``. The
lists of the lexical channel (MemoryStore) and of the vectors of the local embedder, and with ``--model`` of one of
sentence-transformers, are read once, and fused in each of the ways.

``methods`` are nDCG@10 over the collections as they are, at each share of the vector channel; ``cases`` those of the engine's
rules at the embedder's share, over the stand-ins too and with each channel made worse; ``held_out`` what the default gives
where ``EngineConfig.lead`` is chosen on the other collections and all made of them. ``--vectors`` keeps the vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, EngineConfig
from brain_async.adapters.embed import CachedEmbedder, open_local_embedder, open_sentence_transformer
from brain_async.adapters.memory import MemoryStore
from brain_async.evaluation import Collection, Judge, ingest_collection, read_collection
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.stages.agree import agreed_weights
from brain_async.stages.fuse import fuse
from report import Check, Report
from standins import Vectors, misspelt, noisy, shortened, shuffled, titles, turns

NDCG = "nDCG@10"
SHARES = (0.2, 0.3, 0.4, 0.5)
K = EngineConfig().candidate_k
ASKED = 300
"""Queries of a stand-in."""
SEED = 1
NOISE, SHUFFLED, WORDS = (0.7, 1.2), (0.5,), 0.4
LEADS = (0.2, 0.3, 0.4, 0.5, 0.6)
NOISE_OF_JUDGEMENT = 0.003
Lists: TypeAlias = dict[str, Sequence[Candidate]]
Scaling = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Rank = Callable[[Lists, float], list[str]]


class Case(msgspec.Struct):
    """One collection's lists. ``source`` is the collection that it is made of; ``degraded``: with a channel made worse."""

    name: str
    source: str
    share: float
    degraded: bool
    lists: dict[str, Lists]
    documents: list[str]
    judge: Judge

    def ndcg(self, rank: Rank, share: float | None = None) -> float:
        """The mean over the queries; ``share`` is the embedder's where it is not given."""
        weight = self.share if share is None else share
        ranking = {
            query: [self.documents[int(found)] for found in rank(lists, weight)] for query, lists in self.lists.items()
        }
        return statistics.fmean(self.judge.values(ranking)[NDCG].values())


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
    """The documents by the weighed sum of their scaled scores."""
    totals: dict[int, float] = {}
    for name, weight in (("lexical", 1 - share), ("vector", share)):
        hits = lists[name]
        if hits:
            values = by(np.asarray([hit.score for hit in hits]))
            for hit, value in zip(hits, values.tolist(), strict=True):
                totals[hit.id.int] = totals.get(hit.id.int, 0.0) + weight * value
    return [str(found) for found in sorted(totals, key=lambda key: -totals[key])]


def relative(lists: Lists, share: float, *, enough: float = 0.0, sure: float = 0.0) -> list[str]:
    """As the engine's ``relative``; ``enough`` is ``EngineConfig.agreement``, ``sure`` its ``lead``."""
    weights = agreed_weights(lists, {"lexical": 1 - share, "vector": share}, enough=enough, sure=sure)
    return by_engine(lists, weights, k=1, rrf=False)


def reciprocal(lists: Lists, share: float, *, k: int) -> list[str]:
    """As the engine's ``rrf``."""
    return by_engine(lists, {"lexical": 1 - share, "vector": share}, k=k, rrf=True)


def by_engine(lists: Lists, weights: dict[str, float], *, k: int, rrf: bool) -> list[str]:
    """What the engine's own stage makes of the lists."""
    fused = fuse(lists, method="rrf" if rrf else "relative", weights=weights, rrf_k=k)
    return [str(item.candidate.id.int) for item in sorted(fused, key=lambda item: -item.fused)]


def alone(lists: Lists, _share: float, *, channel: str) -> list[str]:
    """One channel's list as it is."""
    return [str(hit.id.int) for hit in lists[channel]]


AGREEMENT = EngineConfig().agreement
METHODS: dict[str, Rank] = {
    "rrf k=60": partial(reciprocal, k=60),
    "rrf k=5": partial(reciprocal, k=5),
    "min-max": partial(scaled, by=min_max),
    "z-score": partial(scaled, by=z_score),
    "distribution": partial(scaled, by=distribution),
    "relative": relative,
    "agreement": partial(relative, enough=AGREEMENT),
    "default": partial(relative, enough=AGREEMENT, sure=EngineConfig().lead),
}
SHOWN = ("rrf k=60", "min-max", "relative", "agreement", "default")
"""Those that are measured on every case."""
ALONE: dict[str, Rank] = {name: partial(alone, channel=name) for name in ("lexical", "vector")}


class Embedding:
    """One embedder, its suggested share, and the vectors of lists of texts, kept in a folder where there is one."""

    def __init__(self, name: str, embedder: CachedEmbedder, folder: Path | None) -> None:
        self.name, self.share = name, embedder.dense_share
        self._embedder, self._folder = embedder, folder

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        digest = hashlib.sha256("\0".join([self._embedder.model, *texts]).encode()).hexdigest()[:24]
        kept = self._folder / f"{digest}.npy" if self._folder else None
        if kept and kept.exists():
            found: Vectors = np.load(kept)
            return found
        found = np.asarray(await self._embedder.embed_many(list(texts)), np.float32)
        if kept:
            np.save(kept, found)
        return found


def nearest(questions: Vectors, vectors: Vectors) -> list[list[Candidate]]:
    """The list of the vector channel for each question."""
    similarities = questions @ vectors.T
    best = np.argsort(-similarities, axis=1, kind="stable")[:, :K]
    return [
        [Candidate(id=UUID(int=int(at)), score=float(row[at])) for at in order]
        for row, order in zip(similarities, best, strict=True)
    ]


async def words(collection: Collection, asked: Sequence[Sequence[str]]) -> list[list[list[Candidate]]]:
    """The lists of the lexical channel for each of several wordings of the queries."""
    store = MemoryStore()
    scope, parents, _ = await ingest_collection(Engine(store), collection, split=lambda text: [text], settings="whole")
    place = {document.id: number for number, document in enumerate(collection.documents)}
    return [
        [
            [
                Candidate(id=UUID(int=place[parents[hit.parent_id]]), score=hit.score)
                for hit in await store.search_lexical(scope, text, Filters(), k=K)
                if hit.parent_id is not None
            ]
            for text in texts
        ]
        for texts in asked
    ]


def worse(vectors: Vectors, questions: Vectors) -> Iterator[tuple[str, Vectors, Vectors]]:
    """The vectors of documents and questions as they are, and made worse."""
    yield "", vectors, questions
    for strength in NOISE:
        yield f", noise {strength:g}", noisy(vectors, strength, 1), noisy(questions, strength, 2)
    for share in SHUFFLED:
        yield f", {share:.0%} shuffled", shuffled(vectors, share, 1), questions


async def cases(source: str, collection: Collection, embeddings: Sequence[Embedding]) -> list[Case]:
    """The collection with each embedder, with each channel made worse."""
    texts = [f"{document.title}\n{document.text}".strip() or "." for document in collection.documents]
    questions = [query.text for query in collection.queries]
    generator = random.Random(5)
    wordings = {
        "": questions,
        ", words misspelt": [misspelt(text, WORDS, generator) for text in questions],
        ", words left out": [shortened(text, WORDS, generator) for text in questions],
    }
    lexical = dict(zip(wordings, await words(collection, list(wordings.values())), strict=True))
    made = []
    for embedding in embeddings:
        vectors, asked = await embedding.vectors(texts), await embedding.vectors(questions)
        dense = {changed: nearest(questioned, moved) for changed, moved, questioned in worse(vectors, asked)}
        for changed, by_words, by_vectors in [
            *((changed, lexical[""], found) for changed, found in dense.items()),
            *((changed, found, dense[""]) for changed, found in lexical.items() if changed),
        ]:
            lists: dict[str, Lists] = {
                query.id: {"lexical": of_words, "vector": of_vectors}
                for query, of_words, of_vectors in zip(collection.queries, by_words, by_vectors, strict=True)
            }
            made.append(
                Case(
                    name=f"{embedding.name}: {collection.name}{changed}",
                    source=source,
                    share=embedding.share,
                    degraded=bool(changed),
                    lists=lists,
                    documents=[document.id for document in collection.documents],
                    judge=Judge(collection),
                )
            )
    return made


def losses(case_values: dict[str, float], best: dict[str, float], names: Sequence[str]) -> list[float]:
    """How far each case is below its better channel; 0 where it is not."""
    return [min(0.0, case_values[name] - best[name]) for name in names]


def chosen(
    known: Sequence[Case], values: dict[float, dict[str, float]], best: dict[str, float], plain: Sequence[str]
) -> float:
    """The ``lead`` that loses least in the worst of the cases that are not made worse, then on the mean of all.

    Only those that cost the collections themselves (``plain``) at most 0.003 on the mean; 0 is none.
    """
    names = [case.name for case in known]
    sound = [case.name for case in known if not case.degraded]
    own = [name for name in names if name in plain]

    def kept(sure: float) -> bool:
        cost = statistics.fmean(values[0.0][name] - values[sure][name] for name in own)
        return cost <= NOISE_OF_JUDGEMENT

    def worth(sure: float) -> tuple[float, float]:
        worst = min(losses(values[sure], best, sound))
        return round(worst, 3), statistics.fmean(losses(values[sure], best, names))

    return max(filter(kept, values), key=worth)


async def run(folders: list[Path], model: Path | None, vectors: Path | None) -> Report:
    """Measure every folder, and all that is made of it."""
    parameters = {"folders": [folder.name for folder in folders], "model": "" if model is None else model.name}
    report = Report(benchmark="bench_fusion", parameters=parameters)
    measured: list[Case] = []
    plain: list[str] = []
    async with AsyncExitStack() as stack:
        embeddings = [
            Embedding("static", CachedEmbedder(await stack.enter_async_context(open_local_embedder())), vectors)
        ]
        if model is not None:
            transformer = CachedEmbedder(await stack.enter_async_context(open_sentence_transformer(model)))
            embeddings.append(Embedding("transformer", transformer, vectors))
        for folder in folders:
            collection = await read_collection(folder)
            plain += [f"{embedding.name}: {collection.name}" for embedding in embeddings]
            for made in (collection, turns(collection, ASKED, SEED), titles(collection, ASKED, SEED)):
                measured += [] if made is None else await cases(folder.name, made, embeddings)
    report.figures["methods"] = {
        embedding.name: compare(
            [case for case in measured if case.name in plain and case.name.startswith(embedding.name)]
        )
        for embedding in embeddings
    }
    best: dict[str, float] = {}
    report.figures["cases"] = {}
    for case in measured:
        shown = {**ALONE, **{name: METHODS[name] for name in SHOWN}}
        values = {name: case.ndcg(rank) for name, rank in shown.items()}
        best[case.name] = max(values["lexical"], values["vector"])
        report.figures["cases"][case.name] = {name: round(value, 4) for name, value in values.items()}
    hold_out(report, measured, best, plain)
    return report


def compare(known: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Every method at every share over ``known``."""
    ways = {name: (rank, None) for name, rank in ALONE.items()} | {
        f"{name}, share {share:g}": (rank, share) for name, rank in METHODS.items() for share in SHARES
    }
    found = {}
    for name, (rank, share) in ways.items():
        figures = {case.source: round(case.ndcg(rank, share), 4) for case in known}
        found[name] = {**figures, "mean": round(statistics.fmean(figures.values()), 4)}
    return found


def hold_out(report: Report, measured: Sequence[Case], best: dict[str, float], plain: Sequence[str]) -> None:
    """Choose ``lead`` without each collection and all made of it, and say what the choice is worth on these."""
    values = {
        sure: {case.name: case.ndcg(partial(relative, enough=AGREEMENT, sure=sure)) for case in measured}
        for sure in (0.0, *LEADS)
    }
    report.figures["held_out"] = {}
    report.parameters["lead_of_all"] = chosen(measured, values, best, plain)
    unsound: list[float] = []
    sound: list[float] = []
    for source in dict.fromkeys(case.source for case in measured):
        sure = chosen([case for case in measured if case.source != source], values, best, plain)
        for case in measured:
            if case.source == source:
                margin = values[sure][case.name] - best[case.name]
                (unsound if case.degraded else sound).append(margin)
                report.figures["held_out"][case.name] = {
                    "best channel": round(best[case.name], 4),
                    "without": round(values[0.0][case.name] - best[case.name], 4),
                    "held out": round(margin, 4),
                    "lead": sure,
                }
    report.checks.append(Check.of("held_out_margin", min(sound), ">=", -NOISE_OF_JUDGEMENT))
    report.checks.append(Check.of("held_out_margin_degraded", min(unsound), ">=", -NOISE_OF_JUDGEMENT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, help="a folder with a model of sentence-transformers")
    parser.add_argument("--vectors", type=Path, help="a folder to keep vectors in, so that another run embeds nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.folders, arguments.model, arguments.vectors)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
