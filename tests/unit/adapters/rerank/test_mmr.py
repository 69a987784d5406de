"""Maximal marginal relevance over the embeddings that a store gives."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.rerank import MmrReranker
from brain_async.adapters.rerank.mmr import mmr_order
from brain_async.errors import InvalidInputError, RerankerError
from brain_async.model.object import Object
from brain_async.model.results import Evidence, RichObject
from brain_async.testing import RERANKER_CHECKS


@pytest.mark.parametrize("check", RERANKER_CHECKS, ids=lambda check: check.__name__)
async def test_contract(check: Any) -> None:
    await check(MmrReranker())


def hit(number: int, score: float, *part_numbers: int) -> RichObject:
    evidence = tuple(Evidence(part_id=UUID(int=part)) for part in part_numbers)
    return RichObject(id=UUID(int=number), kind="thing", score=score, evidence=evidence)


def passages(**embeddings: tuple[float, ...] | None) -> dict[UUID, Object]:
    numbered = {UUID(int=int(name[1:])): embedding for name, embedding in embeddings.items()}
    return {key: Object(id=key, embedding=embedding) for key, embedding in numbered.items()}


async def test_a_double_gives_way_to_what_is_new() -> None:
    hits = [hit(1, 1.0, 11), hit(2, 0.9, 12), hit(3, 0.5, 13)]
    stored = passages(_11=(2.0, 0.0), _12=(1.0, 0.0), _13=(0.0, 3.0))
    # After 1: 2 gains .5 x .9 - .5 x 1 = -.05, 3 gains .5 x .5 - 0 = .25.
    assert await MmrReranker(relevance=0.5).rerank_passages("q", hits, stored) == [hits[0], hits[2], hits[1]]
    # At .8: 2 gains .72 - .2 = .52, 3 gains .4.
    assert await MmrReranker(relevance=0.8).rerank_passages("q", hits, stored) == hits
    assert await MmrReranker(relevance=1.0).rerank_passages("q", hits, stored) == hits


async def test_relevance_is_relative_to_the_best() -> None:
    hits = [hit(1, 0.02, 11), hit(2, 0.018, 12), hit(3, 0.01, 13)]
    stored = passages(_11=(1.0, 0.0), _12=(1.0, 0.0), _13=(0.0, 1.0))
    assert await MmrReranker(relevance=0.8).rerank_passages("q", hits, stored) == hits


async def test_evidence_is_averaged_by_direction_and_an_object_stands_for_itself() -> None:
    # 1 points along the diagonal, as the long second part counts no more than the first; 2 along it too, by itself.
    hits = [hit(1, 1.0, 11, 12), hit(2, 0.9), hit(3, 0.8, 13)]
    stored = passages(_11=(1.0, 0.0), _12=(0.0, 50.0), _2=(1.0, 1.0), _13=(1.0, -1.0))
    assert await MmrReranker(relevance=0.5).rerank_passages("q", hits, stored) == [hits[0], hits[2], hits[1]]


async def test_what_has_no_embedding_is_like_nothing() -> None:
    hits = [hit(1, 1.0, 11), hit(2, 0.9, 12), hit(3, 0.1)]
    stored = passages(_11=(1.0, 0.0), _12=(1.0, 0.0), _3=None)
    assert await MmrReranker(relevance=0.5).rerank_passages("q", hits, stored) == [hits[0], hits[2], hits[1]]
    assert await MmrReranker(relevance=0.5).rerank_passages("q", hits, {}) == hits


async def test_many_hits() -> None:
    hits = [hit(number, 1 - number / 1000, 1000 + number) for number in range(1, 300)]
    stored = passages(**{f"_{1000 + n}": (1.0, float(n % 2), float(n % 3)) for n in range(1, 300)})
    ordered = await MmrReranker(relevance=0.3).rerank_passages("q", hits, stored)
    assert ordered[0] == hits[0]
    assert sorted(obj.id.int for obj in ordered) == list(range(1, 300))


async def test_without_embeddings_it_says_so() -> None:
    with pytest.raises(RerankerError, match="PassageReader"):
        await MmrReranker().rerank("q", [hit(1, 1.0, 11), hit(2, 0.5, 12)])


@pytest.mark.parametrize("relevance", [-0.1, 1.1, float("nan")])
def test_wrong_lambda(relevance: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        MmrReranker(relevance=relevance)
    assert caught.value.field == "relevance"


_UNIT = st.floats(0, 1, width=32)


@given(st.lists(st.tuples(_UNIT, _UNIT, _UNIT), max_size=9), _UNIT)
def test_each_step_takes_the_greatest_gain(items: list[tuple[float, float, float]], relevance: float) -> None:
    relevances = np.array([item[0] for item in items])
    vectors = np.array([item[1:] for item in items]).reshape(-1, 2)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    order = list(mmr_order(relevances, vectors, relevance))
    assert sorted(order) == list(range(len(items)))
    for place, chosen in enumerate(order[1:], start=1):
        before = vectors[order[:place]]

        def gain(item: int, before: np.ndarray = before) -> float:
            return float(relevance * relevances[item] - (1 - relevance) * (before @ vectors[item]).max())

        assert all(gain(chosen) >= gain(other) - 1e-9 for other in order[place:])
