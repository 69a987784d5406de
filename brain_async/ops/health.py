"""health: every backend asked at once, each under the same short deadline."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from brain_async.errors import BrainError
from brain_async.model.health import BackendHealth, HealthReport
from brain_async.model.object import NIL_UUID
from brain_async.model.scope import Scope
from brain_async.ops.deps import Deps
from brain_async.ops.tasks import task_group
from brain_async.ports.health import HealthProbe
from brain_async.stages.deadline import within

__all__ = ["health"]

Probe = Callable[[], Awaitable[BackendHealth | None]]


async def health(deps: Deps, timeout: float) -> HealthReport:
    """See ``Engine.health``."""
    began = time.perf_counter()
    probes = _probes(deps)
    found: dict[str, BackendHealth | None] = {}
    pending: dict[str, int] = {}

    async def ask(name: str, probe: Probe) -> None:
        found[name] = await _asked(name, probe, timeout)

    async def count(name: str, counted: Callable[[Scope], Awaitable[int]]) -> None:
        with suppress(BrainError):  # the backend that keeps it says why
            pending[name] = await within(timeout, "the outbox", counted(Scope()))

    async with task_group() as group:
        for name, probe in probes.items():
            group.start_soon(ask, name, probe)
        if deps.can.node_outbox is not None:
            group.start_soon(count, "objects", deps.can.node_outbox.count)
        if deps.can.edge_outbox is not None:
            group.start_soon(count, "edges", deps.can.edge_outbox.count)

    backends = {name: state for name in probes if (state := found[name]) is not None}
    return HealthReport(
        ready=all(backends[name].up for name in _required(deps) if name in backends),
        backends=backends,
        pending_objects=pending.get("objects"),
        pending_edges=pending.get("edges"),
        seconds=time.perf_counter() - began,
    )


def _required(deps: Deps) -> list[str]:
    required = ["store"]
    if deps.config.fail_on_graph_error:
        required.append("graph")
    if deps.config.fail_on_embedder_error:
        required.append("embedder")
    return required


def _probes(deps: Deps) -> dict[str, Probe]:
    """How each attached backend is asked: by its own probe, else by the cheapest read its port has."""
    store, graph, ledger, embedder = deps.store, deps.can.graph_reader, deps.ledger, deps.embedder
    probes: dict[str, Probe] = {"store": lambda: _answers(store.get_many(Scope(), [NIL_UUID]))}
    if graph is not None:
        probes["graph"] = lambda: _answers(graph.neighbors(Scope(), [NIL_UUID], (), direction="out", limit=1))
    if ledger is not None:
        probes["ledger"] = lambda: _answers(ledger.scan_edges(Scope(), after=None, limit=1))
    own = {"store": store, "graph": graph, "ledger": ledger, "embedder": embedder}
    # An embedder that cannot say is not asked: a request of its own may cost money.
    return {
        name: backend.health if isinstance(backend, HealthProbe) else probes[name]
        for name, backend in own.items()
        if isinstance(backend, HealthProbe) or name in probes
    }


async def _answers(read: Awaitable[object]) -> BackendHealth:
    await read
    return BackendHealth(up=True)


async def _asked(name: str, probe: Probe, timeout: float) -> BackendHealth | None:
    began = time.perf_counter()
    try:
        state = await within(timeout, f"the {name}", probe())
    except BrainError as error:
        state = BackendHealth(up=False, problem=str(error))
    return None if state is None else msgspec.structs.replace(state, seconds=time.perf_counter() - began)
