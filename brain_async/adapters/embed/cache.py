"""A cache of query embeddings in front of any embedder."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brain_async.config import FusionWeights
from brain_async.errors import InvalidInputError
from brain_async.model.health import BackendHealth
from brain_async.ports.health import HealthProbe
from brain_async.ports.host import QueryEmbedder, SuggestsDenseShare
from brain_async.ports.store import Vector

__all__ = ["CachedEmbedder"]


class _Flight:
    """One running embedding and the number of callers that wait for it."""

    def __init__(self, task: asyncio.Task[Vector]) -> None:
        self.task = task
        self.waiters = 0


class CachedEmbedder:
    """Keeps the last ``capacity`` query embeddings, and embeds identical concurrent queries once.

    A cancelled caller leaves the others undisturbed; when the last one is cancelled, so is the embedding. An error goes
    to all who waited for it and is not kept. Documents pass through: each is embedded once and would only push queries
    out. The vectors are read-only, as callers share them. Raises what ``inner`` raises, and InvalidInputError for a
    capacity below 1. Use it in one event loop.
    """

    def __init__(self, inner: QueryEmbedder, *, capacity: int = 4096) -> None:
        if capacity < 1:
            raise InvalidInputError(f"capacity must be at least 1, not {capacity}", field="capacity")
        self._inner = inner
        self._capacity = capacity
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._flights: dict[str, _Flight] = {}

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._inner.dimension

    @property
    def model(self) -> str:
        """The inner embedder's model."""
        return self._inner.model

    @property
    def dense_share(self) -> float:
        """As the inner embedder's, if it can say, else the default weights'."""
        return self._inner.dense_share if isinstance(self._inner, SuggestsDenseShare) else FusionWeights().vector

    async def health(self) -> BackendHealth | None:
        """As the inner embedder's, if it can say."""
        return await self._inner.health() if isinstance(self._inner, HealthProbe) else None

    async def embed(self, text: str) -> Vector:
        """One query, shape (dim,), float32, read-only."""
        vector = self._vectors.get(text)
        if vector is not None:
            self._vectors.move_to_end(text)
            return vector
        flight = self._flights.get(text)
        if flight is None:
            # A task of its own, for it must outlive the caller that happened to come first.
            flight = self._flights[text] = _Flight(asyncio.create_task(self._embed(text)))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if flight.waiters == 0:
                if self._flights.get(text) is flight:
                    del self._flights[text]
                flight.task.cancel()

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Documents, shape (len(texts), dim), float32, in order; not cached."""
        return await self._inner.embed_many(texts)

    async def _embed(self, text: str) -> Vector:
        vector = np.array(await self._inner.embed(text), dtype=np.float32)
        vector.setflags(write=False)
        self._vectors[text] = vector
        if len(self._vectors) > self._capacity:
            self._vectors.popitem(last=False)
        return vector
