"""LlamaIndex ``PGVectorStore``: HNSW and a tsvector column with GIN, in mode HYBRID.

That mode appends the lexical leg's rows to the vector leg's and ranks them by nothing; the first ``k`` are its page.
``fusion`` is what the library has for fusing: ``QueryFusionRetriever`` by reciprocal ranks over a retriever for each leg.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.vector_stores.postgres import PGVectorStore
from pydantic import PrivateAttr

from peers.collection import Collection
from peers.worker import DEPTH, HNSW_EF_CONSTRUCTION, HNSW_EF_SEARCH, HNSW_M, POOL, serve

_BATCH = 250
_DEFAULT_DEPTH = 10
_FUSION = "fusion"
_DEPTHS = {"depth50": DEPTH, "depth10": _DEFAULT_DEPTH}


class _KnownVectors(BaseEmbedding):  # type: ignore[misc]  # its types are not installed here
    """The precomputed embeddings of the queries."""

    _vectors: dict[str, list[float]] = PrivateAttr(default_factory=dict)

    def know(self, collection: Collection) -> None:
        """Take over those of ``collection``."""
        self._vectors = dict(zip(collection.queries, collection.query_vectors.tolist(), strict=True))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vectors[query]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vectors[query]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vectors[text]


class LlamaIndex:
    """One table, its label in the JSON metadata with the index the library offers for it."""

    variants = (*_DEPTHS, _FUSION)
    packages = ("llama-index-vector-stores-postgres", "llama-index-core", "sqlalchemy", "asyncpg")

    def __init__(self) -> None:
        self._collection: Collection
        self._dsn = ""
        self._store: Any
        self._index: Any

    async def open(self, collection: Collection, dsn: str) -> None:
        self._collection = collection
        self._dsn = dsn
        self._store = self._table(hnsw=False)

    def _table(self, *, hnsw: bool) -> Any:
        """The store; the vector index is built by the first use of one that asks for it."""
        kwargs = {
            "hnsw_m": HNSW_M,
            "hnsw_ef_construction": HNSW_EF_CONSTRUCTION,
            "hnsw_ef_search": HNSW_EF_SEARCH,
            "hnsw_dist_method": "vector_cosine_ops",
        }
        return PGVectorStore(
            connection_string=self._dsn.replace("postgresql://", "postgresql+psycopg2://", 1),
            async_connection_string=self._dsn.replace("postgresql://", "postgresql+asyncpg://", 1),
            table_name="documents",
            hybrid_search=True,
            embed_dim=self._collection.dimension,
            hnsw_kwargs=kwargs if hnsw else None,
            indexed_metadata_keys={("label", "text")},
            initialization_fail_on_error=True,
            create_engine_kwargs={"pool_size": POOL, "max_overflow": 0},
        )

    async def ingest(self) -> dict[str, float]:
        began = time.perf_counter()
        documents, vectors = self._collection.documents, self._collection.vectors
        starts = iter(range(0, len(documents), _BATCH))

        async def writer() -> None:
            for start in starts:
                rows = zip(documents[start : start + _BATCH], vectors[start : start + _BATCH].tolist(), strict=True)
                await self._store.async_add(
                    [
                        TextNode(id_=row.id, text=row.content, metadata={"label": row.label}, embedding=vector)
                        for row, vector in rows
                    ]
                )

        await asyncio.gather(*(writer() for _ in range(POOL)))
        await self._store.close()
        self._store = self._table(hnsw=True)
        embedding = _KnownVectors()
        embedding.know(self._collection)
        self._index = VectorStoreIndex.from_vector_store(self._store, embed_model=embedding)
        await self.search(self.variants[0], 0, k=1, label=None)
        return {"": time.perf_counter() - began}

    async def search(self, variant: str, query: int, *, k: int, label: str | None) -> list[str]:
        filters = None if label is None else MetadataFilters(filters=[MetadataFilter(key="label", value=label)])
        if variant == _FUSION:
            return await self._fused(self._collection.queries[query], k, filters)
        depth = _DEPTHS[variant]
        found = await self._store.aquery(
            VectorStoreQuery(
                query_str=self._collection.queries[query],
                query_embedding=self._collection.query_vectors[query].tolist(),
                similarity_top_k=depth,
                sparse_top_k=depth,
                mode=VectorStoreQueryMode.HYBRID,
                filters=filters,
            )
        )
        ids: list[str] = found.ids[:k]
        return ids

    async def _fused(self, text: str, k: int, filters: Any) -> list[str]:
        legs = [
            self._index.as_retriever(
                vector_store_query_mode=mode, similarity_top_k=DEPTH, sparse_top_k=DEPTH, filters=filters
            )
            for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.SPARSE)
        ]
        retriever = QueryFusionRetriever(
            legs, similarity_top_k=k, num_queries=1, mode="reciprocal_rerank", llm=MockLLM()
        )
        return [found.node.node_id for found in await retriever.aretrieve(text)]

    async def aclose(self) -> None:
        await self._store.close()


if __name__ == "__main__":
    serve(LlamaIndex())
