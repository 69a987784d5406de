"""Hops: the edges around a frontier, in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from brain_async.model.relation import Direction, Neighbor, canonical_relation_type
from brain_async.model.scope import Scope
from helixgraph.client import Connection
from helixgraph.properties import namespace_value
from helixgraph.queries import MOST_ANY, Side, frontier_edges, hub_edges
from helixgraph.request import padded
from helixgraph.rows import edge_ends, edge_key, edge_meta

__all__ = ["neighbors"]

_CAP: Final = 4_096  # edges of one chunk that are read whole; beyond, a hub's are cut by the engine
_NODES_AT_ONCE: Final = 64

_Row = Mapping[str, Any]
_Found = dict[str, dict[tuple[str, Side], dict[tuple[str, str], _Row]]]


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
    nodes = list(dict.fromkeys(frontier))
    labels = list(dict.fromkeys(map(canonical_relation_type, relation_types)))
    if not nodes or limit <= 0:
        return {node: [] for node in nodes}
    ids = [str(node) for node in nodes]
    chunks = [ids[start : start + MOST_ANY] for start in range(0, len(ids), MOST_ANY)]
    seeds = [padded(chunk) for chunk in chunks]
    shared: dict[str, Any] = {}
    if scope.namespace_id is not None:
        shared["namespace_id"] = namespace_value(scope.namespace_id)
    if labels:
        shared["labels"] = labels
    template = frontier_edges(
        direction, scoped=scope.namespace_id is not None, labelled=bool(labels), sizes=tuple(map(len, seeds))
    )
    named = {f"f{number}_{place}": seed for number, chunk in enumerate(seeds) for place, seed in enumerate(chunk)}
    reply = await connection.read(template.request(**shared, **named, cap=_CAP))
    found: _Found = {node: {} for node in ids}
    sides: tuple[Side, ...] = ("out", "in") if direction == "both" else (direction,)
    crowded: list[str] = []
    for number, chunk in enumerate(chunks):
        rows = reply[f"f{number}"]
        if len(rows) >= _CAP:
            crowded += chunk
        else:
            _collect(found, rows, set(chunk), sides)
    if crowded:
        await _collect_crowded(connection, found, crowded, labels, sides, shared, limit)
    return {
        node: _ordered(found[key], labels or sorted({label for label, _ in found[key]}), sides, limit)
        for node, key in zip(nodes, ids, strict=True)
    }


async def _collect_crowded(
    connection: Connection,
    found: _Found,
    nodes: Sequence[str],
    labels: Sequence[str],
    sides: tuple[Side, ...],
    shared: Mapping[str, Any],
    limit: int,
) -> None:
    # The engine orders by label ascending; any other order of labels needs the first ``limit`` of each.
    groups: Iterable[dict[str, Any]] = [{"labels": [label]} for label in labels] or [{}]
    for group in groups:
        for start in range(0, len(nodes), _NODES_AT_ONCE):
            chunk = nodes[start : start + _NODES_AT_ONCE]
            template = hub_edges(sides, scoped="namespace_id" in shared, labelled=bool(group), nodes=len(chunk))
            seeds = {f"n{number}": node for number, node in enumerate(chunk)}
            loops = {f"loop{number}": edge_key(node, node) for number, node in enumerate(chunk)}
            reply = await connection.read(template.request(**{**shared, **group, **seeds, **loops, "cap": limit}))
            for number, node in enumerate(chunk):
                for side in sides:
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
