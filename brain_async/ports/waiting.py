"""Time spent waiting for a pooled connection, told by the adapter that waits to the verb it waits for.

A verb that is observed keeps a tally in the context of its task, which the tasks of its channels inherit; an adapter adds to
whatever tally there is. Without an observer there is none.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

__all__ = ["WaitTally", "add_wait", "start_tally", "stop_tally"]


class WaitTally:
    """What the channels of one verb waited, together."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """For all waits; concurrent ones add up, so it may exceed the verb's own time."""


_tally: ContextVar[WaitTally | None] = ContextVar("brain_async_wait_tally", default=None)


def start_tally() -> tuple[WaitTally, Token[WaitTally | None]]:
    """A new tally for this task and those it starts, and what ``stop_tally`` needs to end it."""
    tally = WaitTally()
    return tally, _tally.set(tally)


def stop_tally(token: Token[WaitTally | None]) -> None:
    """Bring back the tally there was before, in the task that started the newer one."""
    _tally.reset(token)


def add_wait(seconds: float) -> None:
    """Note a wait of ``seconds`` for a connection."""
    tally = _tally.get()
    if tally is not None:
        tally.seconds += seconds
