"""What is copied in is stored as what the insert statement stores, and an id that is taken meanwhile is no failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import asyncpg
import pytest

from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.subjects import put_all
from tests.integration.postgres.conftest import Opener

_DIMENSION = 4
_SCOPE = Scope(UUID(int=77))
_PARTS = 60
_MOMENT = datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-3)))
_VECTORS = (
    None,
    (1.0, -2.0, 3.3333, 0.0),
    (65_504.0, 1.0, -7e-6, 2.0**-24),
    (1e30, 1.0, -1e29, 0.0),
    (1e-20, -1e-21, 0.0, 0.0),
    (1.00048828125, 1.00146484375, 2.0**-25, 3 * 2.0**-25),  # halfway between two half-precision numbers
)
_ROWS = "select to_jsonb(o) - 'doc' from brain_objects o order by id"
_BESIDE = """
select array(select w::text from brain_words w order by 1), array(select t::text from brain_terms t order by 1),
    (select (sum(parts), sum(terms))::text from brain_part_counts)
"""


def _objects() -> list[Object]:
    parent = Object(
        id=UUID(int=1),
        namespace_id=_SCOPE.namespace_id,
        kind="document",
        title="Straße №5",
        summary="",
        created_at=_MOMENT,
        updated_at=_MOMENT,
    )
    assert parent.id is not None
    return [
        parent,
        *(
            Object(
                id=UUID(int=1_000 + number),
                namespace_id=_SCOPE.namespace_id,
                parent_id=parent.id,
                position=(None, 0, -1, 2**63 - 1, -(2**63))[number % 5],
                kind="text",
                title=("", "The ACME-1423 valve", "汇率 v1.2", 'quo"ted \\ {braces}')[number % 4],
                content=f"Überlauf number{number} in snake_case\tand\nlines " * (number % 3 * 200),
                content_type="text/plain",
                properties={"n": number, "ä": [1.5, None, {"deep": "\\u0041\n"}]} if number % 2 else {},
                embedding=_VECTORS[number % len(_VECTORS)],
                embedding_model="m" if number % 3 else "",
                language="german" if number % 7 == 0 else "english",
                created_at=_MOMENT + timedelta(microseconds=number),
                updated_at=datetime(2025, 1, 1, tzinfo=UTC),
            )
            for number in range(_PARTS)
        ),
    ]


@pytest.fixture
async def connection(postgres_dsn: str, fresh_schema: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": f"{fresh_schema}, public"})
    yield connection
    await connection.close()


async def test_copied_rows_are_those_of_the_insert_statement(
    open_store: Opener, connection: asyncpg.Connection
) -> None:
    objects = _objects()
    async with open_store(lexical="portable", dimension=_DIMENSION) as store:
        for obj in objects:  # one by one: too few to be copied
            await put_all(store, _SCOPE, obj)
    inserted = await connection.fetch(_ROWS), await connection.fetch(_BESIDE)
    await connection.execute("truncate brain_objects, brain_words, brain_terms, brain_part_counts")
    async with open_store(lexical="portable", dimension=_DIMENSION) as store:
        await put_all(store, _SCOPE, *objects)
    assert (await connection.fetch(_ROWS), await connection.fetch(_BESIDE)) == inserted
    assert len(inserted[0]) == _PARTS + 1


async def test_writers_of_the_same_new_objects_all_succeed(open_store: Opener, connection: asyncpg.Connection) -> None:
    objects = _objects()
    async with open_store(lexical="portable", dimension=_DIMENSION) as store:
        await asyncio.gather(*(put_all(store, _SCOPE, *objects) for _ in range(4)))
    assert await connection.fetchval("select count(*) from brain_objects") == len(objects)
    assert await connection.fetchval("select sum(parts) from brain_part_counts") == _PARTS
