"""Channels run at once, each under its own deadline, and none can hurt another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import anyio
import anyio.lowlevel
import msgspec
import numpy as np
import pytest

from brain_async.errors import BackendError, BackendTimeoutError, EmbedderError
from brain_async.model.candidate import Candidate
from brain_async.ports.store import Vector
from brain_async.stages.channels import Channel, FusedChannels, QueryVector, run_channels, skipped

SOON = 0.02
"""A deadline that is meant to pass, in seconds; everything else has a generous one."""

HITS = [Candidate(id=UUID(int=1), score=2.0)]


class Embedder:
    """Gives what ``answer`` gives."""

    dimension = 2
    model = "test"

    def __init__(self, answer: Callable[[], Awaitable[Any]]) -> None:
        self._answer = answer

    async def embed(self, text: str) -> Vector:
        vector: Vector = await self._answer()
        return vector

    async def embed_many(self, texts: Sequence[str]) -> Any:
        raise NotImplementedError


async def found() -> list[Candidate]:
    return HITS


async def hang() -> list[Candidate]:
    await anyio.sleep_forever()
    raise AssertionError


def failing(error: BaseException) -> Callable[[], Awaitable[list[Candidate]]]:
    async def fail() -> list[Candidate]:
        raise error

    return fail


def giving(value: object) -> Callable[[], Awaitable[Any]]:
    async def give() -> object:
        return value

    return give


async def run(*channels: Channel, timeout: float = 5.0, vector: QueryVector | None = None) -> list[Any]:
    with anyio.fail_after(5):
        return await run_channels(channels, timeout=timeout, query_vector=vector)


def dense(vector: QueryVector, received: list[Vector] | None = None) -> Channel:
    async def search(embedding: Vector) -> Sequence[Candidate]:
        if received is not None:
            received.append(embedding)
        return HITS

    return Channel("vector", lambda: vector.search(search), needs_vector=True)


async def test_results_come_in_the_order_of_the_channels() -> None:
    async def late() -> list[Candidate]:
        await anyio.sleep(SOON)
        return HITS

    results = await run(Channel("slow", late), Channel("empty", giving([])), Channel("quick", found))
    assert [result.outcome.channel for result in results] == ["slow", "empty", "quick"]
    assert [result.outcome.status for result in results] == ["ok", "empty", "ok"]
    assert [result.outcome.hits for result in results] == [1, 0, 1]
    assert results[0].outcome.seconds >= SOON * 0.9


async def test_all_channels_and_the_embedding_are_in_flight_at_once() -> None:
    arrived = [anyio.Event() for _ in range(3)]

    async def meet(index: int) -> Any:
        arrived[index].set()
        for other in arrived:
            await other.wait()
        return HITS if index < 2 else np.ones(2, np.float32)

    vector = QueryVector(Embedder(lambda: meet(2)), "q", timeout=5)
    results = await run(
        Channel("lexical", lambda: meet(0)), Channel("trigram", lambda: meet(1)), dense(vector), vector=vector
    )
    assert [result.outcome.status for result in results] == ["ok", "ok", "ok"]


async def test_a_channel_past_its_deadline_is_a_timeout_and_costs_no_sibling_anything() -> None:
    slow, quick = await run(Channel("slow", hang), Channel("quick", found), timeout=SOON)
    assert (slow.outcome.status, quick.outcome.status) == ("timeout", "ok")
    assert isinstance(slow.error, BackendTimeoutError)
    assert "slow" in slow.outcome.detail
    assert quick.hits == HITS


async def test_a_failing_channel_keeps_its_error_and_does_not_cancel_its_sibling() -> None:
    gate = anyio.Event()

    async def after_the_failure() -> list[Candidate]:
        await gate.wait()
        await anyio.lowlevel.checkpoint()
        return HITS

    async def fail() -> list[Candidate]:
        gate.set()
        raise BackendError("down")

    lost, kept = await run(Channel("a", fail), Channel("b", after_the_failure))
    assert (lost.outcome.status, lost.outcome.detail, kept.outcome.status) == ("error", "down", "ok")
    assert not lost.embedder_failed


async def test_an_error_that_is_not_the_librarys_becomes_one_with_its_cause() -> None:
    cause = KeyError("x")
    (result,) = await run(Channel("a", failing(cause)))
    assert type(result.error) is BackendError
    assert result.error.__cause__ is cause


async def test_a_channel_that_its_own_backend_cancels_is_an_error_and_never_lost() -> None:
    lost, kept = await run(Channel("a", failing(asyncio.CancelledError())), Channel("b", found))
    assert (lost.outcome.channel, lost.outcome.status) == ("a", "error")
    assert isinstance(lost.error, BackendError)
    assert kept.outcome.status == "ok"


async def test_the_vector_reaches_the_channel_as_float32() -> None:
    received: list[Vector] = []
    vector = QueryVector(Embedder(giving([0.5, 1.0])), "q", timeout=5)
    (result,) = await run(dense(vector, received), vector=vector)
    assert result.outcome.status == "ok"
    assert received[0].dtype == np.float32
    assert received[0].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("embedding", [[], [0.0, 0.0]], ids=["empty", "zero"])
async def test_a_query_without_a_vector_finds_nothing_and_is_no_failure(embedding: list[float]) -> None:
    received: list[Vector] = []
    vector = QueryVector(Embedder(giving(embedding)), "q", timeout=5)
    (result,) = await run(dense(vector, received), vector=vector)
    assert (result.outcome.status, received) == ("empty", [])


@pytest.mark.parametrize("embedding", [[float("nan"), 1.0], [[1.0, 2.0]], "text", None])
async def test_an_embedder_that_gives_no_finite_vector_has_failed(embedding: object) -> None:
    vector = QueryVector(Embedder(giving(embedding)), "q", timeout=5)
    (result,) = await run(dense(vector), vector=vector)
    assert result.outcome.status == "error"
    assert isinstance(result.error, EmbedderError)
    assert result.embedder_failed


async def test_a_failing_embedder_is_lost_with_its_cause_and_nothing_else_is() -> None:
    cause = RuntimeError("no model")
    vector = QueryVector(Embedder(failing(cause)), "q", timeout=5)
    lexical, lost = await run(Channel("lexical", found), dense(vector), vector=vector)
    assert (lexical.outcome.status, lost.outcome.status) == ("ok", "error")
    assert isinstance(lost.error, EmbedderError)
    assert lost.error.__cause__ is cause
    assert lost.embedder_failed
    assert not lexical.embedder_failed


@pytest.mark.parametrize(("embed_timeout", "channel_timeout"), [(SOON, 5.0), (60.0, SOON), (SOON, SOON)])
async def test_a_hanging_embedder_is_bounded_by_its_own_and_by_the_channels_deadline(
    embed_timeout: float, channel_timeout: float
) -> None:
    vector = QueryVector(Embedder(hang), "q", timeout=embed_timeout)
    lexical, lost = await run(Channel("lexical", found), dense(vector), timeout=channel_timeout, vector=vector)
    assert (lexical.outcome.status, lost.outcome.status) == ("ok", "timeout")
    assert lost.embedder_failed, "the channel had nothing to search with: the embedder is to blame"


async def test_two_channels_of_one_hanging_embedder_both_run_out_of_time() -> None:
    """The deadline of the one that has it made ends the waiting of the other too, whichever comes first."""
    vector = QueryVector(Embedder(hang), "q", timeout=60)
    second = msgspec.structs.replace(dense(vector), name="graph_vector")
    results = await run(dense(vector), second, timeout=SOON, vector=vector)
    assert [(result.outcome.status, result.embedder_failed) for result in results] == [("timeout", True)] * 2


async def test_cancelling_the_caller_cancels_every_channel_and_the_embedding() -> None:
    running, cancelled = [anyio.Event() for _ in range(3)], []

    async def wait(index: int) -> Any:
        running[index].set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(index)

    vector = QueryVector(Embedder(lambda: wait(2)), "q", timeout=5)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel_when_running() -> None:
                for event in running:
                    await event.wait()
                scope.cancel()

            group.start_soon(cancel_when_running)
            await run(Channel("a", lambda: wait(0)), Channel("b", lambda: wait(1)), dense(vector), vector=vector)
    assert scope.cancelled_caught
    assert sorted(cancelled) == [0, 1, 2]


async def test_no_channels_give_no_results() -> None:
    assert await run() == []


def test_a_skipped_channel_says_why() -> None:
    outcome = skipped("trigram", "not attached").outcome
    assert (outcome.channel, outcome.status, outcome.detail) == ("trigram", "skipped", "not attached")


def fused(search: Callable[..., Awaitable[Any]]) -> FusedChannels:
    return FusedChannels(("lexical", "vector"), search, frozenset({"vector"}))


async def fused_hits(vector: Vector | None, names: Sequence[str]) -> dict[str, list[Candidate]]:
    assert (vector is not None) == ("vector" in names)
    return dict.fromkeys(names, HITS)


async def run_fused(
    *channels: Channel | FusedChannels,
    embed: Callable[[], Awaitable[Any]],
    timeout: float = 5.0,
    seconds_to_embed: float = 5.0,
) -> list[Any]:
    vector = QueryVector(Embedder(embed), "q", timeout=seconds_to_embed)
    return await run_channels(channels, timeout=timeout, query_vector=vector)


async def test_fused_channels_give_an_outcome_each_in_their_order() -> None:
    results = await run_fused(Channel("graph_text", found), fused(fused_hits), embed=giving([1.0]))
    assert [(result.outcome.channel, result.outcome.status) for result in results] == [
        ("graph_text", "ok"),
        ("lexical", "ok"),
        ("vector", "ok"),
    ]
    assert results[1].outcome.seconds == results[2].outcome.seconds


@pytest.mark.parametrize("embed", [hang, failing(RuntimeError("no model"))])
async def test_a_lost_embedder_costs_fused_channels_the_dense_one_alone(embed: Callable[[], Awaitable[Any]]) -> None:
    lexical, lost = await run_fused(fused(fused_hits), embed=embed, seconds_to_embed=SOON)
    assert (lexical.outcome.status, lexical.hits) == ("ok", HITS)
    assert lost.error is not None
    assert lost.embedder_failed


async def test_fused_channels_share_one_deadline_and_one_fate() -> None:
    async def wait(*_: object) -> Any:
        return await hang()

    *late, kept = await run_fused(fused(wait), Channel("graph_text", found), embed=giving([1.0]), timeout=SOON)
    assert [result.outcome.status for result in late] == ["timeout", "timeout"]
    assert kept.outcome.status == "ok"
