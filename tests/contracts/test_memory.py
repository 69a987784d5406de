"""The contract checks over the memory adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.testing import (
    EDGE_OUTBOX_CHECKS,
    FUSED_CHECKS,
    GRAPH_CHECKS,
    GRAPH_SCAN_CHECKS,
    HEALTH_CHECKS,
    KIND_CHECKS,
    LEDGER_CHECKS,
    NODE_OUTBOX_CHECKS,
    PASSAGE_CHECKS,
    SEARCH_CHECKS,
    STORE_CHECKS,
    VOCABULARY_CHECKS,
)


@pytest.mark.parametrize(
    "check",
    STORE_CHECKS
    + PASSAGE_CHECKS
    + SEARCH_CHECKS
    + FUSED_CHECKS
    + VOCABULARY_CHECKS
    + KIND_CHECKS
    + NODE_OUTBOX_CHECKS
    + HEALTH_CHECKS,
    ids=lambda check: check.__name__,
)
async def test_store(check: Callable[[MemoryStore], Awaitable[None]]) -> None:
    await check(MemoryStore())


@pytest.mark.parametrize("check", GRAPH_CHECKS + GRAPH_SCAN_CHECKS + HEALTH_CHECKS, ids=lambda check: check.__name__)
async def test_graph(check: Callable[[MemoryGraph], Awaitable[None]]) -> None:
    await check(MemoryGraph())


@pytest.mark.parametrize("check", LEDGER_CHECKS + EDGE_OUTBOX_CHECKS, ids=lambda check: check.__name__)
async def test_ledger(check: Callable[[MemoryEdgeLedger], Awaitable[None]]) -> None:
    await check(MemoryEdgeLedger())


async def test_checks_pass_on_a_store_that_holds_other_data() -> None:
    """Every check leaves its data behind, so one store for all of them shows that they do not disturb each other."""
    store = MemoryStore(dimension=8)
    for check in STORE_CHECKS + SEARCH_CHECKS + VOCABULARY_CHECKS + NODE_OUTBOX_CHECKS:
        await check(store)
