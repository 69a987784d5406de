"""CachedEmbedder: what is kept, what is shared, and who is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from brain_async.adapters.embed import CachedEmbedder
from brain_async.errors import EmbedderError, InvalidInputError
from brain_async.ports.host import QueryEmbedder
from brain_async.ports.store import Vector


class CountingEmbedder:
    """Embeds a text as its length, after ``release`` is set; fails while ``failing``."""

    dimension = 2
    model = "counting"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.cancelled = 0
        self.failing = False
        self.release = anyio.Event()
        self.release.set()

    async def embed(self, text: str) -> Vector:
        self.calls.append(text)
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failing:
            raise EmbedderError("down")
        return np.array([len(text), 1], np.float32)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.extend(texts)
        return np.array([[len(text), 1] for text in texts], np.float32)


@pytest.fixture
def inner() -> CountingEmbedder:
    return CountingEmbedder()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_repeated_query_is_embedded_once(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner)
    first = await cached.embed("abc")
    assert first.tolist() == [3, 1]
    assert await cached.embed("abc") is first
    assert inner.calls == ["abc"]
    assert isinstance(cached, QueryEmbedder)
    assert (cached.dimension, cached.model) == (2, "counting")


async def test_shared_vectors_cannot_be_written(inner: CountingEmbedder) -> None:
    vector = await CachedEmbedder(inner).embed("abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 9


async def test_the_longest_unused_query_goes_first(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, capacity=2)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        await cached.embed(text)
    assert inner.calls == ["a", "bb", "ccc", "bb"]


async def test_identical_concurrent_queries_are_one(inner: CountingEmbedder) -> None:
    inner.release = anyio.Event()
    cached = CachedEmbedder(inner)
    tasks = [asyncio.create_task(cached.embed("abc")) for _ in range(10)]
    other = asyncio.create_task(cached.embed("other"))
    await settle()
    inner.release.set()
    vectors = await asyncio.gather(*tasks)
    assert all(vector is vectors[0] for vector in vectors)
    assert (await other).tolist() == [5, 1]
    assert sorted(inner.calls) == ["abc", "other"]


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_a_cancelled_caller_leaves_the_others(inner: CountingEmbedder, cancelled: int) -> None:
    inner.release = anyio.Event()
    cached = CachedEmbedder(inner)
    tasks = [asyncio.create_task(cached.embed("abc")) for _ in range(3)]
    await settle()
    tasks[cancelled].cancel()
    await settle()
    inner.release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [i == cancelled for i in range(3)]
    assert inner.calls == ["abc"]
    assert inner.cancelled == 0


async def test_a_deadline_of_the_first_caller_is_its_own(inner: CountingEmbedder) -> None:
    inner.release = anyio.Event()
    cached = CachedEmbedder(inner)

    async def hurried() -> None:
        with anyio.move_on_after(0.01) as scope:
            await cached.embed("abc")
        assert scope.cancelled_caught

    first = asyncio.create_task(hurried())
    await settle()
    second = asyncio.create_task(cached.embed("abc"))
    await first
    inner.release.set()
    assert (await second).tolist() == [3, 1]


async def test_the_last_cancelled_caller_ends_the_embedding(inner: CountingEmbedder) -> None:
    inner.release = anyio.Event()
    cached = CachedEmbedder(inner)
    tasks = [asyncio.create_task(cached.embed("abc")) for _ in range(2)]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    newcomer = asyncio.create_task(cached.embed("abc"))  # must not join the embedding that is being cancelled
    await settle()
    assert inner.cancelled == 1
    inner.release.set()
    assert (await newcomer).tolist() == [3, 1]


async def test_an_error_reaches_every_caller_and_is_not_kept(inner: CountingEmbedder) -> None:
    inner.release = anyio.Event()
    inner.failing = True
    cached = CachedEmbedder(inner)
    tasks = [asyncio.create_task(cached.embed("abc")) for _ in range(3)]
    await settle()
    inner.release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, EmbedderError) for result in results)
    assert inner.calls == ["abc"]
    inner.failing = False
    assert (await cached.embed("abc")).tolist() == [3, 1]


async def test_documents_pass_through(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner)
    assert (await cached.embed_many(["a", "bb"])).tolist() == [[1, 1], [2, 1]]
    await cached.embed("a")
    assert inner.calls == ["a", "bb", "a"]


def test_capacity_must_be_positive(inner: CountingEmbedder) -> None:
    with pytest.raises(InvalidInputError) as caught:
        CachedEmbedder(inner, capacity=0)
    assert caught.value.field == "capacity"


async def test_it_suggests_what_the_inner_embedder_does(inner: CountingEmbedder) -> None:
    class Suggesting(CountingEmbedder):
        dense_share = 0.45

    assert CachedEmbedder(Suggesting()).dense_share == 0.45
    assert CachedEmbedder(inner).dense_share == 0.2, "the default weights'"
