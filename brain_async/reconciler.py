"""Reconciler: a background task that keeps telling the graph what the outbox holds."""

from __future__ import annotations

import asyncio
import logging
import random
from types import TracebackType

from brain_async.engine import Engine
from brain_async.errors import BrainError, InvalidInputError
from brain_async.model.drift import ReconcileReport
from brain_async.model.scope import Scope

__all__ = ["Reconciler"]

logger = logging.getLogger("brain_async")


class Reconciler:
    """``async with Reconciler(engine):`` reconciles every ``interval`` seconds for as long as the block runs.

    While the graph, or the outbox, fails the pauses double, up to ``max_backoff`` seconds, and are shortened at random by up to
    a half, so that many processes do not come at once. Any number may run side by side. Leaving cancels a run in
    progress; whatever it had not settled stays in the outbox. A programming error in a backend ends the task, and is raised on
    leaving unless the block raised its own.
    """

    def __init__(
        self, engine: Engine, *, scope: Scope = Scope(), interval: float = 5.0, max_backoff: float = 300.0
    ) -> None:
        """Do nothing yet. Raises InvalidInputError unless 0 < interval <= max_backoff (both in seconds)."""
        if not 0 < interval <= max_backoff:
            raise InvalidInputError("0 < interval <= max_backoff must hold", field="interval")
        self._engine = engine
        self._scope = scope
        self._interval = interval
        self._max_backoff = max_backoff
        self._task: asyncio.Task[None] | None = None
        self._last: ReconcileReport | None = None

    @property
    def last(self) -> ReconcileReport | None:
        """The report of the last run that ended; None before the first one."""
        return self._last

    async def __aenter__(self) -> Reconciler:
        if self._task is not None:
            raise InvalidInputError("a Reconciler runs once: make another one", field="reconciler")
        self._task = asyncio.create_task(self._run(), name="brain_async.Reconciler")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (failure := task.exception()) is not None and error is None:
            raise failure

    async def _run(self) -> None:
        pause = self._interval
        while True:
            pause = self._interval if await self._once() else min(2 * pause, self._max_backoff)
            await asyncio.sleep(pause * (1 if pause == self._interval else random.uniform(0.5, 1)))

    async def _once(self) -> bool:
        """Reconcile; False when something failed."""
        try:
            self._last = await self._engine.reconcile(self._scope)
        except BrainError as error:
            logger.warning("the reconciler failed, and tries again: %s", error)
            return False
        if not self._last.ok:
            logger.warning("the graph could not be told of %s entries yet", self._last.after.pending)
        return self._last.ok
