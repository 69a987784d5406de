"""The portable backend leaves out postings that cannot matter, and keeps counts of frequent terms: same answers as memory."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from brain_async import Object, Scope
from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresStore
from brain_async.adapters.postgres.lexical_portable import FREQUENT, PRUNABLE
from brain_async.model.filters import Filters

SCOPE = Scope(UUID(int=1))
PARTS = 8_000
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
# Shares of the parts: two terms rare enough to decide, others frequent enough to be left out and to have a kept count.
SHARES = {"rarest": 0.004, "rare": 0.01, "seldom": 0.05, "common": 0.3, "usual": 0.7, "always": 0.95}
QUERIES = [
    "rarest rare usual always",
    "rarest usual",
    "rare seldom always usual common",
    "rarest rarest always",
    "seldom common usual always",
    "always usual",
    "rare unknown always",
]


def part(rng: random.Random, number: int) -> Object:
    words = [word for word, share in SHARES.items() for _ in range(rng.randint(1, 3)) if rng.random() < share]
    filler = ["filler"] * rng.randint(1, 12)
    return Object(
        id=UUID(int=10**6 + number),
        kind="section",
        title="",
        content=" ".join([*words, *filler]),
        parent_id=UUID(int=7),
        position=number,
        namespace_id=SCOPE.namespace_id,
        created_at=MOMENT,
        updated_at=MOMENT + timedelta(seconds=number % 50),
    )


async def assert_same(postgres: PostgresStore, memory: MemoryStore) -> None:
    for query in QUERIES:
        for k in (1, 10, 40):
            ours = await postgres.search_lexical(SCOPE, query, Filters(), k=k)
            right = await memory.search_lexical(SCOPE, query, Filters(), k=k)
            assert [hit.id for hit in ours] == [hit.id for hit in right], (query, k)
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in right], rel=1e-6)


@pytest.mark.parametrize("store", ["portable"], indirect=True)
async def test_answers_are_those_of_scoring_everything(store: PostgresStore) -> None:
    rng = random.Random(3)
    memory = MemoryStore()
    parent = Object(
        id=UUID(int=7),
        kind="document",
        title="all",
        namespace_id=SCOPE.namespace_id,
        created_at=MOMENT,
        updated_at=MOMENT,
    )
    objects = [parent, *(part(rng, number) for number in range(PARTS))]
    batches = [objects[first : first + 1_000] for first in range(0, len(objects), 1_000)]
    assert (await store.bulk_load(batches)).stored == len(objects)
    for batch in batches:
        await memory.put_objects(Scope(), batch)
    async with store.connections.session() as connection:
        kept = await connection.fetch("select df from brain_frequencies order by df")
    assert min((row["df"] for row in kept), default=0) >= FREQUENT
    assert max(row["df"] for row in kept) >= PRUNABLE
    await assert_same(store, memory)

    # Counted docs that change, go and come back, and new ones beside them.
    changed = [msgspec.structs.replace(part(rng, number), id=objects[1 + number].id) for number in range(0, 600, 3)]
    new = [part(rng, PARTS + number) for number in range(150)]
    for one in (store, memory):
        await one.put_objects(Scope(), changed + new)
        for number in range(1, 100, 2):
            await one.soft_delete(SCOPE, objects[1 + number].id, at=MOMENT)
        await one.put_objects(Scope(), objects[2:30:2])
    await assert_same(store, memory)
    async with store.connections.session() as connection:
        await connection.execute("select brain_compact_counts()")
        right = await connection.fetchval(
            """
            select bool_and(f.df = (select count(*) from brain_postings p
                                    where p.key = f.key and p.doc <= (select counted_to from brain_lex_state)))
            from (select key, sum(df) as df from brain_frequencies group by key) f
            """
        )
    assert right, "a kept count is what counting gives"
    await assert_same(store, memory)
