"""Observation: one span per verb, one child per channel; an observer's own failures never reach the caller."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Token
from functools import partial
from types import TracebackType

import anyio

from brain_async.model.results import ChannelOutcome, DegradeMode, SearchPage
from brain_async.ports.host import Observer, OperationEnd, OperationStart
from brain_async.ports.waiting import WaitTally, start_tally, stop_tally

__all__ = ["Span"]

logger = logging.getLogger("brain_async")

_span_ids = itertools.count(1)

OBSERVER_GRACE = 1.0
"""Seconds an observer gets to hear of one event, also of the end of a cancelled verb; too slow, it is told no more of it."""


class Span:
    """One running verb: ``async with Span(observer, "search") as span``. Entering is a cancellation point."""

    def __init__(self, observer: Observer | None, operation: str) -> None:
        self._observer = observer
        self._operation = operation
        self._id = next(_span_ids)
        self._started = 0.0
        self._items = 0
        self._degrade_mode = DegradeMode.NONE
        self._degraded: tuple[str, ...] = ()
        self._observer_hangs = False
        self._query = ""
        self._tally: tuple[WaitTally, Token[WaitTally | None]] | None = None

    async def __aenter__(self) -> Span:
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._started = time.perf_counter()
        if self._observer is not None:
            event = OperationStart(span=self._id, operation=self._operation)
            await self._tell(lambda observer: observer.operation_started(event))
            self._tally = start_tally()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if self._observer is None:
            return
        waited = 0.0
        if self._tally is not None:
            tally, token = self._tally
            stop_tally(token)
            waited = tally.seconds
        event = OperationEnd(
            span=self._id,
            operation=self._operation,
            items=self._items,
            seconds=self.elapsed,
            degrade_mode=self._degrade_mode,
            degraded=self._degraded,
            error=error,
            query=self._query,
            pool_wait=waited,
        )
        with anyio.CancelScope(shield=True):
            await self._tell(lambda observer: observer.operation_ended(event))

    @property
    def elapsed(self) -> float:
        """Seconds since the verb began."""
        return time.perf_counter() - self._started

    def asked(self, query: str) -> str:
        """Note what is searched for, and return it."""
        self._query = query
        return query

    def returned(self, items: int) -> None:
        """Note how many items the verb returns."""
        self._items = items

    def degrade(self, what: str) -> None:
        """Note that the verb did without ``what``."""
        if what not in self._degraded:
            self._degraded = (*self._degraded, what)

    def page(self, page: SearchPage) -> SearchPage:
        """Note what ``page`` holds and lost, and return it."""
        self._items = len(page.objects)
        self._degrade_mode = page.degrade_mode
        self._degraded = page.degraded
        return page

    async def channels(self, outcomes: Iterable[ChannelOutcome]) -> None:
        """Report the channels of this verb, and log each that failed."""
        for outcome in outcomes:
            if outcome.status in ("error", "timeout"):
                logger.warning(
                    "%s: channel %s: %s %s", self._operation, outcome.channel, outcome.status, outcome.detail
                )
            await self._tell(partial(_tell_channel, self._id, outcome))

    async def _tell(self, event: Callable[[Observer], Awaitable[None]]) -> None:
        """Tell the observer of ``event``, waiting at most ``OBSERVER_GRACE``."""
        if self._observer is None or self._observer_hangs:
            return
        try:
            with anyio.fail_after(OBSERVER_GRACE):
                await event(self._observer)
        except TimeoutError:
            self._observer_hangs = True
            logger.exception("the observer did not return during %s: it is told no more of this call", self._operation)
        except Exception:
            logger.exception("the observer failed during %s", self._operation)


async def _tell_channel(span: int, outcome: ChannelOutcome, observer: Observer) -> None:
    await observer.channel_ended(span, outcome)
