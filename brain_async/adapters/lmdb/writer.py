"""The writer: one thread, and one write transaction for all works that wait when it is free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

import lmdb

from brain_async.adapters.lmdb.errors import translate
from brain_async.adapters.lmdb.files import Files
from brain_async.adapters.lmdb.snapshots import Snapshots
from brain_async.errors import BrainError, DiskFullError
from brain_async.ports.kv import Get, Scan, Work
from brain_async.ports.kv_work import run_work, scan_bounds

__all__ = ["Writer"]

T = TypeVar("T")


class _Outcome(NamedTuple):
    """What a work returned, or what it raised."""

    result: Any = None
    error: BaseException | None = None


_Works: TypeAlias = Sequence[Callable[[], Work[Any]]]
_Submitted: TypeAlias = tuple[Callable[[], Work[Any]], "asyncio.Future[_Outcome]"]

_CHECK_READERS_EVERY = 1_000
"""Groups after which LMDB is asked to forget the snapshots of processes that were killed, which keep pages from reuse."""


class _Reading:
    """Answers the requests of works from a write transaction."""

    def __init__(self, transaction: lmdb.Transaction[bytes]) -> None:
        self._transaction = transaction

    def answer(self, request: Get | Scan) -> Mapping[bytes, bytes]:
        if isinstance(request, Get):
            return {key: value for key in request.keys if (value := self._get(key)) is not None}
        low, high = scan_bounds(request.prefix, request.after)
        found: dict[bytes, bytes] = {}
        with self._transaction.cursor() as cursor:
            if cursor.set_range(low):
                for key, value in islice(cursor.iternext(), max(0, request.limit)):
                    if high is not None and key >= high:
                        break
                    found[key] = value
        return found

    def _get(self, key: bytes) -> bytes | None:
        try:
            return self._transaction.get(key)
        except lmdb.BadValsizeError:  # a key that no store can hold
            return None


class Writer:
    """Collects works on an event loop, and runs them in a thread, in the order in which they came.

    What was submitted while the thread was busy becomes one group: the works run one after another in one transaction,
    each seeing what those before it wrote, and share its fsync.
    """

    def __init__(self, files: Files, snapshots: Snapshots) -> None:
        self._files = files
        self._snapshots = snapshots
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Submitted] = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._groups: SimpleQueue[list[_Submitted] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="brain-lmdb-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Callable[[], Work[T]]) -> T:
        """The result of ``work``, once it is durable. Cancelled before its group begins, it is not run."""
        future: asyncio.Future[_Outcome] = self._loop.create_future()
        self._waiting.append((work, future))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            self._loop.call_soon(self._begin)
        outcome = await future
        if outcome.error is not None:
            raise outcome.error
        result: T = outcome.result
        return result

    async def drain(self) -> None:
        """Wait until everything submitted is written."""
        await self._idle.wait()

    def stop(self) -> None:
        """End the thread, which must have been drained. Blocks."""
        self._groups.put(None)
        self._thread.join()

    def _begin(self) -> None:
        group = [(work, future) for work, future in self._waiting if not future.done()]
        self._waiting = []
        if group:
            self._groups.put(group)
        else:
            self._busy = False
            self._idle.set()

    def _finish(self, group: Sequence[_Submitted], outcomes: Sequence[_Outcome]) -> None:
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)
        # After the callers that this wakes: what they submit next belongs to the next group.
        self._loop.call_soon(self._begin)

    def _run(self) -> None:
        groups = 0
        while (group := self._groups.get()) is not None:
            try:
                outcomes = self._written([work for work, _ in group])
                groups += 1
                if groups % _CHECK_READERS_EVERY == 0:
                    self._files.environment.reader_check()
            except BaseException as error:  # whatever it is, somebody waits for it
                outcomes = [_Outcome(error=error)] * len(group)
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                self._loop.call_soon_threadsafe(self._finish, group, outcomes)

    def _written(self, works: _Works) -> list[_Outcome]:
        """Write a group; where it does not fit as a whole, every work by itself."""
        while True:
            try:
                return self._transact(works)
            except lmdb.MapFullError as full:
                failure = self._enlarge()
                if failure is None:
                    continue
                failure.__cause__ = failure.__cause__ or full
            except lmdb.Error as error:
                failure = self._failure(error)
            if len(works) > 1 and isinstance(failure, DiskFullError):
                return [self._written_alone(work) for work in works]
            return [_Outcome(error=failure)] * len(works)

    def _written_alone(self, work: Callable[[], Work[Any]]) -> _Outcome:
        try:
            return self._transact([work])[0]
        except lmdb.Error as error:
            return _Outcome(error=self._failure(error))

    def _transact(self, works: _Works) -> list[_Outcome]:
        transaction = self._files.environment.begin(db=self._files.database, write=True)
        try:
            reading = _Reading(transaction)
            outcomes = [self._apply(transaction, reading, work) for work in works]
        except BaseException:
            transaction.abort()
            raise
        transaction.commit()
        return outcomes

    def _apply(
        self, transaction: lmdb.Transaction[bytes], reading: _Reading, work: Callable[[], Work[Any]]
    ) -> _Outcome:
        """Run a work and write its change. What it raises is its outcome; what LMDB raises ends the group."""
        try:
            change, result = run_work(work, reading.answer)
        except lmdb.Error:
            raise
        except BaseException as error:
            return _Outcome(error=error)
        for key, value in change.writes.items():
            if value is None:
                transaction.delete(key)
            else:
                transaction.put(key, value)
        return _Outcome(result)

    def _failure(self, error: lmdb.Error) -> BrainError:
        if self._files.is_disk_full(error):
            failure: BrainError = DiskFullError(f"the disk is full, nothing was written: {error}")
        else:
            failure = translate(error)
        failure.__cause__ = error
        return failure

    def _enlarge(self) -> BrainError | None:
        """Map more space, which takes a moment without any open transaction. Returns what is in the way of it."""
        try:
            asyncio.run_coroutine_threadsafe(self._snapshots.pause(), self._loop).result()
            try:
                self._files.enlarge()
            finally:
                self._loop.call_soon_threadsafe(self._snapshots.resume)
        except lmdb.Error as error:
            return self._failure(error)
        except DiskFullError as error:
            return error
        return None
