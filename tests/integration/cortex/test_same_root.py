"""The same calls give the same bytes over every store, and the same proofs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import anyio
import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import EdgeType, Ledger, NewEdge, encode_proof, verify_proof
from brain_async.ports.kv import KeyValueStore
from tests.unit.cortex.samples import A, B, filled, ticking


@pytest.fixture
async def stores(tmp_path: Path, postgres_dsn: str, fresh_schema: str) -> AsyncIterator[list[KeyValueStore]]:
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(
            open_postgres(postgres_dsn, dimension=4, search_path=f"{fresh_schema}, public")
        )
        lmdb = await stack.enter_async_context(open_lmdb(tmp_path / "ledger"))
        yield [MemoryKeyValueStore(), lmdb, PostgresKeyValueStore(postgres)]


async def test_the_same_calls_give_the_same_ledger(stores: list[KeyValueStore]) -> None:
    held, verified, proofs = [], [], []
    for store in stores:
        ledger = Ledger(store, clock=ticking())
        await filled(ledger, 60)
        await ledger.remove_edges_of(UUID(int=3), reason="deleted")
        verified.append(await ledger.verify())
        async with ledger.snapshot() as view:
            held.append(
                {
                    key: value
                    for prefix in (b"e/", b"j/", b"idx/", b"m/")
                    async for key, value in view.reader.scan(prefix)
                }
            )
            proofs.append(
                [encode_proof(await view.prove(A, EdgeType.REFERENCES, UUID(int=100 + n))) for n in range(60)]
            )
    assert held[0] == held[1] == held[2]
    assert verified[0] == verified[1] == verified[2]
    assert proofs[0] == proofs[1] == proofs[2]
    assert all(verify_proof(verified[0].root, proof) for proof in proofs[0])


async def test_a_journal_moves_from_any_store_to_any_other(stores: list[KeyValueStore]) -> None:
    source, *others = [Ledger(store, clock=ticking()) for store in reversed(stores)]
    await filled(source, 60)
    for other in others:
        assert await other.import_journal(source.export_journal()) == await source.head()
        assert await other.verify() == await source.verify()


async def test_the_same_edges_from_both_ends_neither_deadlock_nor_double(stores: list[KeyValueStore]) -> None:
    edges = [NewEdge(UUID(int=1 + number), EdgeType.REFERENCES, UUID(int=2 + number)) for number in range(100)]
    for store in stores:
        ledger = Ledger(store)

        async def write(order: list[NewEdge], ledger: Ledger = ledger) -> None:
            for _ in range(5):
                await ledger.add_edges(order)
                await ledger.remove_edges([(edge.src, edge.type, edge.dst) for edge in order])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, edges)
            tasks.start_soon(write, edges[::-1])
        verified = await ledger.verify()
        assert verified.edges == 100
        assert 200 <= verified.seq <= 2_000
        assert await ledger.edges_out(edges[0].src) == []


async def test_concurrent_callers_are_written_one_after_another(stores: list[KeyValueStore]) -> None:
    for store in stores:
        ledger = Ledger(store)

        async def write(start: int, ledger: Ledger = ledger) -> None:
            for number in range(start, start + 20):
                await ledger.add_edges(
                    [NewEdge(A, EdgeType.REFERENCES, UUID(int=100 + number)), NewEdge(B, EdgeType.PART_OF, A)]
                )

        async with anyio.create_task_group() as tasks:
            for caller in range(8):
                tasks.start_soon(write, 10 * caller)
        verified = await ledger.verify()
        assert (verified.seq, verified.edges) == (91, 91)
