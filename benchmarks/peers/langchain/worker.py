"""langchain-postgres ``PGVectorStore``: HNSW, a tsvector column with GIN, reciprocal rank fusion, 50 candidates a leg."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from langchain_postgres.v2.indexes import HNSWIndex
from sqlalchemy.ext.asyncio import create_async_engine

from peers.collection import Collection
from peers.worker import DEPTH, HNSW_EF_CONSTRUCTION, HNSW_M, POOL, serve

_TABLE = "documents"
_TSV = "content_tsv"
_BATCH = 100
_DEFAULT_DEPTH = 4
_DEPTHS = {"depth50": DEPTH, "default": _DEFAULT_DEPTH}


def _hybrid(depth: int, query: str = "") -> HybridSearchConfig:
    """A new one for each search: a store's own keeps the text of the first query."""
    return HybridSearchConfig(
        tsv_column=_TSV,
        fts_query=query,
        fusion_function=reciprocal_rank_fusion,
        primary_top_k=depth,
        secondary_top_k=depth,
    )


class _KnownVectors(Embeddings):  # type: ignore[misc]  # its types are not installed here
    """The precomputed embeddings of the queries."""

    def __init__(self, collection: Collection) -> None:
        self._vectors: dict[str, list[float]] = dict(
            zip(collection.queries, collection.query_vectors.tolist(), strict=True)
        )

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    async def aembed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


class LangChain:
    """One table with a column for the label."""

    variants = tuple(_DEPTHS)
    packages = ("langchain-postgres", "langchain-core", "sqlalchemy", "asyncpg")

    def __init__(self) -> None:
        self._collection: Collection
        self._engine: Any
        self._store: Any

    async def open(self, collection: Collection, dsn: str) -> None:
        self._collection = collection
        url = dsn.replace("postgresql://", "postgresql+asyncpg://", 1)
        self._engine = PGEngine.from_engine(create_async_engine(url, pool_size=POOL, max_overflow=0))
        hybrid = _hybrid(DEPTH)
        await self._engine.ainit_vectorstore_table(
            _TABLE, collection.dimension, metadata_columns=[Column("label", "TEXT")], hybrid_search_config=hybrid
        )
        self._store = await PGVectorStore.create(
            self._engine,
            _KnownVectors(collection),
            _TABLE,
            metadata_columns=["label"],
            hybrid_search_config=hybrid,
        )

    async def ingest(self) -> dict[str, float]:
        began = time.perf_counter()
        documents, vectors = self._collection.documents, self._collection.vectors
        starts = iter(range(0, len(documents), _BATCH))

        async def writer() -> None:
            for start in starts:
                batch = documents[start : start + _BATCH]
                await self._store.aadd_embeddings(
                    [document.content for document in batch],
                    vectors[start : start + _BATCH].tolist(),
                    metadatas=[{"label": document.label} for document in batch],
                    ids=[document.id for document in batch],
                )

        await asyncio.gather(*(writer() for _ in range(POOL)))
        await self._store.aapply_vector_index(HNSWIndex(m=HNSW_M, ef_construction=HNSW_EF_CONSTRUCTION))
        await self._store.aapply_hybrid_search_index()
        return {"": time.perf_counter() - began}

    async def search(self, variant: str, query: int, *, k: int, label: str | None) -> list[str]:
        text = self._collection.queries[query]
        found = await self._store.asimilarity_search(
            text,
            k=k,
            filter=None if label is None else {"label": label},
            hybrid_search_config=_hybrid(_DEPTHS[variant], text),
        )
        return [document.id for document in found]

    async def aclose(self) -> None:
        await self._engine.close()


if __name__ == "__main__":
    serve(LangChain())
