"""The contract checks over HelixGraph: the engine in memory, in a directory, and over HTTP with both forms of errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from blockbuster import blockbuster_ctx
from helixdb import AsyncClient, InMemory

from brain_async.testing import GRAPH_CHECKS, GRAPH_SCAN_CHECKS, GRAPH_WALK_CHECKS, HEALTH_CHECKS
from helixgraph import HelixGraph, open_helix, open_helix_embedded
from tests.helix_double import Envelope, HelixDouble

_BACKENDS = ("memory", "memory with tenants", "disk", "disk with tenants and an index", "code and message", "text")
_ENVELOPES: dict[str, Envelope] = {"code and message": "code and message", "text": "text"}


@pytest.fixture(autouse=True)
def _no_blocking_calls_of_the_adapter() -> Iterator[None]:
    with blockbuster_ctx("helixgraph"):
        yield


# One graph for all checks of a backend: they must hold beside each other's data too, and the indexes are made once.
@pytest.fixture(scope="module", params=_BACKENDS)
async def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HelixGraph]:
    async with AsyncExitStack() as stack:
        if request.param in _ENVELOPES:
            engine = await stack.enter_async_context(await AsyncClient.embedded(InMemory("double")))
            double = HelixDouble(engine, _ENVELOPES[request.param])
            transport = httpx.ASGITransport(double)
            yield await stack.enter_async_context(open_helix("http://double", dimension=8, transport=transport))
        else:
            home: Path | None = tmp_path_factory.mktemp("helix") if "disk" in request.param else None
            opened = open_helix_embedded(
                home,
                dimension=8,
                tenants="tenants" in request.param,
                indexed_properties=("n", "city") if "index" in request.param else (),
            )
            yield await stack.enter_async_context(opened)


@pytest.mark.parametrize(
    "check", GRAPH_CHECKS + GRAPH_SCAN_CHECKS + GRAPH_WALK_CHECKS + HEALTH_CHECKS, ids=lambda check: check.__name__
)
async def test_graph(check: Callable[[HelixGraph], Awaitable[None]], graph: HelixGraph) -> None:
    await check(graph)
