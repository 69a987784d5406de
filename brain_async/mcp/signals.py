"""Being told to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio

__all__ = ["on_stop_signal"]


async def on_stop_signal(stop: Callable[[int], object]) -> None:
    """Call ``stop`` with its number whenever SIGINT or SIGTERM comes, until cancelled; in the main thread only.

    Left alone, SIGTERM would end the process before the engine is closed.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for received in signals:
            stop(received)
