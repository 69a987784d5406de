"""The portable backend packs its postings: the answers are those of memory, whether they are packed, later, or taken back."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from brain_async import Object, Scope
from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresStore
from brain_async.adapters.postgres.lexical_index import PACK_PARTS, LexicalIndex
from brain_async.adapters.postgres.postings import BLOCK_POSTINGS
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


async def count(store: PostgresStore, of: str) -> int:
    async with store.connections.session() as connection:
        return int(await connection.fetchval(f"select count(*) from {of}"))


async def assert_packed_once(store: PostgresStore) -> None:
    """No two blocks of a key overlap, none is longer than a page takes, and each posting is in the blocks or beside them."""
    async with store.connections.session() as connection:
        overlapping = await connection.fetchval(
            """
            select count(*) from brain_posting_blocks a join brain_posting_blocks b
            on a.key = b.key and a.first_doc < b.first_doc and a.last_doc >= b.first_doc
            """
        )
        longest = await connection.fetchval("select max(octet_length(postings)) / 8 from brain_posting_blocks")
        wrong = await connection.fetchval(
            """
            select count(*) from (
                select brain_posting_key(o.namespace_id, t.term) as key, count(distinct o.doc) as df
                from brain_objects o cross join lateral unnest(string_to_array(o.lex, ' ')) t(term)
                where o.live group by 1) held
            where brain_document_frequency(array[held.key]) <> held.df
            """
        )
    assert overlapping == 0
    assert longest is None or longest <= BLOCK_POSTINGS * 3 // 2
    assert wrong == 0


def everything(rng: random.Random, parts: int) -> list[Object]:
    parent = Object(
        id=UUID(int=7),
        kind="document",
        title="all",
        namespace_id=SCOPE.namespace_id,
        created_at=MOMENT,
        updated_at=MOMENT,
    )
    return [parent, *(part(rng, number) for number in range(parts))]


@pytest.mark.parametrize("store", ["portable"], indirect=True)
async def test_answers_stay_those_of_memory(store: PostgresStore) -> None:
    rng = random.Random(3)
    memory = MemoryStore()
    objects = everything(rng, PARTS)
    batches = [objects[first : first + 1_000] for first in range(0, len(objects), 1_000)]
    assert (await store.bulk_load(batches)).stored == len(objects)
    for batch in batches:
        await memory.put_objects(Scope(), batch)
    assert await count(store, "brain_postings") == 0
    assert await count(store, "brain_posting_blocks") > len(SHARES)
    await assert_same(store, memory)

    # Packed parts that change, go and come back, and new ones beside them.
    for end in (100, 28):
        changed = [msgspec.structs.replace(part(rng, number), id=objects[1 + number].id) for number in range(0, 600, 3)]
        new = [part(rng, PARTS + number) for number in range(150)]
        for one in (store, memory):
            await one.put_objects(Scope(), changed + new)
            for number in range(1, end, 2):
                await one.soft_delete(SCOPE, objects[1 + number].id, at=MOMENT)
            await one.put_objects(Scope(), objects[2:30:2])
        await assert_same(store, memory)
        await assert_packed_once(store)
    assert await count(store, "brain_postings where tf = 0") > 0

    await store.rebuild_lexical()
    assert await count(store, "brain_postings") == 0
    await assert_same(store, memory)
    await assert_packed_once(store)


@pytest.mark.parametrize("store", ["portable"], indirect=True)
async def test_what_is_written_piece_by_piece_gets_packed(store: PostgresStore) -> None:
    rng = random.Random(5)
    memory = MemoryStore()
    objects = everything(rng, 2 * PACK_PARTS + 600)
    for first in range(0, len(objects), 400):
        batch = objects[first : first + 400]
        for one in (store, memory):
            await one.put_objects(Scope(), batch)
            # Parts of every age change, packed ones among them.
            await one.put_objects(
                Scope(), [msgspec.structs.replace(each, content="rare usual again") for each in batch[5:20:7]]
            )
    blocks = await count(store, "brain_posting_blocks")
    assert blocks > 0
    assert await count(store, "brain_postings") < PACK_PARTS * len(SHARES)
    await assert_same(store, memory)
    await assert_packed_once(store)

    changed = [msgspec.structs.replace(each, content="rarest common") for each in objects[1:800:3]]
    for one in (store, memory):
        await one.put_objects(Scope(), changed)
    await assert_same(store, memory)
    assert not await LexicalIndex(store.connections, dimension=store.dimension, maintenance_work_mem=None).pack()


@pytest.mark.parametrize("store", ["portable"], indirect=True)
async def test_packing_gives_way_to_a_transaction_that_stays_open(store: PostgresStore) -> None:
    objects = everything(random.Random(7), PACK_PARTS + 10)
    await store.put_objects(Scope(), objects[:1])
    async with store.connections.transaction() as writer:
        await writer.execute("lock table brain_postings in row exclusive mode")
        for first in range(1, len(objects), 512):
            results = await store.put_objects(Scope(), objects[first : first + 512])
            assert all(isinstance(result, Object) for result in results)
        assert await count(store, "brain_posting_blocks") == 0
        assert len(await store.search_lexical(SCOPE, "usual", Filters(), k=10)) == 10
    await store.migrate()
    assert await count(store, "brain_posting_blocks") > 0
    await assert_packed_once(store)
