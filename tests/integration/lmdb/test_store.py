"""LmdbKeyValueStore: its files, its map, its lifetime, and works that share a transaction."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random
from threading import Thread, get_ident

import anyio
import lmdb
import pytest

from brain_async.adapters.lmdb import files, open_lmdb, snapshots
from brain_async.errors import (
    BackendError,
    ClosedError,
    DiskFullError,
    EventLoopMismatchError,
    LedgerCorruptError,
    LedgerError,
    LedgerLockedError,
    WritesUnsupportedError,
)
from brain_async.ports.kv import Change, Get, KeyValueStore, Work

_GROWN = 40


@pytest.fixture(autouse=True)
def _guard(no_blocking_calls: None) -> None:
    pass


def _putting(writes: Mapping[bytes, bytes | None]) -> Callable[[], Work[None]]:
    def work() -> Work[None]:
        yield from ()
        return Change(writes), None

    return work


async def _all(store: KeyValueStore) -> dict[bytes, bytes]:
    async with store.snapshot() as reader:
        return {key: value async for key, value in reader.scan(b"")}


async def _fill(home: Path, records: int = 300) -> dict[bytes, bytes]:
    random = Random(3)
    written = {random.randbytes(16): random.randbytes(random.choice((10, 300, 9_000))) for _ in range(records)}
    async with open_lmdb(home) as store:
        await store.commit(_putting(written))
        await store.commit(_putting(dict.fromkeys(list(written)[::3])))
    return dict(sorted(item for place, item in enumerate(written.items()) if place % 3))


async def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    written = await _fill(tmp_path / "made" / "for it")
    for read_only in (False, True):
        async with open_lmdb(tmp_path / "made" / "for it", read_only=read_only) as store:
            assert await _all(store) == written


async def test_works_run_in_one_other_thread_and_may_be_many_to_a_transaction(tmp_path: Path) -> None:
    threads, transactions = set(), set()

    async with open_lmdb(tmp_path) as store:

        def work() -> Work[int]:
            found = yield Get((b"n",))
            threads.add(get_ident())
            transactions.add(store._files.environment.info()["last_txnid"])
            number = int(found.get(b"n", b"0")) + 1
            return Change({b"n": b"%d" % number}), number

        numbers = await asyncio.gather(*(store.commit(work) for _ in range(64)))
    assert numbers == list(range(1, 65)), "in the order in which they came"
    assert len(threads) == 1
    assert threads != {get_ident()}
    assert len(transactions) <= 2


def _garbage(data: bytearray) -> None:
    data[:] = Random(1).randbytes(len(data))


def _text(data: bytearray) -> None:
    data[:] = b"not a database\n" * 1_000


def _half(data: bytearray) -> None:
    del data[len(data) // 2 :]


def _stub(data: bytearray) -> None:
    del data[5_000:]


def _flipped(data: bytearray) -> None:
    random = Random(2)
    for _ in range(300):
        data[random.randrange(8192, len(data))] ^= random.randrange(1, 256)


async def _damage(home: Path, how: Callable[[bytearray], None]) -> None:
    await _fill(home)
    file = anyio.Path(home / "data.mdb")
    data = bytearray(await file.read_bytes())
    how(data)
    await file.write_bytes(data)


@pytest.mark.parametrize("damage", [_garbage, _text, _half, _stub, _flipped])
async def test_damage_is_an_error_of_opening(tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    await _damage(tmp_path, damage)
    file = anyio.Path(tmp_path / "data.mdb")
    data = await file.read_bytes()
    with pytest.raises(LedgerCorruptError):
        async with open_lmdb(tmp_path):
            pass
    assert await file.read_bytes() == data, "it is left as it is"
    await file.unlink()
    async with open_lmdb(tmp_path) as store:
        assert await _all(store) == {}


@pytest.mark.parametrize("damage", [_garbage, _text, _half, _stub])
@pytest.mark.parametrize("read_only", [False, True])
async def test_damage_that_would_end_the_process(
    tmp_path: Path, damage: Callable[[bytearray], None], read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is seen also in a file that is too large to be walked, or may be open elsewhere."""
    monkeypatch.setattr(files, "CHECKED_BYTES", 0)
    await _damage(tmp_path, damage)
    with pytest.raises(LedgerCorruptError):
        async with open_lmdb(tmp_path, read_only=read_only):
            pass


