"""Snapshots: LMDB's read transactions, read in the event loop's thread, and the pause in which the map can be moved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

import lmdb

from brain_async.adapters.lmdb.errors import translate, translated
from brain_async.adapters.lmdb.files import Files
from brain_async.errors import DiskFullError
from brain_async.ports.kv_work import first_records, scan_bounds

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Snapshot", "Snapshots"]

_TURN_BYTES = 1 << 18
_RECORD_BYTES = 512
"""What reading a record costs beside its value, as bytes: after _TURN_BYTES, about a millisecond, others get their turn."""

_QUIET_SECONDS = 10.0


class Snapshots:
    """Begins read transactions, on one event loop. While paused, new ones wait."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._open = 0
        self._may_begin = asyncio.Event()
        self._may_begin.set()
        self._none_open = asyncio.Event()
        self._none_open.set()

    async def begin(self) -> lmdb.Transaction[bytes]:
        """A read transaction, to be given back to ``end``."""
        while True:
            if not self._may_begin.is_set():
                await self._may_begin.wait()
                continue
            try:
                transaction = self._files.environment.begin(db=self._files.database)
            except lmdb.MapResizedError:
                await self._follow()
            except lmdb.Error as error:
                raise translate(error) from error
            else:
                self._open += 1
                self._none_open.clear()
                return transaction

    def end(self, transaction: lmdb.Transaction[bytes]) -> None:
        """Close a read transaction; LMDB keeps it to be renewed."""
        transaction.abort()
        self._open -= 1
        if not self._open:
            self._none_open.set()

    async def pause(self) -> None:
        """Let no snapshot begin, and wait for those that are open. Raises DiskFullError when one stays open too long."""
        self._may_begin.clear()
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                await self._none_open.wait()
        except TimeoutError as error:
            self.resume()
            raise DiskFullError(
                f"the map is full, and cannot grow while snapshots are open; {self._open} stayed open for"
                f" {_QUIET_SECONDS:g} s: hold them shorter, or open the store with a larger map_size"
            ) from error
        except BaseException:
            self.resume()
            raise

    def resume(self) -> None:
        """Let snapshots begin again."""
        self._may_begin.set()

    async def _follow(self) -> None:
        """Map what a writer in another process has grown to."""
        await self.pause()
        try:
            with translated():
                self._files.enlarge()
        finally:
            self.resume()


class Snapshot:
    """Implements ``ports.kv.KeyValueReader`` between entering and leaving; after that its calls raise ClosedError."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._transaction: lmdb.Transaction[bytes]

    async def __aenter__(self) -> Self:
        self._transaction = await self._snapshots.begin()
        return self

    async def __aexit__(self, *_exc_info: object) -> None:
        self._snapshots.end(self._transaction)

    async def get(self, key: bytes) -> bytes | None:
        """As in the port."""
        try:
            return self._transaction.get(key)
        except lmdb.BadValsizeError:  # a key that no store can hold
            return None
        except lmdb.Error as error:
            raise translate(error) from error

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """As in the port."""
        found: dict[bytes, bytes] = {}
        spent = 0
        for key in keys:
            value = await self.get(key)
            spent += _RECORD_BYTES
            if value is not None:
                found[key] = value
                spent += len(value)
            if spent > _TURN_BYTES:
                await asyncio.sleep(0)
                spent = 0
        return found

    async def scan(
        self, prefix: bytes, *, after: bytes | None = None, reverse: bool = False
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """As in the port."""
        low, high = scan_bounds(prefix, after, reverse=reverse)
        spent = 0
        with translated(), self._transaction.cursor() as cursor:
            if reverse:
                past_the_end = high is not None and cursor.set_range(high)
                there = cursor.prev() if past_the_end else cursor.last()
                records = cursor.iterprev()
            else:
                there = cursor.set_range(low)
                records = cursor.iternext()
            if not there:
                return
            for key, value in records:
                if key < low if reverse else high is not None and key >= high:
                    return
                yield key, value
                spent += _RECORD_BYTES + len(value)
                if spent > _TURN_BYTES:
                    await asyncio.sleep(0)
                    spent = 0

    async def scan_many(
        self, prefixes: Sequence[bytes], *, limit: int
    ) -> Mapping[bytes, Sequence[tuple[bytes, bytes]]]:
        """As in the port."""
        found: dict[bytes, Sequence[tuple[bytes, bytes]]] = {}
        spent = 0
        for prefix in dict.fromkeys(prefixes):
            found[prefix] = await first_records(self.scan(prefix), limit)
            spent += _RECORD_BYTES * (1 + len(found[prefix]))
            if spent > _TURN_BYTES:
                await asyncio.sleep(0)
                spent = 0
        return found
