"""Synthetic documents, for what depends on how many there are."""

from __future__ import annotations

import random
from itertools import islice
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from brain_async.testing.corpus import vocabulary
from peers.collection import Collection, Document

__all__ = ["LABELS", "label_sizes", "synthetic"]

LABELS = {"1%": 0.01, "0.1%": 0.001}
"""The labels that filters ask for, with the share of the documents that carry them; all others carry "other"."""

_SPACE = UUID(int=12)
_CLUSTERS = 64
_SHORTEST, _LONGEST = 80, 200
_RARER = slice(50, 4_000)
_ZIPF_EXPONENT = 1.05


def label_sizes(documents: int, k: int) -> dict[str, int]:
    """How many of ``documents`` carry each label: its share, but always twice a page, so that a full one is possible."""
    return {label: max(2 * k, round(documents * share)) for label, share in LABELS.items()}


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def synthetic(documents: int, queries: int, *, dimension: int, k: int) -> Collection:
    """Documents of 80 to 200 Zipf-distributed words, queries of 2 to 6 rarer words, vectors around 64 directions; seeded."""
    rng, chosen = np.random.default_rng(5), random.Random(11)
    words = vocabulary()
    weights = np.cumsum(1.0 / np.arange(1, len(words) + 1) ** _ZIPF_EXPONENT)

    def text(count: int) -> str:
        return " ".join(words[place] for place in np.searchsorted(weights, rng.random(count) * weights[-1]))

    labels = ["other"] * documents
    places = iter(rng.permutation(documents))
    for label, size in label_sizes(documents, k).items():
        for place in islice(places, size):
            labels[place] = label
    centres = rng.standard_normal((_CLUSTERS, dimension))

    def vectors(count: int) -> NDArray[np.float32]:
        return _unit(centres[rng.integers(_CLUSTERS, size=count)] + rng.standard_normal((count, dimension)))

    return Collection(
        documents=tuple(
            Document(
                id=str(uuid5(_SPACE, f"synthetic {number}")),
                title=text(4),
                text=text(int(rng.integers(_SHORTEST, _LONGEST + 1))),
                label=labels[number],
            )
            for number in range(documents)
        ),
        vectors=vectors(documents),
        queries=tuple(" ".join(chosen.sample(words[_RARER], chosen.randint(2, 6))) for _ in range(queries)),
        query_vectors=vectors(queries),
    )
