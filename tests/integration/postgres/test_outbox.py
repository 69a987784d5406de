"""The outbox's tables: no path that changes a row forgets them, and no two writers wait for each other for ever."""

from __future__ import annotations

from importlib.resources import files
from random import Random
from uuid import UUID, uuid4

import anyio
import asyncpg
import msgspec

from brain_async import Drift, Engine
from brain_async.adapters.memory import MemoryGraph
from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore, open_postgres, read_edge_events
from brain_async.cortex import CortexEdgeLedger
from brain_async.model.relation import Edge
from brain_async.model.scope import Scope
from brain_async.testing.subjects import fresh_scope, new_parent, new_part, put_all


def engine_over(store: PostgresStore) -> Engine:
    return Engine(store, graph=MemoryGraph(), ledger=CortexEdgeLedger(PostgresKeyValueStore(store)))


async def test_what_a_bulk_load_stored_is_told_by_reconcile(store: PostgresStore) -> None:
    scope = fresh_scope()
    parents = [new_parent(scope) for _ in range(30)]
    await store.bulk_load([[*parents, *(new_part(scope, parent) for parent in parents)]])
    engine = engine_over(store)
    report = await engine.reconcile(scope)
    assert (report.before.pending_objects, report.nodes) == (30, 30)
    assert await engine.drift(scope) == Drift(compared=True)


async def test_rows_deleted_for_good_are_told(store: PostgresStore) -> None:
    scope, engine = fresh_scope(), engine_over(store)
    kept, gone = await put_all(store, scope, new_parent(scope), new_parent(scope))
    await engine.reconcile(scope)
    async with store.connections.session() as connection:
        await connection.execute("delete from brain_objects where id = $1", gone.id)
    assert (await engine.reconcile(scope)).nodes == 1
    assert await engine.drift(scope) == Drift(compared=True)
    assert [obj.id for obj in await store.scan(scope, first_class=True, after=None, limit=9)] == [kept.id]


async def test_what_was_there_before_the_outbox_is_pending(postgres_dsn: str, fresh_schema: str) -> None:
    async with open_postgres(postgres_dsn, dimension=4, search_path=f"{fresh_schema}, public") as store:
        scope = fresh_scope()
        a, b, gone = await put_all(store, scope, *(new_parent(scope) for _ in range(3)))
        await put_all(store, scope, new_part(scope, a))
        await _record_as_earlier(store, a.key, b.key)
        await store.soft_delete(scope, gone.key, at=gone.updated_at or a.updated_at)  # type: ignore[arg-type]
        scripts = {each.name[5:]: each for each in (files("brain_async.adapters.postgres") / "migrations").iterdir()}
        script = scripts["outbox.sql"].read_text()
        numbers = [int(scripts[name].name[:4]) for name in ("outbox.sql", "deletions.sql")]
        connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": f"{fresh_schema}, public"})
        try:
            names = [
                line.split()[2].split("(")[0] for line in script.splitlines() if line.startswith("create function")
            ]
            tables = "brain_graph_outbox, brain_graph_edge_outbox"
            drops = "".join(f"drop function {name} cascade;" for name in names)
            await connection.execute(
                f"{drops} drop table {tables}; drop sequence brain_graph_versions;"
                f" delete from brain_migrations where version in ({', '.join(map(str, numbers))})"
            )
            await store.migrate()
        finally:
            await connection.close()
        engine = engine_over(store)
        drift = await engine.drift(scope)
        assert drift.pending_objects == 2
        (event,) = await read_edge_events(store, 0, 10)
        assert (event.edge.to_id, event.pending, event.removed) == (b.key, True, False)
        assert (await engine.reconcile(scope)).ok
        assert await engine.drift(scope) == Drift(compared=True)


async def _record_as_earlier(store: PostgresStore, source: UUID, target: UUID) -> None:
    """Put a link where earlier versions did."""
    async with store.connections.session() as connection:
        await connection.execute(
            "insert into brain_edges values ($1, $2, 'about', $3, '', '', '', 0, null, now(), now(), null)",
            *(source, target, uuid4()),
        )


async def test_writers_and_settlers_in_opposite_orders_never_deadlock(store: PostgresStore) -> None:
    scope, ledger = fresh_scope(), CortexEdgeLedger(PostgresKeyValueStore(store))
    objects = [new_parent(scope) for _ in range(60)]
    edges = [
        Edge(from_id=a.key, to_id=b.key, relation_type="about", namespace_id=scope.namespace_id)
        for a, b in zip(objects, reversed(objects), strict=True)
    ]
    await put_all(store, scope, *objects)
    await ledger.record_edges(scope, edges)
    before = await _deadlocks(store)

    async def write(seed: int) -> None:
        random = Random(seed)
        for _ in range(8):
            await put_all(store, scope, *random.sample(objects, 60))
            await ledger.record_edges(scope, random.sample(edges, 60))

    async def settle(seed: int) -> None:
        random = Random(seed)
        for _ in range(8):
            for outbox, keys in (
                (store.graph_outbox, [obj.key for obj in objects]),
                (ledger.graph_outbox, [edge.key for edge in edges]),
            ):
                random.shuffle(keys)
                await outbox.reopen(scope, keys)  # type: ignore[attr-defined]
                entries = list(await outbox.pending_for(scope, keys))  # type: ignore[attr-defined]
                random.shuffle(entries)
                await outbox.settle(scope, entries)  # type: ignore[attr-defined]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for seed in range(3):
                group.start_soon(write, seed)
                group.start_soon(settle, seed)
    assert await _deadlocks(store) == before


async def _deadlocks(store: PostgresStore) -> int:
    async with store.connections.session() as connection:
        await connection.execute("select pg_stat_force_next_flush()")
        found: int = await connection.fetchval(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )
        return found


async def test_the_outbox_holds_one_entry_an_object(store: PostgresStore) -> None:
    scope = fresh_scope()
    (obj,) = await put_all(store, scope, new_parent(scope))
    for number in range(20):
        await put_all(store, scope, msgspec.structs.replace(obj, title=str(number)))
        await store.graph_outbox.reopen(scope, [obj.key, uuid4()] if number == 0 else [obj.key])
    assert await store.graph_outbox.count(scope) == 2
    assert await store.graph_outbox.count(Scope(uuid4())) == 0
