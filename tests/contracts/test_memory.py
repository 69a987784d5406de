"""The contract checks over the memory adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.testing import kind_checks, search_checks, store_checks

STORE_CHECKS = (*store_checks.CHECKS, *search_checks.CHECKS, *kind_checks.CHECKS)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
async def test_store(check: Callable[[MemoryStore], Awaitable[None]]) -> None:
    await check(MemoryStore())
