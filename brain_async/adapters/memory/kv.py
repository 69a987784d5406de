"""MemoryKeyValueStore: an ordered key-value store in this process."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from anyio.lowlevel import checkpoint

from brain_async.errors import ClosedError
from brain_async.ports.kv import Change, Get, Scan, Work
from brain_async.ports.kv_work import first_records, run_work, scan_bounds

__all__ = ["MemoryKeyValueStore"]

T = TypeVar("T")


class _Table:
    """Values by key, in order."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.keys: list[bytes] = []

    def write(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            if self.values.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
        else:
            if key not in self.values:
                insort(self.keys, key)
            self.values[key] = value

    def scan(self, request: Scan) -> dict[bytes, bytes]:
        low, high = scan_bounds(request.prefix, request.after)
        start = bisect_left(self.keys, low)
        end = len(self.keys) if high is None else bisect_left(self.keys, high, start)
        return {key: self.values[key] for key in self.keys[start : min(end, start + max(0, request.limit))]}


class _Reader:
    """A moment of the table: the table, but for the keys that were written since, which are kept here as they were."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._before: dict[bytes, bytes | None] = {}
        self._before_keys: list[bytes] = []
        self.closed = False

    def keep(self, keys: Iterable[bytes]) -> None:
        """Take note of what is about to be overwritten."""
        for key in keys:
            if key not in self._before:
                self._before[key] = self._table.values.get(key)
                insort(self._before_keys, key)

    def _get(self, key: bytes) -> bytes | None:
        if self.closed:
            raise ClosedError("the snapshot is closed")
        return self._before[key] if key in self._before else self._table.values.get(key)

    async def get(self, key: bytes) -> bytes | None:
        """As in the port."""
        return self._get(key)

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """As in the port."""
        await checkpoint()
        return {key: value for key in keys if (value := self._get(key)) is not None}

    async def scan(
        self, prefix: bytes, *, after: bytes | None = None, reverse: bool = False
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """As in the port."""
        low, high = scan_bounds(prefix, after, reverse=reverse)
        await checkpoint()
        while (key := self._last_in(low, high) if reverse else self._first_in(low, high)) is not None:
            low, high = (low, key) if reverse else (key + b"\0", high)
            value = self._get(key)
            if value is not None:
                yield key, value

    async def scan_many(
        self, prefixes: Sequence[bytes], *, limit: int
    ) -> Mapping[bytes, Sequence[tuple[bytes, bytes]]]:
        """As in the port."""
        return {prefix: await first_records(self.scan(prefix), limit) for prefix in dict.fromkeys(prefixes)}

    def _first_in(self, low: bytes, high: bytes | None) -> bytes | None:
        found = None
        for keys in (self._table.keys, self._before_keys):
            place = bisect_left(keys, low)
            if place < len(keys) and (found is None or keys[place] < found):
                found = keys[place]
        return None if found is None or (high is not None and found >= high) else found

    def _last_in(self, low: bytes, high: bytes | None) -> bytes | None:
        found = None
        for keys in (self._table.keys, self._before_keys):
            place = (len(keys) if high is None else bisect_left(keys, high)) - 1
            if place >= 0 and (found is None or keys[place] > found):
                found = keys[place]
        return None if found is None or found < low else found


class MemoryKeyValueStore:
    """Implements ``ports.kv.KeyValueStore`` without durability: what it holds is gone with the process.

    A snapshot costs nothing to take; every commit costs a little for each snapshot that is open.
    """

    def __init__(self) -> None:
        self._table = _Table()
        self._readers: set[_Reader] = set()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Reader]:
        """As in the port."""
        reader = _Reader(self._table)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            reader.closed = True

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        """As in the port."""
        await checkpoint()
        change, result = run_work(work, self._answer)
        self._apply(change)
        return result

    def _answer(self, request: Get | Scan) -> Mapping[bytes, bytes]:
        if isinstance(request, Scan):
            return self._table.scan(request)
        values = self._table.values
        return {key: values[key] for key in request.keys if key in values}

    def _apply(self, change: Change) -> None:
        for reader in self._readers:
            reader.keep(change.writes)
        for key, value in change.writes.items():
            self._table.write(key, value)
