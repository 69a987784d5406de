"""Journals as streams of bytes: exporting one, and replaying one into a ledger.

A stream is a sequence of frames: four bytes with the length of what follows, big-endian, and one deterministic CBOR map. The
first frame says what the stream is, then comes every entry as it is stored, and the last frame says where the ledger stood,
so that a stream which was cut or changed is known as such.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any, TypeVar

from brain_async.cortex.cbor import decode_map, encode_map
from brain_async.cortex.head import Head, decode_head
from brain_async.cortex.history import entry_value
from brain_async.cortex.journal import JournalEntry, decode_entry, split_entry
from brain_async.cortex.keys import HEAD, JOURNAL, journal_key
from brain_async.cortex.record import MAX_DATA_BYTES, MAX_TEXT_BYTES
from brain_async.cortex.replay import replay_work
from brain_async.cortex.view import LedgerView
from brain_async.errors import InvalidValueError, LedgerCorruptError
from brain_async.ports.kv import KeyValueStore

__all__ = ["MAX_FRAME_BYTES", "REPLAY_BATCH", "export_journal", "import_journal", "replay"]

T = TypeVar("T")

MAX_FRAME_BYTES = MAX_DATA_BYTES + 8 * MAX_TEXT_BYTES
"""No entry is larger."""

REPLAY_BATCH = 500
"""Entries that are replayed in one commit."""

_START, _END = "brain.journal", "brain.journal.end"
_VERSION = 1
_LENGTH = struct.Struct(">I")


async def export_journal(view: LedgerView, *, after: int = 0) -> AsyncIterator[bytes]:
    """The journal past entry ``after`` as frames, each one chunk. Raises InvalidValueError for a seq beyond the journal."""
    head = await view.head()
    if not 0 <= after <= head.seq:
        raise InvalidValueError(f"the journal ends at {head.seq}, it cannot be exported after {after}", field="after")
    yield _frame(encode_map({0: _START, 1: _VERSION, 2: after}))
    seq = after
    async for key, value in view.reader.scan(JOURNAL, after=journal_key(after) if after else None):
        seq += 1
        if key != journal_key(seq):
            raise LedgerCorruptError("the journal entry is missing", where=f"j/{seq}")
        entry_value(key, value)
        yield _frame(split_entry(seq, value)[0])
    if seq != head.seq:
        raise LedgerCorruptError("the journal entry is missing", where=f"j/{seq + 1}")
    yield _frame(encode_map({0: _END, 1: head.seq, 2: head.root, 3: head.journal_root}))


async def replay(store: KeyValueStore, entries: AsyncIterable[JournalEntry] | Iterable[JournalEntry]) -> Head:
    """Apply entries in order, REPLAY_BATCH to a commit; returns where the ledger stands then.

    Entries that the ledger holds already are compared, so that a replay which was interrupted is simply repeated. Raises
    LedgerCorruptError naming the first entry that does not fit; what came before it stays.
    """
    waiting: list[JournalEntry] = []
    async for entry in _each(entries):
        waiting.append(entry)
        if len(waiting) == REPLAY_BATCH:
            await _commit(store, waiting)
            waiting = []
    await _commit(store, waiting)
    async with store.snapshot() as reader:
        return decode_head(await reader.get(HEAD))


async def _commit(store: KeyValueStore, entries: list[JournalEntry]) -> None:
    if entries:
        await store.commit(lambda: replay_work(entries))


async def import_journal(store: KeyValueStore, chunks: AsyncIterable[bytes] | Iterable[bytes]) -> Head:
    """``replay`` of an exported stream, however it is cut into chunks; returns where the ledger stands then.

    Raises LedgerCorruptError when the stream is not one, is cut, or gives other roots than it says; entries that were whole
    and fitted stay.
    """
    stream = _Stream(_each(chunks))
    head = await replay(store, stream.entries())
    end = stream.end
    if head.seq == end.get(1) and (head.root, head.journal_root) != (end.get(2), end.get(3)):
        raise LedgerCorruptError("the roots differ from those of the exported ledger", where=f"j/{head.seq}")
    return head


class _Stream:
    """Reads the frames of an export."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = bytearray()
        self.end: dict[int, Any] = {}

    async def entries(self) -> AsyncIterator[JournalEntry]:
        """Every entry, after the first frame was checked and until the last. Raises LedgerCorruptError."""
        start = _fields(await self._frame("start"), "start")
        seq = start.get(2)
        if start.get(0) != _START or start.get(1) != _VERSION or type(seq) is not int or seq < 0:
            raise LedgerCorruptError("this is no exported journal, or of another version", where="start")
        while True:
            seq += 1
            where = f"j/{seq}"
            body = await self._frame(where)
            fields = _fields(body, where)
            if fields.get(0) == _END:
                if fields.get(1) != seq - 1 or encode_map(fields) != body or len(fields) != 4:
                    raise LedgerCorruptError("the last frame is of another journal", where="end")
                self.end = fields
                break
            entry = decode_entry(body, where)
            if entry.seq != seq:
                raise LedgerCorruptError(f"the entry says that it is {entry.seq}", where=where)
            yield entry
        async for chunk in self._chunks:
            self._buffer += chunk
            if self._buffer:
                break
        if self._buffer:
            raise LedgerCorruptError("there are bytes after the last frame", where="end")

    async def _frame(self, where: str) -> bytes:
        length = _LENGTH.unpack(await self._take(4, where))[0]
        if length > MAX_FRAME_BYTES:
            raise LedgerCorruptError("the frame is longer than any entry", where=where)
        return await self._take(length, where)

    async def _take(self, count: int, where: str) -> bytes:
        while len(self._buffer) < count:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                raise LedgerCorruptError("the stream ends early", where=where)
            self._buffer += chunk
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _fields(frame: bytes, where: str) -> dict[int, Any]:
    try:
        return decode_map(frame)
    except ValueError as error:
        raise LedgerCorruptError(f"the frame is malformed: {error}", where=where) from None


def _frame(body: bytes) -> bytes:
    return _LENGTH.pack(len(body)) + body


async def _each(items: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
