"""Any sequence of changes over LMDB, closed and opened in between, and over Postgres."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from uuid import uuid4

import asyncpg
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.postgres import PostgresKeyValueStore, open_postgres
from brain_async.ports.kv import KeyValueStore
from tests.unit.cortex.machine import LedgerMachine

Opener = Callable[[], AbstractAsyncContextManager[KeyValueStore]]


def test_lmdb() -> None:
    with tempfile.TemporaryDirectory() as home:

        class LmdbMachine(LedgerMachine):
            @staticmethod
            def open_store() -> Opener:
                return partial(open_lmdb, tempfile.mkdtemp(dir=home), sync=False, map_size=1 << 24)

        run_state_machine_as_test(LmdbMachine, settings=settings(max_examples=40, stateful_step_count=40))


def test_postgres(postgres_dsn: str) -> None:
    schema = f"machine_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(postgres_dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    class PostgresMachine(LedgerMachine):
        @staticmethod
        def open_store() -> Opener:
            asyncio.run(execute(f"drop schema if exists {schema} cascade; create schema {schema}"))

            @asynccontextmanager
            async def opened() -> AsyncIterator[KeyValueStore]:
                async with open_postgres(postgres_dsn, dimension=4, search_path=f"{schema}, public") as store:
                    yield PostgresKeyValueStore(store)

            return opened

    try:
        run_state_machine_as_test(PostgresMachine, settings=settings(max_examples=6, stateful_step_count=25))
    finally:
        asyncio.run(execute(f"drop schema if exists {schema} cascade"))
