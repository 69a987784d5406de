"""Port of health: what a backend says of itself."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from brain_async.model.health import BackendHealth

__all__ = ["HealthProbe"]


@runtime_checkable
class HealthProbe(Protocol):
    """A backend that can say how it is."""

    async def health(self) -> BackendHealth | None:
        """How it is now, found out by asking it, in one cheap request; None where it cannot say.

        A backend that cannot be asked may raise instead: that counts as down, with the error as the problem. ``seconds`` is
        filled in by the caller. Cancelling leaves no trace.
        """
        ...
