"""Scan: what the graph holds, in order of ids, in stretches of the id space that hold about a page each.

The engine answers ``between`` from a range index in the time of what it finds there, but ``greater than ... limit 500`` in
that of everything beyond. So a page asks for a stretch as long as the last ones were full.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from helixdb import (
    BatchCondition,
    Expr,
    Order,
    Projection,
    PropertyInput,
    PropertyProjection,
    SourcePredicate,
    StreamBound,
    g,
    read_batch,
    write_batch,
)

from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ports.graph import NodeVersion
from helixgraph.client import Connection
from helixgraph.properties import EDGE_FIELDS, LABEL, RELATION_LABEL, moment, namespace_of, namespace_value
from helixgraph.request import Template
from helixgraph.rows import edge_ends, edge_key, edge_meta

__all__ = ["Scanner", "Stretch", "Walk", "register_relation"]

T = TypeVar("T")

_BITS: Final = 128
_LAST_ID: Final = (1 << _BITS) - 1
_LABELS_AT_ONCE: Final = 32  # of one request: each is a part of the query, which the engine plans within 50 ms
_LEAST: Final = 64  # rows that a stretch is made for: shorter ones cost as much as the request itself
_GROWTH: Final = 16
_FIRST_SHARE: Final = 1 << 20  # of the id space is the first stretch: it still is short with a hundred million ids

Stretch = Callable[[int, int, int], Awaitable[tuple[list[T], int]]]
"""(first, last, room) to the rows of these positions in order, and the position up to which none is missing."""


class Walk(Generic[T]):
    """Goes through positions from 0 to ``last``; remembers how long a stretch of the scope last scanned holds a page."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._scope = Scope()
        self._length = 0

    async def rows(self, scope: Scope, stretch: Stretch[T], *, start: int, limit: int) -> list[T]:
        """At least ``limit`` rows from ``start`` on, unless there are fewer."""
        if scope != self._scope or not self._length:
            self._scope, self._length = scope, self._last // _FIRST_SHARE
        length, wanted = self._length, max(limit, _LEAST)
        room, found = 2 * wanted, list[T]()
        while start <= self._last and len(found) < limit:
            rows, complete = await stretch(start, min(self._last, start + length), room)
            if complete < start:
                room *= 2  # so many rows share one position
                continue
            covered = complete - start + 1
            length = covered * _GROWTH
            if rows:
                length = max(1, min(length, covered * (wanted + wanted // 8) // len(rows)))
            found += rows
            start = complete + 1
        if scope == self._scope:
            self._length = min(length, self._last)
        return found


class Scanner:
    """The pages of one graph's nodes and edges, see ``GraphScanner``.

    A scan costs about 0.06 ms for a node and 0.06 ms for an edge of the scope, whatever else the graph holds, and twice that
    where the ids are dense in one part of their space. A page holds twice the rows of its limit at most, and so many of
    every label.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._nodes: Walk[NodeVersion] = Walk(_LAST_ID)
        self._edges: Walk[Edge] = Walk((_LAST_ID << _BITS) | _LAST_ID)

    async def nodes(self, scope: Scope, *, after: UUID | None, limit: int) -> list[NodeVersion]:
        """See ``GraphScanner.scan_nodes``. Bare ends of edges are none."""
        template, prefix = _node_stretch(scoped=scope.namespace_id is not None), _prefix(scope)

        async def stretch(first: int, last: int, room: int) -> tuple[list[NodeVersion], int]:
            bounds = {"first": f"{prefix}{UUID(int=first)}", "last": f"{prefix}{UUID(int=last)}"}
            rows = (await self._connection.read(template.request(**bounds, room=room)))["rows"]
            complete = UUID(rows[-1]["object_id"]).int if len(rows) == room else last
            return [
                NodeVersion(UUID(row["object_id"]), moment(row["updated_at"])) for row in rows if "updated_at" in row
            ], complete

        start = 0 if after is None else after.int + 1
        return (await self._nodes.rows(scope, stretch, start=start, limit=limit))[: max(0, limit)]

    async def edges(self, scope: Scope, *, after: EdgeKey | None, limit: int) -> list[Edge]:
        """See ``GraphScanner.scan_edges``."""
        named = (await self._connection.read(_relations().request()))["rows"]
        labels = sorted({row["name"] for row in named})
        prefix = _prefix(scope)

        async def stretch(first: int, last: int, room: int) -> tuple[list[Edge], int]:
            bounds = {"first": f"{prefix}{_edge_key(first)}", "last": f"{prefix}{_edge_key(last)}"}
            found: list[tuple[int, Edge]] = []
            complete = last
            for begin in range(0, len(labels), _LABELS_AT_ONCE):
                some = tuple(labels[begin : begin + _LABELS_AT_ONCE])
                template = _edge_stretch(some, scoped=scope.namespace_id is not None)
                reply = await self._connection.read(template.request(**bounds, room=room))
                for number, label in enumerate(some):
                    edges = [_edge(row, label) for row in reply[f"rows{number}"]]
                    if len(edges) == room:
                        # The last key may have further edges, in other namespaces.
                        complete = min(complete, _position(edges[-1].key) - 1)
                    found += [(_position(edge.key), edge) for edge in edges]
            edges = [edge for position, edge in found if position <= complete]
            edges.sort(key=_order)
            return [edge for edge in edges if after is None or _order(edge)[:3] > _key_order(after)], complete

        if not labels or limit <= 0:
            return []
        start = 0 if after is None else _position(after)
        rows = await self._edges.rows(scope, stretch, start=start, limit=limit)
        end = limit
        while end < len(rows) and rows[end].key == rows[end - 1].key:
            end += 1
        return rows[:end]


@lru_cache
def register_relation() -> Template:
    """Keeps ``name`` among the labels that edges have: the engine has no list of them."""
    known = g().n_with_label_where(RELATION_LABEL, SourcePredicate.eq("name", Expr.param("name")))
    batch = (
        write_batch()
        .var_as("known", known)
        .var_as_if(
            "new", BatchCondition.var_empty("known"), g().add_n(RELATION_LABEL, {"name": PropertyInput.param("name")})
        )
        .returning([])
    )
    return Template(batch, {"name": "string"})


@lru_cache
def _relations() -> Template:
    rows = g().n_with_label(RELATION_LABEL).project([PropertyProjection.new("name")])
    return Template(read_batch().var_as("rows", rows).returning(["rows"]), {})


_BOUNDS: Final[dict[str, Any]] = {"first": "string", "last": "string", "room": "i64"}


def _within(prop: str) -> SourcePredicate:
    return SourcePredicate.between(prop, Expr.param("first"), Expr.param("last"))


@lru_cache
def _node_stretch(*, scoped: bool) -> Template:
    found = g().n_with_label_where(LABEL, _within("scan_key" if scoped else "object_id"))
    rows = found.order_by("scan_key" if scoped else "object_id", Order.ASC).limit(StreamBound.expr(Expr.param("room")))
    columns = [PropertyProjection.new(name) for name in ("object_id", "updated_at")]
    return Template(read_batch().var_as("rows", rows.project(columns)).returning(["rows"]), _BOUNDS)


@lru_cache(maxsize=256)
def _edge_stretch(labels: tuple[str, ...], *, scoped: bool) -> Template:
    prop = "scan_key" if scoped else "edge_key"
    columns = [Projection.property(name) for name in (*EDGE_FIELDS, "created_at", "edge_key")]
    batch = read_batch()
    for number, label in enumerate(labels):
        found = g().e_with_label_where(label, _within(prop)).order_by(prop, Order.ASC)
        batch = batch.var_as(f"rows{number}", found.limit(StreamBound.expr(Expr.param("room"))).project(columns))
    return Template(batch.returning([f"rows{number}" for number in range(len(labels))]), _BOUNDS)


def _prefix(scope: Scope) -> str:
    return "" if scope.namespace_id is None else f"{namespace_value(scope.namespace_id)}|"


def _position(key: EdgeKey) -> int:
    return (key.from_id.int << _BITS) | key.to_id.int


def _edge_key(position: int) -> str:
    return edge_key(UUID(int=position >> _BITS), UUID(int=position & _LAST_ID))


def _edge(row: dict[str, Any], label: str) -> Edge:
    source, target = edge_ends(row)
    return Edge(
        from_id=UUID(source),
        to_id=UUID(target),
        relation_type=label,
        namespace_id=namespace_of(row.get("namespace_id")),
        meta=edge_meta(row),
    )


def _key_order(key: EdgeKey) -> tuple[UUID, UUID, str]:
    return (key.from_id, key.to_id, key.relation_type)


def _order(edge: Edge) -> tuple[UUID, UUID, str, int]:
    return (*_key_order(edge.key), -1 if edge.namespace_id is None else edge.namespace_id.int)
