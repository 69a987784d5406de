"""txtai ``Embeddings``, hybrid with content: over Postgres (pgvector, full text, content), or over faiss, its BM25 and SQLite.

Either way an index holds one connection, so its searches take turns in one thread. Its hybrid search asks each leg for ten
times the rows wanted.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from txtai import Embeddings

from peers.collection import Collection
from peers.worker import HNSW_EF_CONSTRUCTION, HNSW_M, serve

_PLAIN = "select id, text, score from txtai where similar(:query) limit {k}"
_LABELLED = "select id, text, score from txtai where similar(:query) and label = :label limit {k}"


def _known_vectors(collection: Collection) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The precomputed embeddings of documents and queries by their text."""
    vectors = {
        document.content: vector for document, vector in zip(collection.documents, collection.vectors, strict=True)
    }
    vectors.update(zip(collection.queries, collection.query_vectors, strict=True))

    def transform(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([vectors[text] for text in texts])

    return transform


class Txtai:
    """``postgres`` chooses between the two."""

    variants = ("default",)
    packages = ("txtai", "torch", "faiss-cpu", "sqlalchemy", "psycopg2-binary")

    def __init__(self, *, postgres: bool) -> None:
        self._postgres = postgres
        self._collection: Collection
        self._embeddings: Any
        self._thread = ThreadPoolExecutor(1)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def open(self, collection: Collection, dsn: str) -> None:
        self._collection = collection
        url = dsn.replace("postgresql://", "postgresql+psycopg2://", 1)
        config: dict[str, Any] = {"method": "external", "transform": _known_vectors(collection)}
        if self._postgres:
            config |= {
                "content": url,
                "backend": "pgvector",
                "pgvector": {"url": url, "m": HNSW_M, "efconstruction": HNSW_EF_CONSTRUCTION},
                "scoring": {"method": "pgtext", "url": url},
            }
        else:
            config |= {"content": True, "hybrid": True}
        self._embeddings = await self._call(Embeddings, config)

    def _index(self) -> None:
        rows = (
            (document.id, {"text": document.content, "label": document.label}, None)
            for document in self._collection.documents
        )
        self._embeddings.index(rows)
        with tempfile.TemporaryDirectory(prefix="peers-txtai-") as folder:
            self._embeddings.save(folder)  # commits

    async def ingest(self) -> dict[str, float]:
        began = time.perf_counter()
        await self._call(self._index)
        return {"": time.perf_counter() - began}

    async def search(self, _variant: str, query: int, *, k: int, label: str | None) -> list[str]:
        text = self._collection.queries[query]
        if label is None:
            sql, parameters = _PLAIN.format(k=k), {"query": text}
        else:
            sql, parameters = _LABELLED.format(k=k), {"query": text, "label": label}
        found = await self._call(lambda: self._embeddings.search(sql, k, parameters=parameters))
        return [row["id"] for row in found]

    async def aclose(self) -> None:
        await self._call(self._embeddings.close)


if __name__ == "__main__":
    serve(Txtai(postgres=sys.argv[1] == "postgres"))
