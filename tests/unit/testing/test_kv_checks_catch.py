"""The key-value checks pass on what is right and fail on what is wrong: each broken store breaks one promise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint

from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.ports.kv import Change, Get, KeyValueReader, Scan, Work
from brain_async.testing import KV_CHECKS

T = TypeVar("T")


async def _failures(make_store: type[MemoryKeyValueStore]) -> set[str]:
    failed = set()
    for check in KV_CHECKS:
        try:
            await check(make_store())
        except Exception:
            failed.add(check.__name__)
    return failed


class Following(MemoryKeyValueStore):
    """Its snapshots show what is written later."""

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[KeyValueReader]:
        async with super().snapshot() as reader:
            self._readers.clear()
            yield reader


class Interleaving(MemoryKeyValueStore):
    """Its works do not wait for each other."""

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        steps = work()
        answer = None
        try:
            while True:
                request = next(steps) if answer is None else steps.send(answer)
                answer = self._answer(request)
                await checkpoint()
        except StopIteration as finished:
            change, result = finished.value
        self._apply(change)
        return result


class Tearing(MemoryKeyValueStore):
    """A cancelled change is written by half."""

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        def half() -> Work[T]:
            change, result = yield from work()
            return Change(dict(list(change.writes.items())[:1])), result

        try:
            await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await super().commit(half)
            raise
        return await super().commit(work)


class Inclusive(MemoryKeyValueStore):
    """A scan for a work begins at ``after``, not past it."""

    def _answer(self, request: Get | Scan) -> dict[bytes, bytes]:
        if isinstance(request, Scan) and request.after is not None:
            low = max(request.after, request.prefix)
            found = super()._answer(Scan(request.prefix))
            return dict([item for item in found.items() if item[0] >= low][: request.limit])
        return dict(super()._answer(request))


async def test_the_checks_catch_what_is_broken() -> None:
    assert await _failures(MemoryKeyValueStore) == set()
    assert "check_kv_snapshots_are_moments" in await _failures(Following)
    assert "check_kv_works_are_serialised" in await _failures(Interleaving)
    assert await _failures(Tearing) == {"check_kv_cancelled_commits"}
    assert await _failures(Inclusive) == {"check_kv_scan_bounds", "check_kv_work_reads"}