async def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"theirs", b"1")
    for read_only in (False, True):
        with pytest.raises(LedgerCorruptError, match="something else"):
            async with open_lmdb(tmp_path, read_only=read_only):
                pass


async def test_a_path_that_cannot_be_used(tmp_path: Path) -> None:
    await anyio.Path(tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="file"):
        async with open_lmdb(tmp_path / "file"):
            pass
    with pytest.raises(LedgerError, match="there is no store"):
        async with open_lmdb(tmp_path / "nothing", read_only=True):
            pass
    assert not await anyio.Path(tmp_path / "nothing").exists()


async def test_a_process_opens_a_store_once(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        with pytest.raises(LedgerLockedError) as refused:
            async with open_lmdb(tmp_path):
                pass
        assert refused.value.owner == os.getpid()
        with pytest.raises(LedgerError, match="already open in this process"):
            async with open_lmdb(tmp_path, read_only=True):
                pass
        await store.commit(_putting({b"a": b"1"}))
    async with open_lmdb(tmp_path) as store:
        assert await _all(store) == {b"a": b"1"}


async def test_read_only_refuses_to_write(tmp_path: Path) -> None:
    await _fill(tmp_path)
    async with open_lmdb(tmp_path, read_only=True) as store:
        with pytest.raises(WritesUnsupportedError):
            await store.commit(_putting({b"a": b"1"}))


async def test_the_map_grows(tmp_path: Path) -> None:
    """Beside snapshots that come and go, and for a single change larger than the map."""
    async with open_lmdb(tmp_path, map_size=1) as store:
        reading = True

        async def read() -> None:
            while reading:
                async with store.snapshot() as reader:
                    await anyio.sleep(0.001)
                    assert len([key async for key, _ in reader.scan(b"")]) <= _GROWN + 1

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(read)
            async with anyio.create_task_group() as writers:
                for number in range(_GROWN):
                    writers.start_soon(store.commit, _putting({b"%04d" % number: bytes(200_000)}))
            await store.commit(_putting({b"large": bytes(30_000_000)}))
            reading = False
        assert store._files.environment.info()["map_size"] > 38_000_000
        assert {key: len(value) for key, value in (await _all(store)).items()} == {
            **{b"%04d" % number: 200_000 for number in range(_GROWN)},
            b"large": 30_000_000,
        }
    async with open_lmdb(tmp_path, map_size=1) as store:
        assert len(await _all(store)) == _GROWN + 1


async def test_a_map_that_cannot_grow_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_QUIET_SECONDS", 0.1)
    async with open_lmdb(tmp_path, map_size=1) as store:
        await store.commit(_putting({b"a": b"1"}))
        async with store.snapshot() as reader:
            outcomes = await asyncio.gather(
                store.commit(_putting({b"a": b"2"})),
                store.commit(_putting({b"large": bytes(2_000_000)})),
                store.commit(_putting({b"b": b"2"})),
                return_exceptions=True,
            )
            assert [type(outcome) for outcome in outcomes] == [type(None), DiskFullError, type(None)]
            assert await reader.get(b"a") == b"1"
        await store.commit(_putting({b"large": bytes(2_000_000)}))
        monkeypatch.setattr(files, "_fits", lambda size: False)
        with pytest.raises(DiskFullError, match="address space"):
            await store.commit(_putting({b"larger": bytes(20_000_000)}))
        assert {key: len(value) for key, value in (await _all(store)).items()} == {
            b"a": 1,
            b"b": 1,
            b"large": 2_000_000,
        }


async def test_less_address_space_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_fits", lambda size: size <= 1 << 30)
    async with open_lmdb(tmp_path) as store:
        assert store._files.environment.info()["map_size"] == 1 << 30


async def test_closing_waits_for_what_is_being_written(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        commits = [asyncio.ensure_future(store.commit(_putting({b"%03d" % number: b"v"}))) for number in range(100)]
        await asyncio.sleep(0)
        snapshot = store.snapshot()
        reader = await snapshot.__aenter__()
        await store.aclose()
        assert await asyncio.gather(*commits) == [None] * 100
        for call in (
            reader.get(b"000"),
            reader.get_many([b"000"]),
            anext(reader.scan(b"")),
            store.commit(_putting({})),
        ):
            with pytest.raises(ClosedError):
                await call
        with pytest.raises(ClosedError):
            store.snapshot()
        await snapshot.__aexit__(None, None, None)
        await store.aclose()
    async with open_lmdb(tmp_path) as store:
        assert len(await _all(store)) == 100


async def test_cancelled_opening_and_closing_leave_nothing_open(tmp_path: Path) -> None:
    for cancelled_after in range(8):

        async def use() -> None:
            async with open_lmdb(tmp_path) as store:
                await store.commit(_putting({b"a": b"1"}))

        task = asyncio.ensure_future(use())
        for _ in range(cancelled_after):
            await asyncio.sleep(0.0005)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        async with open_lmdb(tmp_path) as store:
            closing = asyncio.ensure_future(store.aclose())
            await asyncio.sleep(0)
            closing.cancel()
            with suppress(asyncio.CancelledError):
                await closing
    with anyio.CancelScope() as scope:
        async with open_lmdb(tmp_path) as store:
            scope.cancel()
    async with open_lmdb(tmp_path) as store:
        assert len(await _all(store)) <= 1


async def test_a_closed_snapshot_is_refused(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        await store.commit(_putting({b"a": b"1", b"b": b"2"}))
        async with store.snapshot() as reader:
            begun, fresh = reader.scan(b""), reader.scan(b"")
            await anext(begun)
        for call in (reader.get(b"a"), anext(begun), anext(fresh)):
            with pytest.raises(ClosedError):
                await call
        assert len(await _all(store)) == 2


async def test_another_loop_is_refused(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        raised: list[BaseException] = []

        async def use() -> None:
            for call in (store.commit(_putting({})), _all(store)):
                try:
                    await call
                except EventLoopMismatchError as error:
                    raised.append(error)

        thread = Thread(target=lambda: asyncio.run(use()))
        thread.start()
        await anyio.to_thread.run_sync(thread.join)
        assert len(raised) == 2


async def test_a_work_cancelled_before_its_turn_is_not_run(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        task = asyncio.ensure_future(store.commit(_putting({b"a": b"1"})))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.commit(_putting({b"b": b"1"}))
        assert await _all(store) == {b"b": b"1"}


async def test_a_work_that_is_no_generator_harms_nobody(tmp_path: Path) -> None:
    def broken() -> Work[None]:
        raise StopIteration

    async with open_lmdb(tmp_path) as store:
        outcomes = await asyncio.gather(
            store.commit(broken), store.commit(_putting({b"a": b"1"})), return_exceptions=True
        )
        assert isinstance(outcomes[0], RuntimeError)
        assert outcomes[1] is None


async def test_very_many_snapshots(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        await store.commit(_putting({b"a": b"1"}))
        async with AsyncExitStack() as stack:
            with pytest.raises(BackendError, match="too many snapshots"):
                while True:
                    await stack.enter_async_context(store.snapshot())
        assert await _all(store) == {b"a": b"1"}


async def test_the_room_ahead_of_commits_is_given_back(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        await store.commit(_putting({b"first": b"1"}))
        open_size = (await anyio.Path(tmp_path / "data.mdb").stat()).st_size
    closed_size = (await anyio.Path(tmp_path / "data.mdb").stat()).st_size
    assert open_size >= 1 << 20 > closed_size
    async with open_lmdb(tmp_path) as store:
        await store.commit(_putting({b"second": b"2"}))
        assert await _all(store) == {b"first": b"1", b"second": b"2"}
