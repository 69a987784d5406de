"""The LMDB store when its process is killed, the disk is full, and other processes come to write or to read."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from brain_async.adapters.lmdb import open_lmdb
from brain_async.ports.kv import Change, Work

_ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = Path(__file__).with_name("kv_process.py")
_ROUNDS = 12


@asynccontextmanager
async def _process(*arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_SCRIPT), *map(str, arguments),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 60)).decode().rstrip("\n")


async def _ask(process: asyncio.subprocess.Process) -> str:
    assert process.stdin is not None
    process.stdin.write(b"now\n")
    return await _line(process)


def _putting(writes: Mapping[bytes, bytes | None]) -> Work[None]:
    yield from ()
    return Change(writes), None


async def test_writers_killed_at_any_moment(tmp_path: Path) -> None:
    """Every acknowledged pair is there, none is torn, and what was counted is what was written."""
    random = Random(31)
    acknowledged: set[str] = set()
    for number in range(_ROUNDS):
        async with _process("write", tmp_path, number) as writer:
            assert await _line(writer) == "open"
            acknowledged.add(await _line(writer))
            await asyncio.sleep(random.uniform(0.02, 0.2))
            writer.kill()
            output, _ = await writer.communicate()
        # The last line may have been cut.
        acknowledged |= set(output.decode().rpartition("\n")[0].splitlines())
        async with open_lmdb(tmp_path) as store, store.snapshot() as reader:
            halves = {key.decode(): value async for key, value in reader.scan(b"pair/")}
            pairs = Counter(name.split("/")[1] for name in halves)
            assert set(pairs.values()) == {2}, "no pair is torn"
            assert all(halves[f"pair/{name}/a"] == halves[f"pair/{name}/b"] for name in pairs)
            assert acknowledged <= set(pairs), f"round {number}"
            assert await reader.get(b"count") == b"%d" % len(pairs)
    assert len(acknowledged) > 20 * _ROUNDS, "the writers wrote"


async def test_one_process_writes_and_others_read(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        await store.commit(lambda: _putting({b"a": b"1"}))
        async with _process("try_to_write", tmp_path) as second:
            refusal = await _line(second)
        assert refusal.startswith(f"LedgerLockedError {os.getpid()} ")
        assert f"in process {os.getpid()}:" in refusal
        async with _process("read", tmp_path, 1 << 30) as reader:
            assert await _line(reader) == "open"
            assert await _ask(reader) == "1 1"
            await store.commit(lambda: _putting({b"b": b"22"}))
            assert await _ask(reader) == "2 3"
    async with _process("try_to_write", tmp_path) as second:
        assert await _line(second) == "open"


async def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    async with _process("write", tmp_path, 1) as writer:
        assert await _line(writer) == "open"
        async with _process("try_to_write", tmp_path) as second:
            assert (await _line(second)).startswith(f"LedgerLockedError {writer.pid} ")
        writer.kill()
        await writer.communicate()
    async with open_lmdb(tmp_path):
        pass


async def test_a_reader_follows_a_writer_that_outgrows_its_map(tmp_path: Path) -> None:
    async with open_lmdb(tmp_path) as store:
        await store.commit(lambda: _putting({b"a": b"1"}))
        async with _process("read", tmp_path, 1 << 20) as reader:
            assert await _line(reader) == "open"
            assert await _ask(reader) == "1 1"
            for number in range(5):
                await store.commit(lambda number=number: _putting({b"b%d" % number: bytes(5_000_000)}))
                assert await _ask(reader) == f"{number + 2} {5_000_000 * (number + 1) + 1}"


async def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    """Nothing of the change that does not fit is written; reads, changes that fit, and later writes go on."""
    async with _process("fill", tmp_path) as process:
        words = (await _line(process)).split()
        assert words[:2] == ["full", "after"]
        assert words[3] in ("Error", "DiskError")
        filled = int(words[2].rstrip(":"))
        assert 20 < filled < 100
        assert (await _line(process)).split() == ["DiskFullError"] * 3 + ["NoneType"] * 3
        assert await _line(process) == f"b'4' 0 {filled}"
        assert await _line(process) == f"b'4' 1 {filled}"
        assert await process.wait() == 0
    async with open_lmdb(tmp_path) as store, store.snapshot() as reader:
        assert len([key async for key, _ in reader.scan(b"fill/")]) == filled
