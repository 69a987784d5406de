"""The memory store against a plain dict: commits, and snapshots that are held open across them."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.errors import ClosedError
from brain_async.ports.kv import Change, KeyValueReader, Work

_keys = st.binary(min_size=1, max_size=2).map(lambda drawn: bytes(b"\x00a\xff"[byte % 3] for byte in drawn))
_changes = st.dictionaries(_keys, st.none() | st.binary(max_size=2), max_size=5)


def _work(change: dict[bytes, bytes | None]) -> Work[None]:
    yield from ()
    return Change(change), None


async def _shown(reader: KeyValueReader, reverse: bool) -> list[tuple[bytes, bytes]]:
    return [item async for item in reader.scan(b"", reverse=reverse)]


@given(st.lists(_changes, min_size=1, max_size=12), st.lists(st.integers(0, 12), max_size=3))
async def test_every_snapshot_keeps_showing_its_moment(
    changes: list[dict[bytes, bytes | None]], leave_after: list[int]
) -> None:
    store = MemoryKeyValueStore()
    model: dict[bytes, bytes] = {}
    async with AsyncExitStack() as stack:
        held: list[tuple[KeyValueReader, dict[bytes, bytes]]] = []
        for step, change in enumerate(changes):
            async with store.snapshot() as passing:
                await store.commit(lambda change=change: _work(change))
                assert await _shown(passing, False) == sorted(model.items())
            for key, value in change.items():
                if value is None:
                    model.pop(key, None)
                else:
                    model[key] = value
            if step not in leave_after:
                held.append((await stack.enter_async_context(store.snapshot()), dict(model)))
            for reader, moment in held:
                assert await _shown(reader, False) == sorted(moment.items())
                assert await _shown(reader, True) == sorted(moment.items(), reverse=True)
                assert dict(await reader.get_many([b"a", b"\0", b"a\xff"])) == {
                    key: moment[key] for key in (b"a", b"\0", b"a\xff") if key in moment
                }


async def test_a_closed_snapshot_is_refused() -> None:
    store = MemoryKeyValueStore()
    await store.commit(lambda: _work({b"a": b"1"}))
    async with store.snapshot() as reader:
        scan = reader.scan(b"")
    with pytest.raises(ClosedError):
        await reader.get(b"a")
    with pytest.raises(ClosedError):
        await anext(scan)
