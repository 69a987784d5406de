"""Hops: the edges around a frontier, and those around the nodes next to it, in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from brain_async.model.relation import Direction, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from helixgraph.client import Connection
from helixgraph.properties import namespace_value
from helixgraph.queries import MOST_ANY, Side, frontier_edges, hub_edges, neighborhood_edges
from helixgraph.request import padded
from helixgraph.rows import edge_ends, edge_key, edge_meta

__all__ = ["neighborhoods", "neighbors"]

_CAP: Final = 4_096  # edges of one chunk that are read whole; beyond, a hub's are cut by the engine
_NODES_AT_ONCE: Final = 64
_ONWARD_PER_NODE: Final = 16

_Row = Mapping[str, Any]
_Found = dict[str, dict[tuple[str, Side], dict[tuple[str, str], _Row]]]


class _Question:
    """What is asked about every node: which edges, in which order, how many. ``shared`` are the parameters that say so."""

    def __init__(self, scope: Scope, relation_types: Sequence[str], direction: Direction, limit: int) -> None:
        self.direction: Direction = direction
        self.limit = limit
        self.labels = list(dict.fromkeys(map(canonical_relation_type, relation_types)))
        self.sides: tuple[Side, ...] = ("out", "in") if direction == "both" else (direction,)
        self.scoped = scope.namespace_id is not None
        self.shared: dict[str, Any] = {"labels": self.labels} if self.labels else {}
        if self.scoped:
            self.shared["namespace_id"] = namespace_value(scope.namespace_id)

    def answer(self, found: _Found, node: str) -> list[Neighbor]:
        """The neighbours of one of the nodes in ``found``."""
        labels = self.labels or sorted({label for label, _ in found[node]})
        return _ordered(found[node], labels, self.sides, self.limit)


async def neighbors(
    connection: Connection,
    scope: Scope,
    frontier: Sequence[UUID],
    relation_types: Sequence[str],
    *,
    direction: Direction,
    limit: int,
) -> dict[UUID, list[Neighbor]]:
    """As ``GraphReader.neighbors``. A chunk of the frontier with more than 4,096 edges costs a second request."""
    question = _Question(scope, relation_types, direction, limit)
    nodes = list(dict.fromkeys(frontier))
    if not nodes or limit <= 0:
        return {node: [] for node in nodes}
    ids = [str(node) for node in nodes]
    chunks = [ids[start : start + MOST_ANY] for start in range(0, len(ids), MOST_ANY)]
    seeds = [padded(chunk) for chunk in chunks]
    template = frontier_edges(
        direction, scoped=question.scoped, labelled=bool(question.labels), sizes=tuple(map(len, seeds))
    )
    named = {f"f{number}_{place}": seed for number, chunk in enumerate(seeds) for place, seed in enumerate(chunk)}
    reply = await connection.read(template.request(**question.shared, **named, cap=_CAP))
    found: _Found = {node: {} for node in ids}
    crowded: list[str] = []
    for number, chunk in enumerate(chunks):
        rows = reply[f"f{number}"]
        if len(rows) >= _CAP:
            crowded += chunk
        else:
            _collect(found, rows, set(chunk), question.sides)
    if crowded:
        await _collect_crowded(connection, question, found, crowded)
    return {node: question.answer(found, key) for node, key in zip(nodes, ids, strict=True)}


async def neighborhoods(
    connection: Connection,
    scope: Scope,
    frontier: Sequence[UUID],
    relation_types: Sequence[str],
    *,
    direction: Direction,
    limit: int,
) -> dict[UUID, list[Neighbor]]:
    """As ``GraphWalker.neighborhoods``: the nodes next to the frontier too, unless there are too many nodes or edges.

    What a hub has beyond ``limit`` would be asked about in vain, so that the frontier may have 16 edges for each of its nodes,
    or ``limit`` up to 64 if that is more.
    """
    question = _Question(scope, relation_types, direction, limit)
    ids = [str(node) for node in dict.fromkeys(frontier)]
    if not 0 < len(ids) <= MOST_ANY or limit <= 0:
        return await neighbors(connection, scope, frontier, relation_types, direction=direction, limit=limit)
    seeds = padded(ids)
    template = neighborhood_edges(direction, scoped=question.scoped, labelled=bool(question.labels), size=len(seeds))
    named = {f"f0_{place}": seed for place, seed in enumerate(seeds)}
    most = max(min(limit, _NODES_AT_ONCE), _ONWARD_PER_NODE * len(ids))
    reply = await connection.read(template.request(**question.shared, **named, cap=_CAP, most=most))
    found: _Found = {node: {} for node in ids}
    if len(reply["f0"]) >= _CAP:
        await _collect_crowded(connection, question, found, ids)
    else:
        _collect(found, reply["f0"], set(ids), question.sides)
        onward = {other for groups in found.values() for group in groups.values() for other, _ in group} - set(ids)
        if len(reply["f0"]) <= most and len(reply["f1"]) < _CAP:
            found |= {node: {} for node in onward}
            _collect(found, reply["f1"], onward, question.sides)
    return {UUID(node): question.answer(found, node) for node in found}


async def _collect_crowded(connection: Connection, question: _Question, found: _Found, nodes: Sequence[str]) -> None:
    # The engine orders by label ascending; any other order of labels needs the first ``limit`` of each.
    groups: Iterable[dict[str, Any]] = [{"labels": [label]} for label in question.labels] or [{}]
    for group in groups:
        for start in range(0, len(nodes), _NODES_AT_ONCE):
            chunk = nodes[start : start + _NODES_AT_ONCE]
            template = hub_edges(question.sides, scoped=question.scoped, labelled=bool(group), nodes=len(chunk))
            seeds = {f"n{number}": node for number, node in enumerate(chunk)}
            loops = {f"loop{number}": edge_key(node, node) for number, node in enumerate(chunk)}
            reply = await connection.read(
                template.request(**{**question.shared, **group, **seeds, **loops, "cap": question.limit})
            )
            for number, node in enumerate(chunk):
                for side in question.sides:
                    _collect(found, reply[f"{side}{number}"], {node}, (side,))


def _collect(found: _Found, rows: Iterable[_Row], seeds: set[str], sides: tuple[Side, ...]) -> None:
    for row in rows:
        source, target = edge_ends(row)
        if source == target:
            continue
        ends: tuple[tuple[Side, str, str], ...] = (("out", source, target), ("in", target, source))
        for side, here, there in ends:
            if side in sides and here in seeds:
                group = found[here].setdefault((row["label"], side), {})
                group.setdefault((there, row.get("namespace_id", "")), row)


def _ordered(
    groups: Mapping[tuple[str, Side], Mapping[tuple[str, str], _Row]],
    labels: Sequence[str],
    sides: tuple[Side, ...],
    limit: int,
) -> list[Neighbor]:
    ordered: list[Neighbor] = []
    for label in labels:
        for side in sides:
            group = groups.get((label, side), {})
            # Ids in their canonical spelling sort as they do as numbers.
            ordered += [
                Neighbor(object_id=UUID(end[0]), relation_type=label, direction=side, meta=edge_meta(group[end]))
                for end in sorted(group)[: limit - len(ordered)]
            ]
    return ordered
