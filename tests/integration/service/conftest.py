"""A client of an application in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.integration.service.served import Client, application, engine_in_memory, in_process


@pytest.fixture
async def client(no_blocking_calls: None) -> AsyncIterator[Client]:
    async with in_process(application(engine_in_memory())) as http:
        yield Client(http)
