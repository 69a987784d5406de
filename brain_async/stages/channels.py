"""Stage 1: run the channels of a verb concurrently, each under its own deadline, none able to hurt another."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
import msgspec
import numpy as np

from brain_async.config import ChannelName
from brain_async.errors import BackendError, BackendTimeoutError, BrainError, EmbedderError
from brain_async.model.candidate import Candidate
from brain_async.model.results import ChannelOutcome, OutcomeStatus
from brain_async.ports.host import QueryEmbedder
from brain_async.ports.store import Vector

__all__ = ["Channel", "ChannelResult", "FusedChannels", "QueryVector", "run_channels", "skipped"]


class Channel(msgspec.Struct, frozen=True):
    """A channel ready to run; ``needs_vector`` when it awaits the query's vector."""

    name: str
    search: Callable[[], Awaitable[Sequence[Candidate]]]
    needs_vector: bool = False


class FusedChannels(msgspec.Struct, frozen=True):
    """Channels that one call answers: one deadline, one fate.

    ``search`` is given the query's vector (None without one) and the names of the channels that can run. ``dense`` are those
    that need the vector: it is awaited first, outside the deadline and under its own, and where it fails they alone are lost.
    """

    names: tuple[ChannelName, ...]
    search: Callable[[Vector | None, Sequence[ChannelName]], Awaitable[Mapping[ChannelName, Sequence[Candidate]]]]
    dense: frozenset[ChannelName] = frozenset()


class ChannelResult(msgspec.Struct, frozen=True):
    """What a channel found, or the error that kept it from finding anything; whether that was the embedder's."""

    outcome: ChannelOutcome
    hits: Sequence[Candidate] = ()
    error: BrainError | None = None
    embedder_failed: bool = False


class QueryVector:
    """The embedding of the query: computed once, by the first channel that asks for it, beside those that need none."""

    def __init__(self, embedder: QueryEmbedder, query: str, *, timeout: float) -> None:
        self._embedder = embedder
        self._query = query
        self._timeout = timeout
        self._done: anyio.Event | None = None
        self._vector: Vector | None = None
        self.error: BrainError | None = None

    async def search(self, channel: Callable[[Vector], Awaitable[Sequence[Candidate]]]) -> Sequence[Candidate]:
        """What ``channel`` finds with the vector; nothing for a query without one. Raises what embedding raised."""
        vector = await self.get()
        return [] if vector is None else await channel(vector)

    async def get(self) -> Vector | None:
        """The vector; None for a query without one. Raises what embedding raised."""
        if self._done is None:
            self._done = anyio.Event()
            await self._compute(self._done)
        else:
            await self._done.wait()
        if self.error is not None:
            raise self.error
        return self._vector

    async def _compute(self, done: anyio.Event) -> None:
        """Embed, and wake whoever waits, with the vector or with the error."""
        try:
            with anyio.fail_after(self._timeout):
                self._vector = _usable(await self._embedder.embed(self._query))
        except TimeoutError as error:
            self.error = BackendTimeoutError(f"embedding the query took longer than {self._timeout} s")
            self.error.__cause__ = error
        except BrainError as error:
            self.error = error
        except Exception as error:
            self.error = EmbedderError(f"the embedder failed: {type(error).__name__}: {error}")
            self.error.__cause__ = error
        except BaseException:
            # The deadline of the channel that asked, and so of the others too, which began with it.
            self.error = BackendTimeoutError("embedding the query was given up: the channel's time was over")
            raise
        finally:
            done.set()


def _usable(embedding: Vector) -> Vector | None:
    """``embedding`` as a vector; None for an empty or all-zero one, which points nowhere. Raises EmbedderError."""
    vector = np.asarray(embedding, np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise EmbedderError(f"the embedder gave no finite vector, but an array of shape {vector.shape}")
    return vector if vector.any() else None


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
    return _result(channel.name, hits, error, started=start - began, seconds=time.perf_counter() - start)


async def _run_fused(
    fused: FusedChannels, query_vector: QueryVector | None, timeout: float, began: float
) -> list[ChannelResult]:
    lost: BrainError | None = None
    vector: Vector | None = None
    if fused.dense and query_vector is not None:
        try:
            vector = await query_vector.get()
        except BrainError as failure:
            lost = failure
    names = [name for name in fused.names if lost is None or name not in fused.dense]
    found: Mapping[ChannelName, Sequence[Candidate]] = {}

    async def search() -> Sequence[Candidate]:
        nonlocal found
        found = await fused.search(vector, names)
        return ()

    one = await _run(Channel(" and ".join(names), search), timeout, began) if names else None
    results = []
    for name in fused.names:
        if one is None or name not in names:
            results.append(_result(name, (), lost))
        else:
            timing = one.outcome
            result = _result(name, found.get(name, ()), one.error, started=timing.started, seconds=timing.seconds)
            results.append(result)
    return results


def _result(
    name: str, hits: Sequence[Candidate], error: BrainError | None, *, started: float = 0.0, seconds: float = 0.0
) -> ChannelResult:
    status: OutcomeStatus
    if error is not None:
        status = "timeout" if isinstance(error, BackendTimeoutError) else "error"
    else:
        status = "ok" if hits else "empty"
    outcome = ChannelOutcome(
        channel=name,
        status=status,
        hits=len(hits),
        started=started,
        seconds=seconds,
        detail=str(error) if error is not None else "",
    )
    return ChannelResult(outcome, hits, error)


async def run_channels(
    channels: Sequence[Channel | FusedChannels], *, timeout: float, query_vector: QueryVector | None = None
) -> list[ChannelResult]:
    """Run ``channels`` under one task group; one result each, in the order given, and one for each name of a fused one.

    ``timeout`` is the deadline of each channel in seconds. ``query_vector`` is the one that they ask, which says whose fault
    the failure of a dense channel was. Never raises for a channel; a cancellation of the caller cancels all.
    """
    began = time.perf_counter()
    results: dict[str, ChannelResult] = {}

    async def collect(channel: Channel | FusedChannels) -> None:
        if isinstance(channel, FusedChannels):
            for result in await _run_fused(channel, query_vector, timeout, began):
                results[result.outcome.channel] = result
        else:
            results[channel.name] = await _run(channel, timeout, began)

    async with anyio.create_task_group() as group:
        for channel in channels:
            group.start_soon(collect, channel)
    return [
        _settled(name, needs_vector, results, query_vector)
        for channel in channels
        for name, needs_vector in _names(channel)
    ]


def _names(channel: Channel | FusedChannels) -> list[tuple[str, bool]]:
    """The name of each channel that ``channel`` runs, and whether it needs the vector."""
    if isinstance(channel, FusedChannels):
        return [(name, name in channel.dense) for name in channel.names]
    return [(channel.name, channel.needs_vector)]


def _settled(
    name: str, needs_vector: bool, results: Mapping[str, ChannelResult], query_vector: QueryVector | None
) -> ChannelResult:
    result = results.get(name)
    if result is None:
        # Its own backend cancelled it (a closing pool does that), which ends a task without an error.
        result = _result(name, (), BackendError(f"channel {name} was cancelled by its backend"))
    if result.error is not None and needs_vector and query_vector is not None and query_vector.error is not None:
        return msgspec.structs.replace(result, embedder_failed=True)
    return result
