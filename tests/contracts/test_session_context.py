"""The contract checks of paging over a conversation's SearchContext."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from brain_async.session import SearchContext
from brain_async.testing import PAGING_CHECKS


@pytest.mark.parametrize("check", PAGING_CHECKS, ids=lambda check: check.__name__)
async def test_search_context(check: Callable[[SearchContext], Awaitable[None]]) -> None:
    await check(SearchContext())
