"""A whole evaluation, on an engine in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from brain_async import Engine, EngineConfig, FusionWeights, Scope
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.errors import InvalidInputError
from brain_async.evaluation import (
    Collection,
    Document,
    Query,
    evaluate,
    evaluated_systems,
    ingest_collection,
    tune_weights,
)
from brain_async.evaluation.tune import halves

ANIMALS = ("cat", "dog", "owl", "fox", "bee", "ant")


class OppositeEmbedder:
    """Sees the next animal in each text: its channel is always wrong, and right where the words are those of the next."""

    dimension = len(ANIMALS)
    model = "opposite"

    async def embed(self, text: str) -> NDArray[np.float32]:
        return self._vector(text, shift=1)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text, shift=0) for text in texts])

    def _vector(self, text: str, *, shift: int) -> NDArray[np.float32]:
        vector = np.full(len(ANIMALS), 0.01, np.float32)
        for index, animal in enumerate(ANIMALS):
            if animal in text:
                vector[(index + shift) % len(ANIMALS)] = 1.0
        return vector


DOCUMENTS = tuple(Document(f"d-{animal}", animal, f"The {animal}. It is here.") for animal in ANIMALS)
QUERIES = tuple(Query(f"q-{animal}", f"where is the {animal}") for animal in ANIMALS)
COLLECTION = Collection("animals", DOCUMENTS, QUERIES, {f"q-{name}": {f"d-{name}": 1} for name in ANIMALS}, "digest")
CONFIG = EngineConfig(search_channels=("lexical", "vector"))
WEIGHTS = FusionWeights(lexical=0.2, vector=0.8)


class Filled:
    """An engine in memory with the collection in it."""

    def __init__(self) -> None:
        self.store, self.graph, self.embedder = MemoryStore(), MemoryGraph(), OppositeEmbedder()

    def open_with(self, config: EngineConfig) -> Engine:
        return Engine(self.store, graph=self.graph, embedder=self.embedder, config=config)

    async def ingest(self, settings: str = "") -> tuple[Scope, dict[object, str], bool]:
        engine = self.open_with(EngineConfig())
        return await ingest_collection(engine, COLLECTION, split=lambda text: text.split(". "), settings=settings)


async def test_a_document_is_one_parent_with_its_passages_as_parts() -> None:
    filled = Filled()
    scope, parents, reused = await filled.ingest()
    assert not reused
    assert set(parents.values()) == {document.id for document in DOCUMENTS}
    cat = next(key for key, document in parents.items() if document == "d-cat")
    engine = filled.open_with(CONFIG)
    assert (await engine.read(scope, cat)).title == "cat"
    parts = await engine.list_children(scope, cat)
    assert [(part.position, part.title) for part in parts] == [(0, "cat"), (1, "cat")]


async def test_what_is_there_is_reused_and_other_settings_are_not() -> None:
    filled = Filled()
    scope, parents, _ = await filled.ingest()
    assert await filled.ingest() == (scope, parents, True)
    other, _, reused = await filled.ingest("shorter parts")
    assert (other != scope, reused) == (True, False)


async def test_every_system_is_measured_and_held_against_bm25() -> None:
    filled = Filled()
    scope, parents, _ = await filled.ingest()
    begun: list[str] = []
    told: list[tuple[int, int]] = []

    def begin(what: str) -> object:
        begun.append(what)
        return lambda done, total: told.append((done, total))

    found = await evaluate(
        filled.open_with, scope, COLLECTION, parents, evaluated_systems(CONFIG, WEIGHTS), begin=begin
    )
    by_name = {system.name: system for system in found.systems}
    assert (found.collection, found.documents, found.queries) == ("animals", 6, 6)
    assert by_name["lexical"].measures == {"nDCG@10": 1.0, "R@10": 1.0, "R@50": 1.0, "RR@10": 1.0}
    assert by_name["lexical"].against_bm25 is None
    vector = by_name["vector"]
    assert vector.measures["RR@10"] < 0.6
    assert vector.against_bm25 is not None
    assert vector.against_bm25.difference == pytest.approx(vector.measures["nDCG@10"] - 1.0)
    assert vector.against_bm25.p_value < 0.01
    assert 0 < vector.p50 <= vector.p95
    assert vector.degraded == 0
    assert begun == [f"asking: {system.name}" for system in found.systems]
    assert told[:6] == [(done, 6) for done in range(1, 7)]


async def test_tuning_takes_weight_from_a_channel_that_is_wrong() -> None:
    filled = Filled()
    scope, parents, _ = await filled.ingest()
    found = await tune_weights(filled.open_with, scope, COLLECTION, parents, CONFIG, WEIGHTS)
    assert found.weights["vector"] < found.weights["lexical"]
    assert found.ndcg_after == 1.0 > found.ndcg_before
    assert (found.tuned_on, found.tested_on) == (3, 3)


async def test_tuning_needs_two_queries() -> None:
    filled = Filled()
    scope, parents, _ = await filled.ingest()
    single = Collection("one", DOCUMENTS, QUERIES[:1], COLLECTION.grades, "digest")
    with pytest.raises(InvalidInputError, match="one query is too few"):
        await tune_weights(filled.open_with, scope, single, parents, CONFIG, WEIGHTS)


def test_halves_are_always_the_same_and_share_nothing() -> None:
    first, second = halves(QUERIES[:5])
    assert (len(first), len(second)) == (3, 2)
    assert {query.id for query in (*first, *second)} == {query.id for query in QUERIES[:5]}
    assert halves(tuple(reversed(QUERIES[:5]))) == (first, second)
