"""How much memory building an index may take."""

from __future__ import annotations

from brain_async.adapters.postgres.pool import Connection

__all__ = ["build_memory"]

_LEAST = 256 << 20
_GRAPH_BYTES = 900
"""Of HNSW with m 16, per vector and beside it: the element, and 48 neighbours with their distances."""

_STATE = """
select (select coalesce(sum(parts), 0) from brain_part_counts)::bigint as parts,
       pg_size_bytes(current_setting('maintenance_work_mem')) as allowed
"""


async def build_memory(connection: Connection, dimension: int) -> str:
    """A ``maintenance_work_mem``: what the vector index of all live parts needs, 256 MB at least.

    A graph that outgrows its memory is finished on disk, tens of times slower. Above 256 MB the server's own setting is
    the limit. A parallel build takes all of it at once, so it is not simply set high.
    """
    state = await connection.fetchrow(_STATE)
    assert state is not None
    needed = state["parts"] * (2 * dimension + _GRAPH_BYTES)
    return f"{max(_LEAST, min(needed, state['allowed'])) >> 20}MB"
