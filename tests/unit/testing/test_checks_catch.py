"""The checks pass on what is right and fail on what is wrong: each broken subject breaks one promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4
from zlib import crc32

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.model.candidate import Candidate
from brain_async.model.filters import Filters
from brain_async.model.health import BackendHealth
from brain_async.model.object import Object
from brain_async.model.relation import Direction, Neighbor
from brain_async.model.results import ChannelOutcome, DegradeMode, RichObject
from brain_async.model.scope import Scope
from brain_async.ports.host import OperationEnd, OperationStart
from brain_async.ports.store import Vector
from brain_async.ports.vocabulary import VocabularyWord
from brain_async.spelling import edit_distance
from brain_async.testing import (
    EMBEDDER_CHECKS,
    GRAPH_CHECKS,
    GRAPH_WALK_CHECKS,
    HEALTH_CHECKS,
    RERANKER_CHECKS,
    SEARCH_CHECKS,
    STORE_CHECKS,
    VOCABULARY_CHECKS,
    CheckingObserver,
    make_parts,
)


async def failures(checks: Sequence[object], make_subject: type) -> set[str]:
    failed = set()
    for check in checks:
        try:
            await check(make_subject())
        except Exception:
            failed.add(check.__name__)
    return failed


class HashingEmbedder:
    """Words hashed into a bag of 16 counts."""

    dimension = 16
    model = "hashing"

    async def embed(self, text: str) -> Vector:
        vector = np.zeros(self.dimension, np.float32)
        for word in text.split():
            vector[crc32(word.encode()) % self.dimension] += 1
        return vector

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = [await self.embed(text) for text in texts]
        return np.array(vectors, np.float32).reshape(len(texts), self.dimension)


class WrongType(HashingEmbedder):
    async def embed(self, text: str) -> Vector:
        return (await super().embed(text)).astype(np.float64)


class WrongOrder(HashingEmbedder):
    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await super().embed_many(sorted(texts))


async def test_embedder_checks() -> None:
    assert await failures(EMBEDDER_CHECKS, HashingEmbedder) == set()
    assert "check_embed_shape" in await failures(EMBEDDER_CHECKS, WrongType)
    assert "check_embed_many_keeps_order" in await failures(EMBEDDER_CHECKS, WrongOrder)


class Reversing:
    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        return objects[::-1]


class Rewriting:
    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        return [msgspec.structs.replace(obj, title="better") for obj in objects]


async def test_reranker_checks() -> None:
    assert await failures(RERANKER_CHECKS, Reversing) == set()
    assert await failures(RERANKER_CHECKS, Rewriting) == {"check_rerank_returns_a_selection"}


class LeakyStore(MemoryStore):
    """Searches without the namespace."""

    async def search_lexical(self, scope: Scope, query: str, filters: Filters, *, k: int) -> Sequence[Candidate]:
        return await super().search_lexical(Scope(), query, filters, k=k)


class LateFilterStore(MemoryStore):
    """Filters after the cut."""

    async def search_vector(self, scope: Scope, vector: Vector, filters: Filters, *, k: int) -> Sequence[Candidate]:
        hits = await super().search_vector(scope, vector, Filters(), k=k)
        allowed = {hit.id for hit in await super().search_vector(scope, vector, filters, k=10**6)}
        return [hit for hit in hits if hit.id in allowed]


class GreedyStore(MemoryStore):
    """Writes under whatever namespace the object names."""

    async def put_objects(self, scope: Scope, objects: Sequence[Object]) -> Sequence[object]:
        return await super().put_objects(Scope(), objects)


async def test_store_checks() -> None:
    assert "check_other_namespaces_are_never_seen" in await failures(SEARCH_CHECKS, LeakyStore)
    assert "check_selective_filters_still_fill_k" in await failures(SEARCH_CHECKS, LateFilterStore)
    assert await failures(STORE_CHECKS, GreedyStore) == {"check_put_refusals_leave_neighbours_stored"}


class ForgetfulGraph(MemoryGraph):
    """Loses the edges of a node that is written again."""

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        await self.remove_objects(scope, [obj.key for obj in objects])
        await super().ensure_objects(scope, objects)


async def test_graph_checks() -> None:
    assert await failures(GRAPH_CHECKS, ForgetfulGraph) == {"check_ensure_replaces_a_node"}


class WalkingGraph(MemoryGraph):
    """Two hops at once, as two hops one after the other."""

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        near = await self.neighbors(scope, frontier, relation_types, direction=direction, limit=limit)
        onward = [neighbor.object_id for neighbors in near.values() for neighbor in neighbors]
        return {**near, **await self.neighbors(scope, onward, relation_types, direction=direction, limit=limit)}


class StrayingGraph(WalkingGraph):
    """Goes on from every node both ways, whatever it was asked."""

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        found = await super().neighborhoods(scope, frontier, relation_types, direction="both", limit=limit)
        return {**found, **await self.neighbors(scope, frontier, relation_types, direction=direction, limit=limit)}


class ShortGraph(WalkingGraph):
    """Reads only so many edges of all nodes together."""

    async def neighborhoods(
        self, scope: Scope, frontier: Sequence[UUID], relation_types: Sequence[str], *, direction: Direction, limit: int
    ) -> Mapping[UUID, Sequence[Neighbor]]:
        found = await super().neighborhoods(scope, frontier, relation_types, direction=direction, limit=limit)
        left, cut = 100, {}
        for node, neighbors in found.items():
            cut[node] = neighbors[:left]
            left -= len(cut[node])
        return cut


async def test_graph_walk_checks() -> None:
    assert await failures(GRAPH_WALK_CHECKS, WalkingGraph) == set()
    assert await failures(GRAPH_WALK_CHECKS, StrayingGraph) == {"check_two_hops_at_once"}
    assert "check_a_hub_beside_the_frontier" in await failures(GRAPH_WALK_CHECKS, ShortGraph)


def ended(span: int) -> OperationEnd:
    return OperationEnd(
        span=span, operation="search", items=1, seconds=0.1, degrade_mode=DegradeMode.NONE, degraded=(), error=None
    )


async def test_checking_observer() -> None:
    observer = CheckingObserver()
    await observer.operation_started(OperationStart(span=1, operation="search"))
    await observer.channel_ended(1, ChannelOutcome(channel="lexical", status="ok", hits=3))
    assert observer.open_spans == {1}
    await observer.operation_ended(ended(1))
    assert (observer.violations, observer.open_spans) == ([], frozenset())
    await observer.channel_ended(1, ChannelOutcome(channel="vector", status="ok", seconds=-1.0))
    await observer.operation_ended(ended(1))
    await observer.operation_started(OperationStart(span=1, operation="search"))
    assert len(observer.violations) == 4


@pytest.mark.parametrize("dimension", [None, 8])
def test_the_corpus_is_the_same_for_a_seed(dimension: int | None) -> None:
    namespace_id = uuid4()
    one, two, other = (
        list(make_parts(25, seed=seed, namespace_id=namespace_id, dimension=dimension)) for seed in (1, 1, 2)
    )
    assert one == two
    assert {obj.id for obj in one}.isdisjoint(obj.id for obj in other)
    assert [sum(obj.is_part for obj in one), len(one)] == [25, 28]
    assert all((obj.embedding is None) == (dimension is None) for obj in one if obj.is_part)


class NeverWell(MemoryStore):
    """Says that it is down, and for how long it was asked."""

    async def health(self) -> BackendHealth:
        return BackendHealth(up=False, seconds=1.0)


async def test_a_backend_that_is_well_and_says_it_is_not_is_caught() -> None:
    assert await failures(HEALTH_CHECKS, NeverWell) == {
        "check_health_of_a_backend_that_is_well",
        "check_health_given_up_leaves_no_trace",
    }
    assert await failures(HEALTH_CHECKS, MemoryStore) == set()


class EveryonesWords(MemoryStore):
    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        return await super().near_words(Scope(), words)


class WordsForEver(MemoryStore):
    async def soft_delete(self, scope: Scope, object_id: UUID, *, at: datetime) -> None:
        """Deletes nothing."""


class OneEdit(MemoryStore):
    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        near = await super().near_words(scope, words)
        return {
            word: [each for each in found if edit_distance(word, each.word, 1) == 1] for word, found in near.items()
        }


async def test_vocabulary_checks() -> None:
    assert await failures(VOCABULARY_CHECKS, MemoryStore) == set()
    assert "check_namespaces_have_their_own_words" in await failures(VOCABULARY_CHECKS, EveryonesWords)
    assert await failures(VOCABULARY_CHECKS, WordsForEver) == {"check_words_of_deleted_parts_are_gone"}
    assert await failures(VOCABULARY_CHECKS, OneEdit) == {"check_distance_of_candidates"}
