"""Checks of KeyValueStore: order, snapshots, and works that are serialised and written whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TypeVar
from uuid import uuid4

import anyio
from anyio.lowlevel import checkpoint

from brain_async.errors import InvalidInputError
from brain_async.ports.kv import Change, Get, KeyValueReader, KeyValueStore, Scan, Work
from brain_async.testing.subjects import raises

__all__ = ["CHECKS"]

T = TypeVar("T")

_COUNTING = 50
_MEGABYTE = 1_000_000


def _fresh() -> bytes:
    """A prefix that no other check uses."""
    return uuid4().bytes


def _writing(writes: Mapping[bytes, bytes | None], result: T) -> Callable[[], Work[T]]:
    def work() -> Work[T]:
        yield from ()
        return Change(writes), result

    return work


async def _write(store: KeyValueStore, writes: Mapping[bytes, bytes | None]) -> None:
    await store.commit(_writing(writes, None))


async def _scanned(
    reader: KeyValueReader, prefix: bytes, *, after: bytes | None = None, reverse: bool = False
) -> list[tuple[bytes, bytes]]:
    return [item async for item in reader.scan(prefix, after=after, reverse=reverse)]


async def _all(store: KeyValueStore, prefix: bytes) -> dict[bytes, bytes]:
    async with store.snapshot() as reader:
        return dict(await _scanned(reader, prefix))


def _counting(key: bytes, log: bytes | None = None) -> Callable[[], Work[int]]:
    """Adds 1 to the number at ``key`` and returns what it was; with ``log``, also writes that number below ``log``."""

    def work() -> Work[int]:
        found = yield Get((key,))
        number = int(found.get(key, b"0"))
        writes = {key: b"%d" % (number + 1)}
        if log is not None:
            writes[log + b"%06d" % number] = b"%d" % number
        return Change(writes), number

    return work


async def check_kv_round_trip(store: KeyValueStore) -> None:
    """Values come back as they were written, empty ones too; deletes delete, and what is not there is None or absent."""
    prefix = _fresh()
    a, b, c = (prefix + name for name in (b"a", b"b", b"c"))
    assert await store.commit(_writing({a: b"1", b: b""}, "result")) == "result"
    async with store.snapshot() as reader:
        assert isinstance(reader, KeyValueReader)
        assert [await reader.get(key) for key in (a, b, c)] == [b"1", b"", None]
        assert type(await reader.get(a)) is bytes
        assert dict(await reader.get_many([c, b, a, a])) == {a: b"1", b: b""}
        assert dict(await reader.get_many([])) == {}
        assert await reader.get(b"") is None
        assert await reader.get(prefix + bytes(600)) is None
    await _write(store, {a: b"2", b: None, c: None})
    assert await _all(store, prefix) == {a: b"2"}
    await _write(store, {b: b"again"})
    assert await _all(store, prefix) == {a: b"2", b: b"again"}


async def check_kv_empty_change(store: KeyValueStore) -> None:
    """A work that writes nothing returns its result all the same."""
    prefix = _fresh()
    await _write(store, {prefix + b"a": b"1"})

    def reading() -> Work[int]:
        found = yield Scan(prefix)
        return Change(), len(found)

    assert await store.commit(reading) == 1
    await _write(store, {prefix + b"missing": None})
    assert await _all(store, prefix) == {prefix + b"a": b"1"}


async def check_kv_order_is_that_of_bytes(store: KeyValueStore) -> None:
    """Keys are ordered as bytes are, whatever the order of writing, in snapshots and for works."""
    prefix = _fresh()
    tails = [
        b"",
        b"\0",
        b"\0\0",
        b"\0\xff",
        b"A",
        b"a",
        b"a\0",
        b"aa",
        b"a\xff",
        b"b",
        b"\x7f",
        b"\x80",
        b"\xff",
        b"\xff\xff",
    ]
    tails += [Random(5).randbytes(3) for _ in range(300)]
    keys = [prefix + tail for tail in tails]
    Random(6).shuffle(keys)
    for start in range(0, len(keys), 50):
        await _write(store, {key: key[16:] for key in keys[start : start + 50]})
    await _write(store, {prefix[:-1] + bytes([prefix[-1] ^ 1]): b"a neighbour"})
    wanted = [(key, key[16:]) for key in sorted(set(keys))]
    async with store.snapshot() as reader:
        assert await _scanned(reader, prefix) == wanted
        assert await _scanned(reader, prefix, reverse=True) == wanted[::-1]
    assert await store.commit(partial(_listed, Scan(prefix))) == wanted


def _listed(request: Scan) -> Work[list[tuple[bytes, bytes]]]:
    found = yield request
    return Change(), list(found.items())


async def check_kv_scan_bounds(store: KeyValueStore) -> None:
    """``after`` excludes its key, there or not, in both directions; ``limit`` bounds; a prefix is all and only its own."""
    base = _fresh()
    keys = [base + bytes([letter, number]) for letter in b"\x01\xff" for number in (0, 1, 7, 255)]
    await _write(store, dict.fromkeys(keys, b"v"))
    async with store.snapshot() as reader:
        for prefix in (base, base + b"\x01", base + b"\xff", base + b"\xff\xff", base + b"\x02", keys[0]):
            mine = [key for key in keys if key.startswith(prefix)]
            for after in (None, base, *keys, base + b"\x01\x05", base + b"\xff\x08", b"", b"\xff" * 20):
                past = [key for key in mine if after is None or key > after]
                short = [key for key in mine if after is None or key < after]
                assert [key for key, _ in await _scanned(reader, prefix, after=after)] == past
                assert [key for key, _ in await _scanned(reader, prefix, after=after, reverse=True)] == short[::-1]
        async for key, _ in reader.scan(base):
            assert key == keys[0]
            break
        assert await _scanned(reader, base + b"\x03") == []
    for limit in (0, 1, 3, 8, 100):
        found = await store.commit(partial(_listed, Scan(base, keys[1], limit)))
        assert [key for key, _ in found] == keys[2:][:limit]
    everything = [key for key, _ in await store.commit(partial(_listed, Scan(b"")))]
    assert everything == sorted(everything)
    assert set(keys) <= set(everything)


async def check_kv_scan_many(store: KeyValueStore) -> None:
    """The first records of several prefixes at once, all of one moment."""
    prefix = _fresh()
    await _write(store, {prefix + b"%c%02d" % (letter, n): b"%d" % n for letter in b"ac" for n in range(30)})
    a, b, c = (prefix + letter for letter in (b"a", b"b", b"c"))
    async with store.snapshot() as reader:
        await _write(store, {prefix + b"a00": None, prefix + b"b00": b"late"})
        found = await reader.scan_many([c, a, b, a], limit=3)
        assert set(found) == {a, b, c}, "every prefix is there"
        assert list(found[a]) == [(prefix + b"a%02d" % n, b"%d" % n) for n in range(3)]
        assert [key for key, _ in found[c]] == [prefix + b"c%02d" % n for n in range(3)]
        assert list(found[b]) == [], "nothing was there"
        assert len((await reader.scan_many([a], limit=100))[a]) == 30
        assert list((await reader.scan_many([a], limit=0))[a]) == []
        assert dict(await reader.scan_many([], limit=3)) == {}


async def check_kv_keys_and_values_of_every_length(store: KeyValueStore) -> None:
    """Keys of 1 and of 480 bytes, of zeros and of 0xff, and values of a megabyte; other lengths are refused."""
    prefix = _fresh()
    head = bytes([Random(prefix).randrange(256)])
    known = (await store.commit(partial(_asked, head))).get(head)
    long = [prefix + bytes([byte]) * 464 for byte in (0, 1, 0xFF)]
    big = Random(9).randbytes(_MEGABYTE)
    try:
        await _write(store, {head: b"one byte", **{key: big + key[-1:] for key in long}})
        async with store.snapshot() as reader:
            assert await reader.get(head) == b"one byte"
            assert await _scanned(reader, prefix) == [(key, big + key[-1:]) for key in long]
            assert dict(await reader.get_many(long[1:])) == {key: big + key[-1:] for key in long[1:]}
        assert len((await store.commit(partial(_asked, long[0])))[long[0]]) == _MEGABYTE + 1
        for key in (b"", prefix + bytes(465)):
            await raises(InvalidInputError, _write(store, {prefix + b"beside": b"x", key: b"x"}))
            await raises(InvalidInputError, _write(store, {prefix + b"beside": b"x", key: None}))
        assert list(await _all(store, prefix)) == long
        await _write(store, dict.fromkeys(long, b"small"))
        assert await _all(store, prefix) == dict.fromkeys(long, b"small")
    finally:
        await _write(store, {head: known, **dict.fromkeys(long)})


def _asked(*keys: bytes) -> Work[Mapping[bytes, bytes]]:
    found = yield Get(keys)
    return Change(), found


async def check_kv_work_reads(store: KeyValueStore) -> None:
    """A work may ask many times, for what is and what is not there, and sees nothing of what it will write."""
    prefix = _fresh()
    a, b = prefix + b"a", prefix + b"b"
    await _write(store, {a: b"1"})

    def work() -> Work[list[Mapping[bytes, bytes]]]:
        answers = [(yield Get((a, b))), (yield Get(())), (yield Scan(prefix)), (yield Scan(prefix, after=a))]
        return Change({a: None, b: b"2"}), [dict(answer) for answer in answers]

    assert await store.commit(work) == [{a: b"1"}, {}, {a: b"1"}, {}]
    assert await _all(store, prefix) == {b: b"2"}


async def check_kv_snapshots_are_moments(store: KeyValueStore) -> None:
    """A snapshot shows what was there when it was opened, to gets and scans that begin before or after later commits."""
    prefix = _fresh()
    before = {prefix + b"%03d" % number: b"old %d" % number for number in range(0, 200, 2)}
    await _write(store, before)
    first, second, new = prefix + b"000", prefix + b"002", prefix + b"001"
    async with store.snapshot() as reader:
        scan = reader.scan(prefix)
        seen = [await anext(scan)]
        await _write(store, {first: b"changed", second: None, new: b"new", prefix + b"999": b"new"})
        await _write(store, {first: b"changed again", second: b"back"})
        assert [await reader.get(key) for key in (first, second, new)] == [b"old 0", b"old 2", None]
        assert dict(await reader.get_many([first, new])) == {first: b"old 0"}
        assert dict(seen + [item async for item in scan]) == before
        assert await _scanned(reader, prefix, reverse=True) == list(before.items())[::-1]
        async with store.snapshot() as later:
            assert [await later.get(key) for key in (first, second, new)] == [b"changed again", b"back", b"new"]
            await _write(store, dict.fromkeys(before))
            assert len(await _scanned(later, prefix)) == 102
        assert dict(await _scanned(reader, prefix)) == before
    assert list(await _all(store, prefix)) == [new, prefix + b"999"]


async def check_kv_commit_inside_a_snapshot(store: KeyValueStore) -> None:
    """Whoever holds snapshots may commit, and many may be held at once."""
    key = _fresh()

    async def holding(number: int) -> None:
        async with store.snapshot() as reader:
            seen = await reader.get(key)
            await store.commit(_counting(key))
            assert await reader.get(key) == seen, number

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(holding, number)
    assert await _all(store, key) == {key: b"5"}


async def check_kv_many_read_one_snapshot(store: KeyValueStore) -> None:
    """Tasks may share a snapshot."""
    prefix = _fresh()
    written = {prefix + b"%04d" % number: b"%d" % number for number in range(1_200)}
    await _write(store, written)
    async with store.snapshot() as reader:
        gets, scans, many = await asyncio.gather(
            asyncio.gather(*(reader.get(key) for key in list(written)[:20])),
            asyncio.gather(*(_scanned(reader, prefix) for _ in range(3))),
            reader.get_many(list(written)[5:9]),
        )
        assert gets == list(written.values())[:20]
        assert scans == [list(written.items())] * 3
        assert dict(many) == dict(list(written.items())[5:9])


async def check_kv_works_are_serialised(store: KeyValueStore) -> None:
    """Fifty concurrent works that read, add and write lose none, and each sees what those before it wrote."""
    key, log = _fresh(), _fresh()
    numbers = await asyncio.gather(*(store.commit(_counting(key, log)) for _ in range(_COUNTING)))
    assert sorted(numbers) == list(range(_COUNTING))
    assert await _all(store, key) == {key: b"%d" % _COUNTING}
    assert await _all(store, log) == {log + b"%06d" % number: b"%d" % number for number in range(_COUNTING)}


async def check_kv_scans_see_earlier_works(store: KeyValueStore) -> None:
    """What a work scans includes what the works right before it wrote and deleted."""
    prefix = _fresh()

    def appending() -> Work[int]:
        found = yield Scan(prefix)
        oldest = {next(iter(found)): None} if len(found) == 3 else {}
        number = 0 if not found else int(list(found.values())[-1]) + 1
        return Change({**oldest, prefix + b"%06d" % number: b"%d" % number}), len(found)

    lengths = await asyncio.gather(*(store.commit(appending) for _ in range(12)))
    assert sorted(lengths) == [0, 1, 2] + [3] * 9
    assert list((await _all(store, prefix)).values()) == [b"9", b"10", b"11"]


async def check_kv_failing_work_writes_nothing(store: KeyValueStore) -> None:
    """Its exception comes back as it is, nothing of it is written, and its neighbours in time are."""
    key, other = _fresh(), _fresh()
    failure = LookupError("of the work")

    def failing() -> Work[int]:
        yield Get((key,))
        raise failure

    def oversized() -> Work[int]:
        yield Scan(key)
        return Change({key: b"1000", bytes(500): b""}), 1

    works = [_counting(key) if number % 3 else failing if number % 2 else oversized for number in range(30)]
    outcomes = await asyncio.gather(*(store.commit(work) for work in works), return_exceptions=True)
    assert [outcome is failure for outcome in outcomes] == [work is failing for work in works]
    assert [isinstance(outcome, InvalidInputError) for outcome in outcomes] == [work is oversized for work in works]
    assert sorted(outcome for outcome in outcomes if isinstance(outcome, int)) == list(range(20))
    assert await _all(store, key) == {key: b"20"}
    assert await _all(store, other) == {}


async def check_kv_cancelled_commits(store: KeyValueStore) -> None:
    """A commit cancelled at any moment is written whole or not at all, its neighbours are written, and the store goes on."""
    key, log, pairs = _fresh(), _fresh(), _fresh()
    random = Random(11)

    async def commit(number: int) -> bool:
        mine = pairs + b"%04d" % number
        steps = 0

        def work() -> Work[None]:
            nonlocal steps
            steps += 1
            found = yield Get((key,))
            sofar = int(found.get(key, b"0"))
            return Change({mine + b"a": b"1", mine + b"b": b"1", key: b"%d" % (sofar + 1)}), None

        with anyio.CancelScope() as scope:
            if number % 2:
                asyncio.get_running_loop().call_later(random.random() / 50, scope.cancel)
            await store.commit(work)
            return True
        return False

    with anyio.fail_after(60):
        returned = await asyncio.gather(*(commit(number) for number in range(60)))
        assert all(returned[::2])
        await store.commit(_counting(log))
    written = list(await _all(store, pairs))
    numbers = [int(name[16:20]) for name in written[::2]]
    assert [name[16:] for name in written] == [b"%04d" % number + half for number in numbers for half in (b"a", b"b")]
    assert {number for number, done in enumerate(returned) if done} <= set(numbers)
    assert await _all(store, key) == {key: b"%d" % len(numbers)}


async def check_kv_cancelled_readers(store: KeyValueStore) -> None:
    """A snapshot left by cancellation is closed, and the store goes on."""
    prefix = _fresh()
    await _write(store, {prefix + b"%04d" % number: b"v" for number in range(500)})

    async def read() -> None:
        async with store.snapshot() as reader:
            while True:
                async for key, _ in reader.scan(prefix):
                    assert await reader.get(key) == b"v"
                await checkpoint()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(read)
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        await _write(store, {prefix + b"9999": b"v"})
        assert len(await _all(store, prefix)) == 501


CHECKS = (
    check_kv_round_trip,
    check_kv_empty_change,
    check_kv_order_is_that_of_bytes,
    check_kv_scan_bounds,
    check_kv_scan_many,
    check_kv_keys_and_values_of_every_length,
    check_kv_work_reads,
    check_kv_snapshots_are_moments,
    check_kv_commit_inside_a_snapshot,
    check_kv_many_read_one_snapshot,
    check_kv_works_are_serialised,
    check_kv_scans_see_earlier_works,
    check_kv_failing_work_writes_nothing,
    check_kv_cancelled_commits,
    check_kv_cancelled_readers,
)
