"""Walk: breadth first from one node over the edges of a ledger, each node once, at its smallest hop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from heapq import merge
from typing import Literal

from anyio.lowlevel import checkpoint

from brain_async.cortex.keys import FORWARD, REVERSE, is_removed
from brain_async.cortex.query import EdgeExpr, check_follow
from brain_async.cortex.view import LedgerView

__all__ = ["Walk"]

Seer = Callable[[list[bytes]], Awaitable[list[bytes]]]
"""Gives those of these nodes, in their order, that may be returned and walked through."""

_FRONTIER = 256
"""New nodes that are looked at together: a walk whose caller stops early has read at most these for nothing."""

_TURN = 1_000
"""Edges between two turns of the event loop."""

_OUT: Literal["out"] = "out"
_IN: Literal["in"] = "in"


class Walk:
    """One walk. Nodes are 16 bytes; at each node edges are followed by ascending (type, peer), out before in.

    Attributes:
        came_by: node to (node it was first reached from, type, direction), of all nodes reached so far.
        edges_scanned: edges read so far, removed ones included.
        truncated: whether ``max_edges`` ended the walk.
    """

    def __init__(self, view: LedgerView, start: bytes, follow: EdgeExpr, *, max_edges: int = 100_000) -> None:
        check_follow(follow)
        self._view = view
        self._start = start
        self._follow = follow
        self._max_edges = max_edges
        self.came_by: dict[bytes, tuple[bytes, int, Literal["out", "in"]]] = {}
        self.edges_scanned = 0
        self.truncated = False

    async def hops(self, see: Seer | None = None) -> AsyncIterator[tuple[int, list[bytes]]]:
        """(hop, new nodes in the order of the walk), from hop 1 on; one hop may come in several parts.

        The start is never among them. ``see`` decides which nodes exist for this walk; without it all do.
        """
        sides = await self._sides()
        came_by, frontier = self.came_by, [self._start]
        for hop in range(1, self._follow.max_hops + 1):
            reached: list[bytes] = []
            fresh: list[bytes] = []
            for node in frontier:
                async for code, peer, direction in self._edges(node, sides):
                    if peer not in came_by and peer != self._start:
                        came_by[peer] = node, code, direction
                        fresh.append(peer)
                if len(fresh) >= _FRONTIER:
                    seen = fresh if see is None else await see(fresh)
                    fresh = []
                    reached += seen
                    yield hop, seen
            if fresh:
                seen = fresh if see is None else await see(fresh)
                reached += seen
                yield hop, seen
            frontier = reached
            if not frontier or self.truncated:
                return

    def path(self, node: bytes) -> Iterator[tuple[bytes, int, Literal["out", "in"]]]:
        """(node, type, direction) of each step from the start to ``node``."""
        steps = []
        while node != self._start:
            before, code, direction = self.came_by[node]
            steps.append((node, code, direction))
            node = before
        return reversed(steps)

    async def _sides(self) -> list[tuple[bytes, Literal["out", "in"], list[bytes]]]:
        """(side, direction, what follows the node's id in the prefix of each type) to follow."""
        codes = sorted({await self._view.type_code(type) for type in self._follow.types})
        ends = [b"/%c/" % code for code in codes] or [b"/"]
        wanted = self._follow.direction
        return [
            (side, direction, ends)
            for side, direction in ((FORWARD, _OUT), (REVERSE, _IN))
            if wanted in (direction, "both")
        ]

    async def _edges(
        self, node: bytes, sides: Sequence[tuple[bytes, Literal["out", "in"], list[bytes]]]
    ) -> AsyncIterator[tuple[int, bytes, Literal["out", "in"]]]:
        if len(sides) == 1:
            side, direction, ends = sides[0]
            async for code, peer in self._side(side, node, ends):
                yield code, peer, direction
            return
        out, into = [
            [(code, peer, place) async for code, peer in self._side(side, node, ends)]
            for place, (side, _, ends) in enumerate(sides)
        ]
        for code, peer, place in merge(out, into):
            yield code, peer, sides[place][1]

    async def _side(self, side: bytes, node: bytes, ends: Sequence[bytes]) -> AsyncIterator[tuple[int, bytes]]:
        type_at, peer_at = len(side) + 17, len(side) + 19
        all_edges = self._follow.include_tombstoned
        for end in ends:
            async for key, value in self._view.reader.scan(side + node + end):
                if self.edges_scanned >= self._max_edges:
                    self.truncated = True
                    return
                self.edges_scanned += 1
                if not self.edges_scanned % _TURN:
                    await checkpoint()
                if all_edges or not is_removed(value):
                    yield key[type_at], key[peer_at:]
