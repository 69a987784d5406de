"""The hard cases of links over an engine whose links and graph are one ledger: cycles, hubs, identity, order of locks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import pytest

from brain_async import Edge, Engine, Object, Session
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import CortexEdgeLedger, CortexGraph, Ledger
from brain_async.errors import InvalidInputError, SelfEdgeError
from brain_async.model.relation import EdgeMeta
from brain_async.model.scope import Scope
from tests.integration.engine.world import all_pages, depths


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[CortexEdgeLedger]:
    """Over LMDB, and whole at the end."""
    async with open_lmdb(tmp_path) as store:
        ledger = CortexEdgeLedger(store)
        yield ledger
        await ledger.ledger.verify()


@pytest.fixture
def session(links: CortexEdgeLedger) -> Session:
    return Engine(MemoryStore(), graph=CortexGraph(links.ledger), ledger=links).session(uuid4())


async def things(session: Session, count: int) -> list[UUID]:
    """The ids of new objects, ascending."""
    objects = [Object(kind="thing", title=f"n{number}") for number in range(count)]
    return sorted(obj.key for obj in (await session.put_many(objects)).objects)


def about(pairs: list[tuple[UUID, UUID]]) -> list[Edge]:
    return [Edge(from_id=a, to_id=b, relation_type="about") for a, b in pairs]


async def test_cycles_and_self_loops(session: Session) -> None:
    a, b, c = await things(session, 3)
    await session.link_many(about([(a, b), (b, c), (c, a)]))
    with pytest.raises(SelfEdgeError):
        await session.link(a, a, "about")
    assert [failure.code for failure in (await session.link_many(about([(a, a), (a, c)]))).failures] == ["self_edge"]
    await session.unlink(a, c, "about")
    page = await session.expand(a, ["about"], max_hops=99, direction="out")
    assert [(obj.id, obj.relation.depth) for obj in page.objects if obj.relation] == [(b, 1), (c, 2)]


async def test_any_graph_is_walked_as_a_breadth_first_search_says(session: Session) -> None:
    random = Random(32)
    for _ in range(25):
        keys = await things(session, 12)
        pairs = [(a, b) for a, b in ((random.choice(keys), random.choice(keys)) for _ in range(18)) if a != b]
        assert (await session.link_many(about(pairs))).ok
        for direction in ("out", "in", "both", "both"):
            seed, hops = random.choice(keys), random.randint(1, 4)
            page = await session.expand(seed, ["about"], max_hops=hops, direction=direction)
            found = {obj.id: obj.relation.depth for obj in page.objects if obj.relation}
            assert found == depths(pairs, seed, hops, direction)


async def test_a_hub_of_ten_thousand(session: Session, links: CortexEdgeLedger) -> None:
    """Which fifty neighbours are shown does not depend on the order in which they were linked."""
    seed, hub, *crowd = await things(session, 302)
    far = [UUID(int=(1 << 127) + number) for number in range(10_000 - len(crowd))]
    edges = about([(hub, peer) for peer in crowd + far] + [(seed, hub)])
    Random(32).shuffle(edges)
    for start in range(0, len(edges), 2_000):
        await links.record_edges(Scope(session.context.namespace_id), edges[start : start + 2_000])
    page = await session.expand(seed, ["about"], max_hops=2, direction="out")
    assert (page.total, page.has_more) == (51, True)
    assert await all_pages(session, page) == [hub, *crowd[:50]]
    await session.soft_delete(hub)
    assert await links.scan_edges(Scope(), after=None, limit=1) == []
    assert (await session.expand(seed, ["about"], max_hops=2)).objects == ()


async def test_one_edge_for_each_from_to_and_label(session: Session, links: CortexEdgeLedger) -> None:
    a, b = await things(session, 2)
    first = await session.link(a, b, "about", note="1")
    for _ in range(100):
        last = await session.link(a, b, " About ", note="2")
    await session.link(b, a, "about")
    await session.link(a, b, "references")
    edges = await links.scan_edges(Scope(), after=None, limit=10)
    assert [(edge.from_id, edge.relation_type) for edge in edges] == [(a, "about"), (a, "references"), (b, "about")]
    assert edges[0].meta == last.meta
    assert (last.meta.created_at, last.meta.note) == (first.meta.created_at, "2")
    assert last.meta.updated_at
    assert first.meta.updated_at
    assert last.meta.updated_at > first.meta.updated_at
    page = await session.expand(a, ["about", "references"], max_hops=1)
    assert [obj.id for obj in page.objects] == [b], "once"


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -float("inf")])
async def test_numbers_that_are_none_are_refused_before_anything_is_written(
    session: Session, links: CortexEdgeLedger, confidence: float
) -> None:
    a, b = await things(session, 2)
    with pytest.raises(InvalidInputError):
        await session.link(a, b, "about", confidence=confidence)
    assert (await links.ledger.head()).seq == 0


async def test_a_removed_edge_is_not_revived_by_a_put(session: Session, links: CortexEdgeLedger) -> None:
    a, b = await things(session, 2)
    await session.link(a, b, "about")
    await session.soft_delete(a)
    await session.put(Object(id=a, kind="thing", title="again"))
    assert (await session.expand(a, ["about"], max_hops=1)).objects == ()
    assert (await links.ledger.get_edge(a, "about", b)).tombstoned


async def test_batches_in_opposite_order_from_both_ends_never_wait_for_each_other(
    postgres_dsn: str, fresh_schema: str
) -> None:
    """Two stores over one database, as two processes have: the final word on each edge is one of the two."""
    scope, nodes = Scope(uuid4()), [UUID(int=number) for number in range(1, 52)]
    pairs = list(pairwise(nodes))
    path = f"{fresh_schema}, public"
    async with (
        open_postgres(postgres_dsn, dimension=4, search_path=path) as one,
        open_postgres(postgres_dsn, dimension=4, search_path=path) as other,
        asyncio.timeout(60),
    ):
        ledgers = [CortexEdgeLedger(PostgresKeyValueStore(store)) for store in (one, other)]
        for number in range(5):
            edges = [
                [
                    Edge(from_id=a, to_id=b, relation_type="about", meta=EdgeMeta(note=f"{number} {who}"))
                    for a, b in pairs
                ]
                for who in range(2)
            ]
            await asyncio.gather(
                ledgers[0].record_edges(scope, edges[0]),
                ledgers[1].record_edges(scope, edges[1][::-1]),
                ledgers[1].remove_object_edges(scope, nodes[25], at=ledgers[1].ledger.now()),
            )
        notes = {edge.meta.note for edge in await ledgers[0].scan_edges(scope, after=None, limit=100)}
        assert notes <= {"4 0", "4 1"}
        await Ledger(PostgresKeyValueStore(one)).verify()
