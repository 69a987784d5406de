"""Walk: every position once and in order, however the positions are spread, in few questions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.scope import Scope
from helixgraph.scan import Walk

_LAST = (1 << 128) - 1
_SPREAD = st.integers(0, _LAST)
_CLUSTERED = st.integers(1 << 120, (1 << 120) + 5_000)


class _Positions:
    """Rows that are their own positions, several of which may be at one; answers as the engine's range index does."""

    def __init__(self, positions: list[int]) -> None:
        self.positions = sorted(positions)
        self.asked = 0

    async def stretch(self, first: int, last: int, room: int) -> tuple[list[int], int]:
        self.asked += 1
        begin, end = bisect_left(self.positions, first), bisect_right(self.positions, last)
        rows = self.positions[begin : min(end, begin + room)]
        if len(rows) < room:
            return rows, last
        return [row for row in rows if row < rows[-1]], rows[-1] - 1


async def _scanned(walk: Walk[int], held: _Positions, scope: Scope, limit: int) -> list[int]:
    """All rows; those of one position come on one page, which ends with the last of its position."""
    found: list[int] = []
    start = 0
    while rows := await walk.rows(scope, held.stretch, start=start, limit=limit):
        page = rows[: bisect_right(rows, rows[min(limit, len(rows)) - 1])]
        found += page
        start = page[-1] + 1
    return found


@given(st.lists(_SPREAD | _CLUSTERED, max_size=400), st.integers(1, 200))
async def test_every_row_comes_once_and_in_order(positions: list[int], limit: int) -> None:
    walk: Walk[int] = Walk(_LAST)
    for scope in (Scope(), Scope(), Scope(uuid4())):
        assert await _scanned(walk, _Positions(positions), scope, limit) == sorted(positions)


@given(st.integers(1, 400), st.integers(0, _LAST))
async def test_any_number_of_rows_at_one_position(count: int, position: int) -> None:
    held = _Positions([position] * count)
    assert await _scanned(Walk(_LAST), held, Scope(), 3) == held.positions


async def test_a_page_costs_about_one_question() -> None:
    for positions in ([n * (_LAST // 20_000) for n in range(20_000)], list(range(1 << 120, (1 << 120) + 20_000))):
        walk: Walk[int] = Walk(_LAST)
        held = _Positions(positions)
        assert await _scanned(walk, held, Scope(), 500) == positions
        assert held.asked < 120  # for 41 pages; the stretches have to find their length first
