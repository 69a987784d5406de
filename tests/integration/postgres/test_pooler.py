"""Everything through a transaction-mode pooler: no named statements, no session state, any backend for any transaction."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.cortex import CortexEdgeLedger
from brain_async.model.filters import Filters
from brain_async.model.kind import KindSpec
from brain_async.model.relation import Edge
from brain_async.testing import KV_CHECKS, LEDGER_CHECKS, SEARCH_CHECKS, STORE_CHECKS, VOCABULARY_CHECKS
from brain_async.testing.subjects import BASE_TIME, direction, family, fresh_scope, put_all
from tests.integration.postgres.pooler import Pooler, run_pooler

_CHECKS = {
    "check_put_and_get_round_trip",
    "check_put_refusals_leave_neighbours_stored",
    "check_soft_delete",
    "check_scan_pages_through_everything",
    "check_hydrate",
    "check_every_filter_on_every_channel",
    "check_small_namespace_is_not_starved",
    "check_record_again_updates",
    "check_words_of_deleted_parts_are_gone",
}


@pytest.fixture
async def pooler(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[tuple[Pooler, str]]:
    """The pooler, of two backends unless told otherwise, and the dsn that leads to it."""
    query = parse_qs(urlsplit(postgres_dsn).query)
    if "host" not in query:
        pytest.skip("the small pooler of this test speaks unix sockets only, and BRAIN_TEST_DSN names a TCP address")
    port = query.get("port", ["5432"])[0]
    home = Path(tempfile.mkdtemp(prefix="pooler-", dir="/tmp"))
    try:
        async with run_pooler(
            f"{query['host'][0]}/.s.PGSQL.{port}", f"{home}/.s.PGSQL.5432", backends=getattr(request, "param", 2)
        ) as running:
            yield running, f"postgresql://postgres@/postgres?host={home}"
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("backend", ["pg_textsearch", "portable"])
async def test_through_a_pooler(
    backend: Literal["pg_textsearch", "portable"], pooler: tuple[Pooler, str], fresh_schema: str
) -> None:
    running, dsn = pooler
    async with open_postgres(
        dsn, dimension=4, lexical=backend, search_path=f"{fresh_schema}, public", transaction_pooler=True
    ) as store:
        for check in STORE_CHECKS + SEARCH_CHECKS + VOCABULARY_CHECKS:
            if check.__name__ in _CHECKS:
                await check(store)
        ledger = CortexEdgeLedger(PostgresKeyValueStore(store))
        for check_ledger in LEDGER_CHECKS:
            await check_ledger(ledger)
        scope = fresh_scope()

        async def mixed(number: int) -> None:
            parent, parts = family(
                scope, [{"title": f"Report {number}", "content": "shared", "embedding": direction(4, number)}]
            )
            await put_all(store, scope, parent, *parts)
            filters = Filters(scope_ids=(parent.key,))
            found: list[Any] = [
                await store.search_lexical(scope, "shared", filters, k=5),
                await store.search_trigram(scope, "reports", filters, k=5),
                await store.search_vector(scope, direction(4, number), filters, k=5),
            ]
            assert [[hit.id for hit in hits] for hits in found] == [[parts[0].id]] * 3
            await store.put_kinds([KindSpec(kind=f"kind {number}")])
            await ledger.record_edges(scope, [Edge(from_id=parent.key, to_id=parts[0].key, relation_type="x")])
            if number % 3 == 0:
                await store.soft_delete(scope, parts[0].key, at=BASE_TIME + timedelta(days=1))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(30):
                    tasks.start_soon(mixed, number)
        await store.rebuild_lexical()
        await store.bulk_load([], rebuild_indexes=True)
        assert len(await store.search_lexical(scope, "shared", Filters(), k=50)) == 20
        assert (await store.describe()).lexical_state == "ready"
    assert running.violations == []
    assert min(running.transactions) > 50, "both backends took part"


@pytest.mark.parametrize("pooler", [8], indirect=True)
async def test_keys_through_a_pooler(pooler: tuple[Pooler, str], fresh_schema: str) -> None:
    running, dsn = pooler
    async with open_postgres(dsn, dimension=4, search_path=f"{fresh_schema}, public", transaction_pooler=True) as store:
        for check in KV_CHECKS:
            await check(PostgresKeyValueStore(store))
    assert running.violations == []
    assert min(running.transactions) > 5, "every backend took part"
