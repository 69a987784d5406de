"""Stage 1: run the channels of a verb concurrently, each under its own deadline, none able to hurt another."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec

from brain_async.errors import BackendError, BackendTimeoutError, BrainError, EmbedderError
from brain_async.model.candidate import Candidate
from brain_async.model.results import ChannelOutcome
from brain_async.ports.host import QueryEmbedder
from brain_async.ports.store import Vector

__all__ = ["Channel", "ChannelResult", "QueryVector", "run_channels", "skipped"]


class Channel(msgspec.Struct, frozen=True):
    """A channel ready to run."""

    name: str
    search: Callable[[], Awaitable[Sequence[Candidate]]]


class ChannelResult(msgspec.Struct, frozen=True):
    """What a channel found, or the error that kept it from finding anything."""

    outcome: ChannelOutcome
    hits: Sequence[Candidate] = ()
    error: BrainError | None = None


class QueryVector:
    """The embedding of the query: computed once, beside the channels that do not need it, awaited by those that do."""

    def __init__(self, embedder: QueryEmbedder, query: str, *, timeout: float) -> None:
        self._embedder = embedder
        self._query = query
        self._timeout = timeout
        self._done = anyio.Event()
        self._vector: Vector | None = None
        self._error: BrainError | None = None

    async def compute(self) -> None:
        """Embed, and wake whoever waits, with the vector or with the error."""
        try:
            with anyio.fail_after(self._timeout):
                self._vector = await self._embedder.embed(self._query)
        except TimeoutError as error:
            self._error = BackendTimeoutError(f"embedding the query took longer than {self._timeout} s")
            self._error.__cause__ = error
        except BrainError as error:
            self._error = error
        except Exception as error:
            self._error = EmbedderError(f"the embedder failed: {type(error).__name__}: {error}")
            self._error.__cause__ = error
        finally:
            self._done.set()

    async def get(self) -> Vector:
        """The vector. Raises what computing it raised."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        if self._vector is None:
            raise EmbedderError("embedding the query was cancelled")
        return self._vector


def skipped(name: str, reason: str) -> ChannelResult:
    """The result of a channel that was not run."""
    return ChannelResult(ChannelOutcome(channel=name, status="skipped", detail=reason))


async def _run(channel: Channel, timeout: float, began: float) -> ChannelResult:
    start = time.perf_counter()
    hits: Sequence[Candidate] = ()
    error: BrainError | None = None
    try:
        with anyio.move_on_after(timeout) as deadline:
            hits = await channel.search()
        if deadline.cancelled_caught:
            error = BackendTimeoutError(f"channel {channel.name} did not answer within {timeout} s")
    except BrainError as failure:
        error = failure
    except Exception as failure:
        error = BackendError(f"channel {channel.name} failed: {type(failure).__name__}: {failure}")
        error.__cause__ = failure
    end = time.perf_counter()
    outcome = ChannelOutcome(
        channel=channel.name,
        status=("timeout" if isinstance(error, BackendTimeoutError) else "error")
        if error
        else ("ok" if hits else "empty"),
        hits=len(hits),
        started=start - began,
        seconds=end - start,
        detail=str(error) if error else "",
    )
    return ChannelResult(outcome, hits, error)


async def run_channels(
    channels: Sequence[Channel], *, timeout: float, query_vector: QueryVector | None = None
) -> list[ChannelResult]:
    """Run ``channels`` under one task group; one result each, in the order given.

    ``timeout`` is the deadline of each channel in seconds. ``query_vector`` is computed in the same group. Never raises
    for a channel; a cancellation of the caller cancels all.
    """
    began = time.perf_counter()
    results: list[ChannelResult | None] = [None] * len(channels)

    async def collect(index: int, channel: Channel) -> None:
        results[index] = await _run(channel, timeout, began)

    async with anyio.create_task_group() as group:
        if query_vector is not None:
            group.start_soon(query_vector.compute)
        for index, channel in enumerate(channels):
            group.start_soon(collect, index, channel)
    return [result for result in results if result is not None]
