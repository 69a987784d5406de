"""What differs between store and ledger on one side and the graph on the other: two ordered scans merged, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope
from brain_async.ops.delivery import edges_between_live
from brain_async.ops.deps import Deps
from brain_async.ports.graph import GraphScanner, NodeVersion
from brain_async.ports.ledger import EdgeLedger
from brain_async.stages.deadline import within

__all__ = ["PAGE", "Differences", "edge_differences", "node_differences"]

PAGE = 500

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


class Differences(msgspec.Struct, Generic[A, B]):
    """What differs within one stretch of the scans, and how much was ``seen`` in it.

    ``missing`` and ``stale`` are what the graph should hold; ``orphans`` what it holds and should not.
    """

    missing: list[A] = msgspec.field(default_factory=list)
    stale: list[A] = msgspec.field(default_factory=list)
    orphans: list[B] = msgspec.field(default_factory=list)
    seen: int = 0


class _Pages(Generic[T]):
    """An ordered scan, read a page at a time, of which the head can be looked at."""

    def __init__(self, fetch: Callable[[], Awaitable[Sequence[T] | None]]) -> None:
        """``fetch`` returns the next page, which may be empty, or None at the end."""
        self._fetch = fetch
        self._page: Sequence[T] = ()
        self._place = 0
        self._ended = False

    async def head(self) -> T | None:
        """The next item, or None at the end."""
        while self._place == len(self._page) and not self._ended:
            page = await self._fetch()
            self._ended = page is None
            self._page, self._place = page or (), 0
        return None if self._place == len(self._page) else self._page[self._place]

    def advance(self) -> None:
        """Go past the head."""
        self._place += 1


async def _merged(
    wanted: _Pages[A],
    held: _Pages[B],
    order: Callable[[A], Any],
    held_order: Callable[[B], Any],
    is_same: Callable[[A, B], bool],
) -> AsyncIterator[Differences[A, B]]:
    found: Differences[A, B] = Differences()
    while True:
        want, have = await wanted.head(), await held.head()
        if want is None and have is None:
            yield found
            return
        if have is None or (want is not None and order(want) < held_order(have)):
            assert want is not None
            found.missing.append(want)
            wanted.advance()
        elif want is None or held_order(have) < order(want):
            found.orphans.append(have)
            held.advance()
        else:
            if not is_same(want, have):
                found.stale.append(want)
            wanted.advance()
            held.advance()
        found.seen += 1
        if found.seen >= PAGE:
            yield found
            found = Differences()


def node_differences(
    deps: Deps, scope: Scope, scanner: GraphScanner
) -> AsyncIterator[Differences[Object, NodeVersion]]:
    """Live first-class objects against nodes, by id and updated_at. Raises what store and graph raise."""
    last_object: UUID | None = None
    last_node: UUID | None = None

    async def objects() -> Sequence[Object] | None:
        nonlocal last_object
        page = await deps.store.scan(scope, first_class=True, after=last_object, limit=PAGE)
        last_object = page[-1].key if page else None
        return page or None

    async def nodes() -> Sequence[NodeVersion] | None:
        nonlocal last_node
        page = await within(
            deps.config.graph_timeout, "the graph", scanner.scan_nodes(scope, after=last_node, limit=PAGE)
        )
        last_node = page[-1].object_id if page else None
        return page or None

    return _merged(
        _Pages(objects),
        _Pages(nodes),
        lambda obj: obj.key,
        lambda node: node.object_id,
        lambda obj, node: obj.updated_at == node.updated_at,
    )


def edge_differences(
    deps: Deps, scope: Scope, scanner: GraphScanner, ledger: EdgeLedger
) -> AsyncIterator[Differences[Edge, Edge]]:
    """Recorded edges between live objects against the graph's, by key and metadata. Raises what all three raise."""
    last_recorded: EdgeKey | None = None
    last_held: EdgeKey | None = None

    async def recorded() -> Sequence[Edge] | None:
        nonlocal last_recorded
        page = await within(
            deps.config.graph_timeout, "the edge ledger", ledger.scan_edges(scope, after=last_recorded, limit=PAGE)
        )
        if not page:
            return None
        last_recorded = page[-1].key
        return sorted(await edges_between_live(deps, scope, page), key=_edge_order)

    async def held() -> Sequence[Edge] | None:
        nonlocal last_held
        page = await within(
            deps.config.graph_timeout, "the graph", scanner.scan_edges(scope, after=last_held, limit=PAGE)
        )
        if not page:
            return None
        last_held = page[-1].key
        return sorted(page, key=_edge_order)

    return _merged(_Pages(recorded), _Pages(held), _edge_order, _edge_order, lambda want, have: want.meta == have.meta)


def _edge_order(edge: Edge) -> tuple[UUID, UUID, str, int]:
    # The namespace tells edges of one key apart, which only an unrestricted scope sees.
    return (
        edge.from_id,
        edge.to_id,
        edge.relation_type,
        -1 if edge.namespace_id is None else edge.namespace_id.int,
    )
