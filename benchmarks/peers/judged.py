"""Judged collections, for the quality of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

import ir_measures

from bench_quality import judgements, lines
from brain_async.adapters.embed import LocalEmbedder
from peers.collection import Collection, Document

__all__ = ["Judged", "judged", "ndcg10"]

_SPACE = UUID(int=12)
_NDCG = ir_measures.nDCG @ 10


@dataclass(frozen=True)
class Judged:
    """A test collection; judgements name queries by their number and documents by their id."""

    name: str
    collection: Collection
    qrels: tuple[ir_measures.Qrel, ...]


async def judged(folder: Path, embedder: LocalEmbedder) -> Judged:
    """A folder in the BEIR layout, with its queries that have a relevant document, embedded by ``embedder``."""
    corpus, qrels = lines(folder / "corpus.jsonl"), judgements(folder / "qrels.tsv")
    relevant = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
    queries = [query for query in lines(folder / "queries.jsonl") if query["id"] in relevant]
    numbers = {query["id"]: str(number) for number, query in enumerate(queries)}
    ids = {row["id"]: str(uuid5(_SPACE, f"{folder.name} {row['id']}")) for row in corpus}
    documents = tuple(
        Document(id=ids[row["id"]], title=row["title"].strip(), text=row["text"].strip(), label="other")
        for row in corpus
    )
    texts = tuple(query["text"].strip() for query in queries)
    return Judged(
        name=folder.name,
        collection=Collection(
            documents=documents,
            vectors=await embedder.embed_many([document.content for document in documents]),
            queries=texts,
            query_vectors=await embedder.embed_many(texts),
        ),
        qrels=tuple(
            ir_measures.Qrel(numbers[qrel.query_id], ids[qrel.doc_id], qrel.relevance)
            for qrel in qrels
            if qrel.query_id in numbers and qrel.doc_id in ids
        ),
    )


def ndcg10(qrels: tuple[ir_measures.Qrel, ...], pages: list[list[str]]) -> float:
    """Mean nDCG@10 of ``pages``, one a query in the order of their numbers."""
    run = [
        ir_measures.ScoredDoc(str(number), document, -float(rank))
        for number, page in enumerate(pages)
        for rank, document in enumerate(page)
    ]
    return float(ir_measures.calc_aggregate([_NDCG], qrels, run)[_NDCG])
