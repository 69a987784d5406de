"""The vector index against cosine similarity computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from brain_async.adapters.memory.vectors import VectorIndex


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    norms = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(left @ right) / norms if norms else 0.0


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05], ids=["all", "half", "few"])
def test_the_most_similar_are_found(share: float) -> None:
    rng = np.random.default_rng(11)
    index = VectorIndex()
    vectors: dict[int, tuple[str, np.ndarray]] = {}
    for slot in range(3_000):
        group = "red" if slot % 3 else "green"
        vectors[slot] = (group, rng.standard_normal(24).astype(np.float32) * rng.uniform(0.1, 50))
        index.add(group, slot, vectors[slot][1])
    for slot in rng.permutation(3_000)[:1_000].tolist():
        index.remove(vectors.pop(slot)[0], slot)
    mask = rng.random(3_000) < share
    query = rng.standard_normal(24).astype(np.float32)
    for groups in (["red"], ["red", "green"], ["none"]):
        exact = {
            slot: cosine(vector, query) for slot, (group, vector) in vectors.items() if group in groups and mask[slot]
        }
        nearest = sorted(exact, key=lambda slot: -exact[slot])[:20]
        slots, scores = index.search(groups, query, mask, 20)
        found = dict(zip(slots.tolist(), scores.tolist(), strict=True))
        assert set(nearest) <= set(found)
        assert found == pytest.approx({slot: exact[slot] for slot in found}, abs=1e-6)


def test_equal_vectors_have_equal_scores_and_all_come_back() -> None:
    rng = np.random.default_rng(5)
    vector = rng.standard_normal(37).astype(np.float32)
    index = VectorIndex()
    for slot in range(5_003):
        index.add("red", slot, vector if slot % 2 else -vector)
    slots, scores = index.search(["red"], rng.standard_normal(37).astype(np.float32), np.ones(5_003, np.bool_), 10)
    best = scores == scores.max()
    assert best.sum() in (2_501, 2_502)
    assert len(set((slots[best] % 2).tolist())) == 1


def test_zero_vectors_and_empty_masks_are_no_error() -> None:
    index = VectorIndex()
    assert index.search(["red"], np.ones(3, np.float32), np.ones(0, np.bool_), 5)[0].size == 0
    index.add("red", 0, np.zeros(3, np.float32))
    slots, scores = index.search(["red"], np.ones(3, np.float32), np.ones(1, np.bool_), 5)
    assert (slots.tolist(), scores.tolist()) == ([0], [0.0])
    assert index.search(["red"], np.zeros(3, np.float32), np.ones(1, np.bool_), 5)[0].size == 0
    assert index.search(["red"], np.ones(3, np.float32), np.zeros(1, np.bool_), 5)[0].size == 0
    assert index.get("red", 0) == (0.0, 0.0, 0.0)
    assert index.get("red", 1) is None
    index.remove("red", 1)
    index.remove("red", 0)
    assert index.groups == []
