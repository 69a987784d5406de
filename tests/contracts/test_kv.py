"""The contract checks of key-value stores, over every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.ports.kv import KeyValueStore
from brain_async.testing import KV_CHECKS


@pytest.fixture(scope="module", params=["memory"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[KeyValueStore]:
    """One store for all checks: they use keys of their own."""
    match request.param:
        case "memory":
            yield MemoryKeyValueStore()


@pytest.mark.parametrize("check", KV_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[KeyValueStore], Awaitable[None]], store: KeyValueStore) -> None:
    assert isinstance(store, KeyValueStore)
    await check(store)
