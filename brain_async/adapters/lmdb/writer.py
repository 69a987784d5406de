"""The writer: one thread, and one write transaction for all works that wait when it is free."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread

import lmdb

from brain_async.adapters.lmdb.errors import translate
from brain_async.adapters.lmdb.files import Files
from brain_async.adapters.lmdb.snapshots import Snapshots
from brain_async.errors import BrainError, DiskFullError
from brain_async.ports.kv import Get, Scan
from brain_async.ports.kv_groups import AnyWork, Outcome, WorkGroups
from brain_async.ports.kv_work import run_work, scan_bounds

__all__ = ["Writer"]

_CHECK_READERS_EVERY = 1_000
"""Groups after which LMDB is asked to forget the snapshots of processes that were killed, which keep pages from reuse."""


class _Group:
    """What the works of one write transaction have written, kept back and put at the end: once, and in the order of the keys.

    Works that follow each other write some keys again and again, and LMDB finds its place faster beside the last one.
    """

    def __init__(self, transaction: lmdb.Transaction[bytes]) -> None:
        self._transaction = transaction
        self._writes: dict[bytes, bytes | None] = {}

    def write(self, writes: Mapping[bytes, bytes | None]) -> None:
        """Add the writes of one work."""
        self._writes.update(writes)

    def flush(self) -> None:
        """Put everything into the transaction."""
        writes, self._writes = self._writes, {}
        kept: list[tuple[bytes, bytes]] = []
        for key, value in writes.items():
            if value is None:
                self._transaction.delete(key)
            else:
                kept.append((key, value))
        kept.sort()
        with self._transaction.cursor() as cursor:
            cursor.putmulti(kept)

    def answer(self, request: Get | Scan) -> Mapping[bytes, bytes]:
        """What is there, with the writes of the works before."""
        if isinstance(request, Get):
            return {key: value for key in request.keys if (value := self._get(key)) is not None}
        self.flush()
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
        if key in self._writes:
            return self._writes[key]
        try:
            return self._transaction.get(key)
        except lmdb.BadValsizeError:  # a key that no store can hold
            return None


class Writer:
    """Runs groups of works in a thread, each group in one transaction: its works, run one after another, share an fsync."""

    def __init__(self, files: Files, snapshots: Snapshots) -> None:
        self._files = files
        self._snapshots = snapshots
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Sequence[AnyWork] | None] = SimpleQueue()
        self.groups = WorkGroups(self._queue.put)
        self._thread = Thread(target=self._run, name="brain-lmdb-writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, whose groups must have been drained. Blocks."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        written = 0
        while (works := self._queue.get()) is not None:
            try:
                outcomes = self._written(works)
                written += 1
                if written % _CHECK_READERS_EVERY == 0:
                    self._files.environment.reader_check()
            except BaseException as error:  # whatever it is, somebody waits for it
                outcomes = [Outcome(error=error)] * len(works)
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                self._loop.call_soon_threadsafe(self.groups.finish, outcomes)

    def _written(self, works: Sequence[AnyWork]) -> list[Outcome]:
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
            return [Outcome(error=failure)] * len(works)

    def _written_alone(self, work: AnyWork) -> Outcome:
        try:
            return self._transact([work])[0]
        except lmdb.Error as error:
            return Outcome(error=self._failure(error))

    def _transact(self, works: Sequence[AnyWork]) -> list[Outcome]:
        self._files.write_ahead()
        transaction = self._files.environment.begin(db=self._files.database, write=True)
        try:
            group = _Group(transaction)
            outcomes = [self._apply(group, work) for work in works]
            group.flush()
        except BaseException:
            transaction.abort()
            raise
        transaction.commit()
        return outcomes

    def _apply(self, group: _Group, work: AnyWork) -> Outcome:
        """Run a work and take its change. What it raises is its outcome; what LMDB raises ends the group."""
        try:
            change, result = run_work(work, group.answer)
        except lmdb.Error:
            raise
        except BaseException as error:
            return Outcome(error=error)
        group.write(change.writes)
        return Outcome(result)

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
