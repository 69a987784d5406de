"""``Engine.search`` over a PostgresStore: one parent and one part a document, loaded by ``bulk_load``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, EngineConfig, Object, Scope, SearchContext, SearchRequest
from brain_async.adapters.embed import LocalEmbedder
from brain_async.adapters.postgres import LexicalChoice, PostgresStore, open_postgres
from peers.collection import Collection
from peers.worker import DEPTH, POOL, serve

_SCOPE = Scope(UUID(int=1))
_MOMENT = datetime(2025, 1, 1, tzinfo=UTC)
_BATCH = 1_000
_CONFIGS: dict[str, dict[str, Any]] = {
    "depth50": {"candidate_k": DEPTH},
    "fused": {"candidate_k": DEPTH, "store_channels": "fused"},
    "default": {},
}


class _KnownVectors:
    """The precomputed embeddings of the queries; what the engine makes of a query itself (a respelling) is embedded here."""

    model = "precomputed"

    def __init__(self, collection: Collection, other: LocalEmbedder) -> None:
        self.dimension = collection.dimension
        self._vectors = dict(zip(collection.queries, collection.query_vectors, strict=True))
        self._other = other

    async def embed(self, text: str) -> NDArray[np.float32]:
        known = self._vectors.get(text)
        return known if known is not None else await self._other.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([await self.embed(text) for text in texts])


class Ours:
    """The engine as it is configured by default and at the peers' candidate depth, its channels apart or in one statement."""

    packages = ("brain-async", "asyncpg", "numpy")

    def __init__(self, lexical: str) -> None:
        self._lexical = msgspec.convert(lexical, LexicalChoice)
        known = EngineConfig.__struct_fields__
        self.variants = [name for name, config in _CONFIGS.items() if all(key in known for key in config)]
        self._stack = AsyncExitStack()
        self._collection: Collection
        self._store: PostgresStore
        self._engines: dict[str, Engine] = {}

    async def open(self, collection: Collection, dsn: str) -> None:
        self._collection = collection
        self._store = await self._stack.enter_async_context(
            open_postgres(dsn, dimension=collection.dimension, lexical=self._lexical, pool_size=POOL)
        )
        embedder = _KnownVectors(collection, await LocalEmbedder.load())
        self._engines = {
            name: Engine(self._store, embedder=embedder, config=msgspec.convert(_CONFIGS[name], EngineConfig))
            for name in self.variants
        }

    def _objects(self) -> Iterator[list[Object]]:
        documents, vectors = self._collection.documents, self._collection.vectors
        for start in range(0, len(documents), _BATCH):
            batch = []
            for place in range(start, min(start + _BATCH, len(documents))):
                document = documents[place]
                parent = UUID(document.id)
                common: dict[str, Any] = {
                    "title": document.title,
                    "namespace_id": _SCOPE.namespace_id,
                    "created_at": _MOMENT,
                    "updated_at": _MOMENT,
                }
                batch.append(Object(id=parent, kind="document", **common))
                batch.append(
                    Object(
                        id=uuid5(parent, "text"),
                        kind="text",
                        content=document.text,
                        parent_id=parent,
                        properties={"label": document.label},
                        embedding=tuple(vectors[place].tolist()),
                        embedding_model=_KnownVectors.model,
                        **common,
                    )
                )
            yield batch

    async def ingest(self) -> dict[str, float]:
        began = time.perf_counter()
        loaded = await self._store.bulk_load(self._objects())
        if loaded.refused:
            raise loaded.refused[0][1]
        return {"": time.perf_counter() - began}

    async def search(self, variant: str, query: int, *, k: int, label: str | None) -> list[str]:
        request = SearchRequest(
            query=self._collection.queries[query], limit=k, filters={} if label is None else {"label": label}
        )
        page = await self._engines[variant].search(_SCOPE, request, SearchContext(_SCOPE.namespace_id))
        if page.degraded:
            raise RuntimeError(f"a channel was lost: {page.degraded}")
        return [str(hit.id) for hit in page.objects]

    async def aclose(self) -> None:
        await self._stack.aclose()


if __name__ == "__main__":
    serve(Ours(sys.argv[1]))
