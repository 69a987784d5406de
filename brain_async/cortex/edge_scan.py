"""The live edges of a ledger by ascending (from, to, label), which is not the order of its keys: they go by type first."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import cast

from brain_async.cortex.keys import FORWARD, edge_prefix, is_removed, node_prefix, split_edge_key
from brain_async.errors import LedgerCorruptError
from brain_async.model.relation import EdgeKey
from brain_async.ports.kv import KeyValueReader

__all__ = ["scan_values"]

_RUN = 256
"""Edges of one source that are sorted in memory. One that has more is read from a place in each of its types."""

_CHUNK = 64
"""Edges of one type that are read ahead."""

_Item = tuple[bytes, str, bytes]
"""(target, label, stored value)."""


async def scan_values(
    reader: KeyValueReader, labels: Mapping[int, str], after: EdgeKey | None
) -> AsyncGenerator[bytes, None]:
    """The stored values of the live edges behind ``after``, in order. Raises LedgerCorruptError.

    Memory does not grow with the edges of a source, and what is before ``after`` is not read again, but for _RUN edges.
    """
    first = None if after is None else after.from_id.bytes
    bound = None if after is None else (after.to_id.bytes, after.relation_type)
    place = None if first is None else FORWARD + first
    while True:
        source, seen, run, hub = b"", 0, list[_Item](), False
        async with aclosing(cast("AsyncGenerator[tuple[bytes, bytes]]", reader.scan(FORWARD, after=place))) as records:
            async for key, value in records:
                node, code, peer = _parts(key)
                if node != source:
                    for each in _in_order(run, bound if source == first else None):
                        yield each
                    source, seen, run = node, 0, []
                seen += 1
                if seen > _RUN:
                    hub = True
                    break
                if not is_removed(value):
                    run.append((peer, _label(labels, code), value))
        if not hub:
            for each in _in_order(run, bound if source == first else None):
                yield each
            return
        async for each in _merged(reader, labels, source, bound if source == first else None):
            yield each
        place = FORWARD + source + b"0"  # behind every key of the source: the slash comes right before "0"


def _in_order(run: list[_Item], bound: tuple[bytes, str] | None) -> list[bytes]:
    return [value for peer, label, value in sorted(run) if bound is None or (peer, label) > bound]


class _Edges:
    """The live edges of one source and type, by target, read a few at a time."""

    def __init__(self, reader: KeyValueReader, prefix: bytes, label: str, after: bytes | None) -> None:
        self._reader = reader
        self._prefix = prefix
        self._label = label
        self._after = after
        self._ahead: deque[_Item] = deque()
        self._ended = False

    async def next(self) -> _Item | None:
        """The next one, None at the end."""
        while not self._ahead and not self._ended:
            records = await _take(self._reader, self._prefix, self._after, _CHUNK)
            self._ended = len(records) < _CHUNK
            for key, value in records:
                self._after = key
                if not is_removed(value):
                    self._ahead.append((key[len(self._prefix) :], self._label, value))
        return self._ahead.popleft() if self._ahead else None


async def _merged(
    reader: KeyValueReader, labels: Mapping[int, str], source: bytes, bound: tuple[bytes, str] | None
) -> AsyncGenerator[bytes, None]:
    """The edges of one source, merged from its types."""
    heads: list[tuple[_Item, int]] = []
    types: list[_Edges] = []
    for code in await _types_of(reader, source):
        prefix, label = edge_prefix(FORWARD, source, code), _label(labels, code)
        after = None
        if bound is not None:
            target, last = bound
            after = prefix + target if label <= last else _before(prefix, target)
        edges = _Edges(reader, prefix, label, after)
        if (item := await edges.next()) is not None:
            heads.append((item, len(types)))
            types.append(edges)
    heapq.heapify(heads)
    while heads:
        item, number = heads[0]
        yield item[2]
        following = await types[number].next()
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (following, number))


async def _types_of(reader: KeyValueReader, source: bytes) -> list[int]:
    """The types that the source has edges of, by one seek each."""
    codes: list[int] = []
    prefix, after = node_prefix(FORWARD, source), None
    while found := await _take(reader, prefix, after, 1):
        codes.append(_parts(found[0][0])[1])
        after = b"%b%c0" % (prefix, codes[-1])
    return codes


async def _take(reader: KeyValueReader, prefix: bytes, after: bytes | None, count: int) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    async with aclosing(cast("AsyncGenerator[tuple[bytes, bytes]]", reader.scan(prefix, after=after))) as records:
        async for record in records:
            found.append(record)
            if len(found) == count:
                break
    return found


def _before(prefix: bytes, target: bytes) -> bytes | None:
    """A place from which a scan begins with ``target``, if it is there."""
    number = int.from_bytes(target, "big")
    return None if number == 0 else prefix + (number - 1).to_bytes(16, "big")


def _parts(key: bytes) -> tuple[bytes, int, bytes]:
    found = split_edge_key(FORWARD, key)
    if found is None:
        raise LedgerCorruptError("this is no key of an edge", where=repr(key))
    return found


def _label(labels: Mapping[int, str], code: int) -> str:
    if code not in labels:
        raise LedgerCorruptError(f"no label is registered for the edge type 0x{code:02X}")
    return labels[code]
