"""A store in a schema of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from brain_async.adapters.postgres import PostgresStore, open_postgres

Opener = Callable[..., AbstractAsyncContextManager[PostgresStore]]


@pytest.fixture
def open_store(postgres_dsn: str, fresh_schema: str) -> Opener:
    """``open_postgres`` on the test's schema; 4 dimensions unless told otherwise."""
    return partial(open_postgres, postgres_dsn, dimension=4, search_path=f"{fresh_schema}, public")


@pytest.fixture(params=["pg_textsearch", "portable"])
async def store(request: pytest.FixtureRequest, open_store: Opener) -> AsyncIterator[PostgresStore]:
    async with open_store(lexical=request.param) as opened:
        yield opened
