"""Checks of HealthProbe, on a backend that is well."""

from __future__ import annotations

import anyio
import msgspec

from brain_async.model.health import BackendHealth
from brain_async.ports.health import HealthProbe

__all__ = ["CHECKS"]

_AT_ONCE = 8


async def check_health_of_a_backend_that_is_well(backend: HealthProbe) -> None:
    """It is up, without a problem, or cannot say; what it says is plain JSON, and ``seconds`` is left to the caller."""
    assert isinstance(backend, HealthProbe)
    state = await backend.health()
    if state is not None:
        assert (state.up, state.problem, state.seconds) == (True, "", 0.0)
        assert msgspec.json.decode(msgspec.json.encode(state), type=BackendHealth) == state


async def check_health_asked_many_times_at_once(backend: HealthProbe) -> None:
    """Many who ask at once all hear of the same."""
    states: list[BackendHealth | None] = []

    async def ask() -> None:
        states.append(await backend.health())

    async with anyio.create_task_group() as group:
        for _ in range(_AT_ONCE):
            group.start_soon(ask)
    assert len(states) == _AT_ONCE
    assert len({None if state is None else (state.up, state.version) for state in states}) == 1


async def check_health_given_up_leaves_no_trace(backend: HealthProbe) -> None:
    """A probe that is cancelled, before it starts or on its way, spoils none after it."""
    for seconds in (0.0, 0.0001, 0.001):
        with anyio.move_on_after(seconds):
            await backend.health()
    state = await backend.health()
    assert state is None or state.up


CHECKS = (
    check_health_of_a_backend_that_is_well,
    check_health_asked_many_times_at_once,
    check_health_given_up_leaves_no_trace,
)
