"""Judged collections, for the quality of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

import ir_measures

from brain_async.adapters.embed import LocalEmbedder
from brain_async.evaluation import read_collection
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
    found = await read_collection(folder)
    numbers = {query.id: str(number) for number, query in enumerate(found.queries)}
    ids = {document.id: str(uuid5(_SPACE, f"{folder.name} {document.id}")) for document in found.documents}
    documents = tuple(
        Document(id=ids[document.id], title=document.title, text=document.text, label="other")
        for document in found.documents
    )
    texts = tuple(query.text for query in found.queries)
    return Judged(
        name=folder.name,
        collection=Collection(
            documents=documents,
            vectors=await embedder.embed_many([document.content for document in documents]),
            queries=texts,
            query_vectors=await embedder.embed_many(texts),
        ),
        qrels=tuple(
            ir_measures.Qrel(numbers[query], ids[document], grade)
            for query, graded in found.grades.items()
            for document, grade in graded.items()
            if query in numbers and document in ids
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
