"""The contract checks over the memory adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.testing import graph_checks, kind_checks, ledger_checks, search_checks, store_checks

STORE_CHECKS = (*store_checks.CHECKS, *search_checks.CHECKS, *kind_checks.CHECKS)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[MemoryStore], Awaitable[None]]) -> None:
    await check(MemoryStore())


@pytest.mark.parametrize("check", graph_checks.CHECKS, ids=lambda check: check.__name__)
async def test_graph(check: Callable[[MemoryGraph], Awaitable[None]]) -> None:
    await check(MemoryGraph())


@pytest.mark.parametrize("check", ledger_checks.CHECKS, ids=lambda check: check.__name__)
async def test_ledger(check: Callable[[MemoryEdgeLedger], Awaitable[None]]) -> None:
    await check(MemoryEdgeLedger())
