"""Memory for building an index: what the graph needs, within what the server allows."""

from uuid import UUID

import pytest

from brain_async.adapters.postgres import PostgresStore
from brain_async.adapters.postgres.build_memory import build_memory

MB = 1 << 20


@pytest.mark.parametrize(
    ("parts", "allowed", "megabytes"),
    [
        (0, "64MB", 256),
        (1_000, "64MB", 256),
        (1_000_000, "64MB", 256),
        (1_000_000, "1GB", 1_024),
        (1_000_000, "4GB", 1_346),
    ],
)
async def test_as_much_as_needed_and_allowed(store: PostgresStore, parts: int, allowed: str, megabytes: int) -> None:
    async with store.connections.transaction(maintenance_work_mem=allowed) as connection:
        await connection.execute("delete from brain_part_counts")
        await connection.execute("insert into brain_part_counts values ($1, $2, 0)", UUID(int=1), parts)
        assert await build_memory(connection, 256) == f"{megabytes}MB"
        await connection.execute("delete from brain_part_counts")
