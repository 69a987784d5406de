"""Edges to benchmark with: every node has DEGREE edges to random nodes, and HUBS nodes have HUB_DEGREE."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cbor2 import dumps

from brain_async.cortex import EdgeMetadata, EdgeType, NewEdge

__all__ = ["DEGREE", "HUBS", "HUB_DEGREE", "Edges"]

DEGREE = 10
HUBS, HUB_DEGREE = 20, 50
TYPES = [int(member) for member in EdgeType]
DATA = dumps({"note": "the second answers the first", "status": "open"})


class Edges:
    """Makes edges that were not made before, between nodes that it remembers."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.nodes: list[bytes] = []
        self.hubs = [self._rng.bytes(16) for _ in range(HUBS)]
        self.known: list[NewEdge] = []

    def grow(self, count: int) -> list[NewEdge]:
        """``count`` edges from new nodes to nodes old and new, in random order."""
        first = len(self.nodes)
        self.nodes += [self._rng.bytes(16) for _ in range(count // DEGREE)]
        sources = np.repeat(np.arange(first, len(self.nodes)), DEGREE)
        edges = [
            self._edge(self.nodes[source], target)
            for source, target in zip(sources, self._targets(len(sources)), strict=True)
        ]
        order = self._rng.permutation(len(edges))
        shuffled = [edges[place] for place in order]
        self.known = shuffled[:5_000]
        return shuffled

    def of_hubs(self) -> list[NewEdge]:
        """The edges of the hubs."""
        nodes = len(self.nodes)
        return [
            self._edge(hub, target)
            for hub in self.hubs
            for target in self._rng.choice(nodes, HUB_DEGREE, replace=False).tolist()
        ]

    def fresh(self, count: int) -> list[NewEdge]:
        """``count`` edges from new nodes that walks do not come to."""
        return [self._edge(self._rng.bytes(16), target) for target in self._targets(count)]

    def pick(self, count: int) -> list[NewEdge]:
        """Some of the edges of the last growth."""
        return [self.known[place] for place in self._rng.integers(len(self.known), size=count)]

    def starts(self, count: int) -> list[bytes]:
        """Some nodes."""
        return [self.nodes[place] for place in self._rng.integers(len(self.nodes), size=count)]

    def _targets(self, count: int) -> Iterator[int]:
        return iter(self._rng.integers(len(self.nodes), size=count).tolist())

    def _edge(self, source: bytes, target: int) -> NewEdge:
        peer = self.nodes[target] if self.nodes[target] != source else self.nodes[target - 1]
        meta = EdgeMetadata(created_by="bench", weight=0.75, data=DATA)
        return NewEdge(source, TYPES[self._rng.integers(len(TYPES))], peer, meta)
