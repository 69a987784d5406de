"""What local embedders cost, and what they are worth: ``python benchmarks/bench_embedders.py FOLDER... [--model PATH]``

Each folder is a test collection in the BEIR layout, as for ``bench_quality.py``. The static embedder is measured, and with
``--model`` a model of sentence-transformers beside it: nDCG@10 of its vectors alone and fused with BM25 by the weights that
the docs recommend for its sort, seconds to load, milliseconds a query, documents a second of one process and of its
processors, bytes on disk. ``--cross-encoder PATH`` adds what scoring one passage with such a model costs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import time
from pathlib import Path
from uuid import UUID, uuid4, uuid5

import ir_measures
import msgspec
from ir_measures import nDCG

from brain_async import Engine, EngineConfig, FusionWeights, Object, RichObject
from brain_async.adapters.embed import LocalEmbedder, SentenceTransformerEmbedder
from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.rerank import CrossEncoderReranker
from brain_async.config import ChannelName
from brain_async.evaluation import read_collection
from brain_async.ports.host import QueryEmbedder
from report import Report, percentile

SPACE = UUID(int=11)
NDCG = nDCG @ 10
STATIC, TRANSFORMER = FusionWeights(), FusionWeights(lexical=0.6, vector=0.4)
SYSTEMS: dict[str, tuple[ChannelName, ...] | None] = {"lexical": ("lexical",), "vector": ("vector",), "whole": None}


def folder_bytes(path: Path) -> int:
    """Of all files below ``path``."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


async def measure(
    folder: Path, embedder: QueryEmbedder, weights: FusionWeights
) -> tuple[dict[str, float], list[float], float, float]:
    """(nDCG@10 of each system, seconds of each query, seconds and processor seconds a document) on one collection."""
    collection = await read_collection(folder)
    documents, queries = msgspec.to_builtins(collection.documents), msgspec.to_builtins(collection.queries)
    qrels = [
        ir_measures.Qrel(query, document, grade)
        for query, graded in collection.grades.items()
        for document, grade in graded.items()
    ]
    ids = {uuid5(SPACE, document["id"]): document["id"] for document in documents}
    texts = ["\n".join(part for part in (each["title"], each["text"]) if part) for each in documents]
    began, busy = time.perf_counter(), time.process_time()
    vectors = await embedder.embed_many(texts)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy

    store = MemoryStore()
    engine = Engine(store, config=EngineConfig(weights=weights))
    objects = []
    for document, vector in zip(documents, vectors.tolist(), strict=True):
        parent, title = uuid5(SPACE, document["id"]), document["title"]
        part = Object(id=uuid5(parent, "text"), kind="text", title=title, content=document["text"], parent_id=parent)
        objects += [
            Object(id=parent, kind="document", title=title),
            msgspec.structs.replace(part, embedding=tuple(vector)),
        ]
    await engine.session(SPACE).put_many(objects)
    session = Engine(store, embedder=embedder, config=EngineConfig(weights=weights)).session(SPACE)
    waits, figures = [], {}
    for query in queries:
        began = time.perf_counter()
        await embedder.embed(query["text"])
        waits.append(time.perf_counter() - began)
    for name, channels in SYSTEMS.items():
        run = []
        for query in queries:
            page = await session.search(query["text"], channels=channels)
            scored = enumerate(page.objects)
            run += [ir_measures.ScoredDoc(query["id"], ids[hit.id], -float(rank)) for rank, hit in scored]
        figures[name] = round(ir_measures.calc_aggregate([NDCG], qrels, run)[NDCG], 4)
    return figures, waits, seconds / len(texts), processor / len(texts)


async def profile(
    folders: list[Path], embedder: QueryEmbedder, weights: FusionWeights, *, load_seconds: float, bytes_on_disk: int
) -> dict[str, object]:
    """All figures of one embedder."""
    figures: dict[str, object] = {
        "model": embedder.model,
        "dimension": embedder.dimension,
        "megabytes_on_disk": round(bytes_on_disk / 1e6, 1),
        "load_seconds": round(load_seconds, 2),
    }
    measured = {folder.name: await measure(folder, embedder, weights) for folder in folders}
    waits = [wait for _, each, _, _ in measured.values() for wait in each]
    count = len(measured)
    figures["query_ms_p50"] = round(percentile(waits, 0.5), 3)
    figures["query_ms_p95"] = round(percentile(waits, 0.95), 3)
    figures["documents_per_second"] = round(count / sum(wall for _, _, wall, _ in measured.values()), 1)
    figures["documents_per_processor_second"] = round(count / sum(busy for _, _, _, busy in measured.values()), 1)
    figures["ndcg10"] = {name: found for name, (found, _, _, _) in measured.items()}
    figures["mean_ndcg10"] = {
        system: round(sum(found[system] for found, _, _, _ in measured.values()) / count, 4) for system in SYSTEMS
    }
    return figures


async def cross_encoder(path: Path, folder: Path) -> dict[str, float]:
    """Milliseconds to score one passage of the collection for one query."""
    collection = await read_collection(folder)
    passages = collection.documents[:50]
    objects = [RichObject(id=uuid4(), kind="text", title=f"{each.title}\n{each.text}") for each in passages]
    reranker = CrossEncoderReranker(path)
    began = time.perf_counter()
    await reranker.load()
    loaded = time.perf_counter() - began
    waits = []
    for query in collection.queries[:10]:
        began = time.perf_counter()
        await reranker.rerank(query.text, objects)
        waits.append((time.perf_counter() - began) / len(objects))
    return {"load_seconds": round(loaded, 2), "passage_ms_p50": round(percentile(waits, 0.5), 2)}


async def run(folders: list[Path], model: Path | None, encoder: Path | None) -> Report:
    """Measure what is asked for."""
    report = Report(benchmark="bench_embedders", parameters={"folders": [folder.name for folder in folders]})
    began = time.perf_counter()
    static = await LocalEmbedder.load()
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    size = folder_bytes(Path(spec.origin).parent)
    loaded = time.perf_counter() - began
    report.figures["static"] = await profile(folders, static, STATIC, load_seconds=loaded, bytes_on_disk=size)
    if model is not None:
        began = time.perf_counter()
        transformer = SentenceTransformerEmbedder(model)
        await transformer.load()
        loaded = time.perf_counter() - began
        report.figures["sentence_transformers"] = await profile(
            folders, transformer, TRANSFORMER, load_seconds=loaded, bytes_on_disk=folder_bytes(model)
        )
    if encoder is not None:
        report.figures["cross_encoder"] = await cross_encoder(encoder, folders[0])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, help="folder of a SentenceTransformer")
    parser.add_argument("--cross-encoder", type=Path, help="folder of a CrossEncoder with one label")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    arguments = parser.parse_args()
    report = asyncio.run(run(arguments.folders, arguments.model, arguments.cross_encoder))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()
