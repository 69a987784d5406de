"""The walk: breadth-first over the graph, at most one request a hop for the whole frontier, under the scope."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec

from brain_async.model.object import Object
from brain_async.model.relation import Direction, Neighbor, Relation
from brain_async.model.scope import Scope
from brain_async.ports.graph import GraphReader, GraphWalker
from brain_async.ports.store import ObjectReader

__all__ = ["Step", "walk"]


class Step(msgspec.Struct, frozen=True, gc=False):
    """An object reached, and how."""

    object: Object
    relation: Relation


class _Walk:
    """The state of one seed's walk: what it saw, what it reached, where it stands, and how many nodes it may still ask."""

    def __init__(self, seed: UUID, node_budget: int) -> None:
        self.seed = seed
        self.seen = {seed}
        self.steps: list[Step] = []
        self.frontier = [seed]
        self._nodes_left = node_budget

    def take_frontier(self) -> list[UUID]:
        """The nodes this hop may ask about, within the budget."""
        asked = self.frontier[: self._nodes_left]
        self._nodes_left -= len(asked)
        self.frontier = asked
        return asked

    def sight(self, found: Sequence[tuple[UUID, Neighbor]]) -> dict[UUID, tuple[UUID, Neighbor]]:
        """The first sighting of each node not seen before, in discovery order."""
        fresh: dict[UUID, tuple[UUID, Neighbor]] = {}
        for source, neighbor in found:
            if neighbor.object_id not in self.seen and neighbor.object_id not in fresh:
                fresh[neighbor.object_id] = (source, neighbor)
        return fresh


async def walk(
    graph: GraphReader,
    reader: ObjectReader,
    scope: Scope,
    seeds: Sequence[UUID],
    relation_types: Sequence[str],
    *,
    hops: int,
    direction: Direction,
    neighbor_k: int,
    node_budget: int,
    walker: GraphWalker | None = None,
) -> dict[UUID, list[Step]]:
    """For each seed, the objects within ``hops``, breadth first in discovery order, each once at its smallest depth.

    Every hop of all seeds together is one store read and one graph request; with a ``walker`` the first two hops share
    theirs, as far as it can, with the same result. A node invisible in the scope is neither
    returned nor walked through; the seed never reappears. ``node_budget`` bounds the nodes each seed may ask about: when
    it is used up, what the hop already found is kept and the walk ends. ``neighbor_k`` bounds the edges taken per node.
    The relation's ``source_id`` is the node the edge was walked from.
    """
    walks = {seed: _Walk(seed, node_budget) for seed in dict.fromkeys(seeds)}
    neighbors: dict[UUID, Sequence[Neighbor]] = {}
    for depth in range(1, hops + 1):
        frontiers = {seed: each.take_frontier() for seed, each in walks.items()}
        asked = list(dict.fromkeys(node for frontier in frontiers.values() for node in frontier))
        if not asked:
            break
        if absent := [node for node in asked if node not in neighbors]:
            # Later hops have too little of the budget left for most of what would come with them.
            ask = walker.neighborhoods if walker is not None and depth == 1 < hops else graph.neighbors
            neighbors |= await ask(scope, absent, relation_types, direction=direction, limit=neighbor_k)
        sightings = {
            seed: walks[seed].sight([(node, neighbor) for node in frontier for neighbor in neighbors.get(node, ())])
            for seed, frontier in frontiers.items()
        }
        wanted = list(dict.fromkeys(node for fresh in sightings.values() for node in fresh))
        visible = {obj.key: obj for obj in await reader.get_many(scope, wanted)} if wanted else {}
        for seed, fresh in sightings.items():
            each = walks[seed]
            each.seen.update(fresh)
            each.frontier = [node for node in fresh if node in visible]
            each.steps.extend(
                Step(visible[node], _relation(source, neighbor, depth))
                for node, (source, neighbor) in fresh.items()
                if node in visible
            )
    return {seed: each.steps for seed, each in walks.items()}


def _relation(source: UUID, neighbor: Neighbor, depth: int) -> Relation:
    return Relation(
        type=neighbor.relation_type,
        direction=neighbor.direction,
        depth=depth,
        source_id=source,
        meta=neighbor.meta,
    )
