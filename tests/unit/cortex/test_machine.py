"""Any sequence of changes leaves the ledger as a plain model says, whole, and provable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hypothesis import settings

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.ports.kv import KeyValueStore
from tests.unit.cortex.machine import LedgerMachine


def one_in_memory() -> Callable[[], AbstractAsyncContextManager[KeyValueStore]]:
    store = MemoryKeyValueStore()

    @asynccontextmanager
    async def opened() -> AsyncIterator[KeyValueStore]:
        yield store

    return opened


class MemoryLedgerMachine(LedgerMachine):
    open_store = staticmethod(one_in_memory)


TestMemoryLedger = MemoryLedgerMachine.TestCase
TestMemoryLedger.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
