"""Search: filters as conditions of a query, and the best k of a ranked answer with ties in the order of the house."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.scope import Scope
from helixgraph.properties import (
    UNSET_TIME,
    filter_values,
    index_key,
    index_name,
    micros,
    namespace_value,
    property_path,
)
from helixgraph.queries import MOST_ANY, Comparison, Condition
from helixgraph.request import padded

__all__ = ["MOST_BY_TEXT", "MOST_NEAREST", "Restriction", "Row", "best", "restriction"]

Row = Mapping[str, Any]

_LONG_LIST: Final = 256
_INDEXED: Final = ("object_id", "kind")
_COLUMNS: Final = ("object_id", "kind", "title")  # of the rows of a search
_SPARE: Final = 16
_BREADTH: Final = 2
_GROWTH: Final = 16  # of a search that ended among ties or found too little that passes
MOST_BY_TEXT: Final = 1_000_000
MOST_NEAREST: Final = 800
"""The largest limit that the engine takes for the nearest of a selection of nodes."""


class Restriction(msgspec.Struct, frozen=True):
    """Scope and filters as ``conditions`` with their ``parameters``, and what is left to check on each row.

    A list of thousands of values costs the engine a comparison with each for every node, so lists of more than 256 ids,
    kinds or titles become ``members``: sets by row column. So do the ids in ``excluded``, which cost no more than as many
    further hits.
    """

    conditions: tuple[Condition, ...] = ()
    parameters: dict[str, Any] = {}
    members: dict[str, frozenset[str]] = {}
    excluded: frozenset[str] = frozenset()

    def admits(self, row: Row) -> bool:
        """Whether a row that satisfies the conditions is in all of the ``members`` and not excluded."""
        return row.get("object_id") not in self.excluded and all(
            row.get(column) in values for column, values in self.members.items()
        )

    def names(self, *starts: str) -> bool:
        """Whether a condition is about a property whose name starts so."""
        return any(name.startswith(starts) for name, _, _ in self.conditions)


def restriction(scope: Scope, filters: Filters, indexed: Sequence[str] = ()) -> Restriction | None:
    """What ``scope`` and ``filters`` let through; None when that is nothing. ``indexed`` properties have an index."""
    conditions: list[Condition] = []
    parameters: dict[str, Any] = {}
    members: dict[str, frozenset[str]] = {}

    def add(name: str, comparison: Comparison, *values: object) -> None:
        names = tuple(f"c{len(parameters) + place}" for place in range(len(values)))
        conditions.append((name, comparison, names))
        parameters.update(zip(names, values, strict=True))

    if scope.namespace_id is not None:
        add("namespace_id", "any", namespace_value(scope.namespace_id))
    lists: list[tuple[str, Sequence[str] | None]] = [
        ("kind", filters.kinds),
        ("kind", filters.own_kinds),
        ("title", filters.titles),
        ("object_id", None if filters.scope_ids is None else [str(scope_id) for scope_id in filters.scope_ids]),
        *(_property(wanted, indexed) for wanted in filters.properties),
    ]
    for name, values in lists:
        if values is None:
            continue
        if not values:
            return None
        if len(values) <= (MOST_ANY if name in _INDEXED or name.startswith("p_") else 1):
            add(name, "any", *padded(values))
        elif len(values) <= _LONG_LIST or name not in _COLUMNS:
            add(name, "in", list(values))
        else:
            members[name] = frozenset(values) & members.get(name, frozenset(values))
    for name, after, before in (
        ("created_at", filters.created_after, filters.created_before),
        ("updated_at", filters.updated_after, filters.updated_before),
    ):
        if after is not None:
            add(name, "gte", micros(after))
        if before is not None:
            add(name, "lt", micros(before))
            add(name, "gt", UNSET_TIME)
    excluded = frozenset(str(excluded_id) for excluded_id in filters.exclude_ids)
    return Restriction(tuple(conditions), parameters, members, excluded)


def _property(wanted: PropertyFilter, indexed: Sequence[str]) -> tuple[str, list[str]]:
    values = filter_values(wanted.values)
    if wanted.key in indexed:
        return index_name(wanted.key), [index_key(value) for value in values]
    return property_path(wanted.key), values


async def best(
    ask: Callable[[int, bool], Awaitable[dict[str, Any]]],
    *,
    k: int,
    score: Callable[[Row], float],
    admits: Callable[[Row], bool],
    spare: int = 0,
    broad_first: bool,
    broad_is_exact: bool,
    most: int = MOST_BY_TEXT,
) -> list[tuple[Row, float]]:
    """At least the best ``k`` rows with their scores, best first, and every row that ties with the k-th.

    ``ask(limit, within)`` runs the search: over everything, cut to what satisfies the conditions, or ``within`` what does.
    The first is far quicker unless few nodes satisfy them, so it is tried first when ``broad_first``; what it yields
    counts only when it is enough. Without ``broad_is_exact`` (approximate nearest neighbours) ties among the best make it
    ask again: which of equal vectors such a search reaches is a matter of chance. ``spare`` rows are asked for beyond k
    because so many may not be admitted. ``most`` is the largest limit that a search ``within`` takes; with what that finds
    the answer may be short of k, or of ties.
    """
    spare += _SPARE
    broad: list[tuple[Row, float]] = []
    if broad_first:
        limit = _BREADTH * k + spare
        rows, sufficient, whole = _joined(await ask(limit, False), limit, k, score, admits)
        if broad_is_exact:
            if sufficient or whole:
                return rows
        elif sufficient and all(rows[n][1] > rows[n + 1][1] for n in range(min(k, len(rows) - 1))):
            return rows
        broad = rows
    limit = min(k + spare, most)
    while True:
        rows, sufficient, whole = _joined(await ask(limit, True), limit, k, score, admits)
        if sufficient or whole or limit >= most:
            return max(rows, broad, key=len)
        limit = min(limit * _GROWTH, most)


def _joined(
    reply: dict[str, Any], limit: int, k: int, score: Callable[[Row], float], admits: Callable[[Row], bool]
) -> tuple[list[tuple[Row, float]], bool, bool]:
    """(rows with scores, whether the best k and their ties are among them, whether the search found no more)."""
    found: list[Row] = reply["found"]
    by_id = {row["$id"]: row for row in reply["rows"]}
    rows = [(row, score(hit)) for hit in found if (row := by_id.get(hit["$id"])) is not None and admits(row)]
    sufficient = len(rows) >= k and score(found[-1]) < rows[k - 1][1]
    return rows, sufficient, len(found) < limit
