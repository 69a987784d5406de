"""How the backends of an engine are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

__all__ = ["BackendHealth", "HealthReport"]


class BackendHealth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One backend at one moment.

    Attributes:
        up: whether it answered, and can do its work.
        version: of the server or the model behind it; "" where there is none.
        seconds: how long it took to answer, or until it was given up.
        problem: what is wrong, in words for the operator; "" when it is up.
        details: what the backend says of itself, by names of its own.
    """

    up: bool
    version: str = ""
    seconds: float = 0.0
    problem: str = ""
    details: Mapping[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Engine.health`` returns.

    Attributes:
        ready: whether searches can be answered: the store is up, and so is whatever the engine's config does not let degrade.
        backends: ``store``, ``graph``, ``ledger`` and ``embedder``, those that are attached and can say.
        pending_objects, pending_edges: what the graph still has to be told; None where there is no outbox, or it failed.
        seconds: how long the slowest took.
    """

    ready: bool
    backends: Mapping[str, BackendHealth]
    pending_objects: int | None = None
    pending_edges: int | None = None
    seconds: float = 0.0

    @property
    def status(self) -> Literal["up", "degraded", "down"]:
        """``up`` when every backend is, ``down`` when the engine is not ready, else ``degraded``."""
        if not self.ready:
            return "down"
        return "up" if all(backend.up for backend in self.backends.values()) else "degraded"
