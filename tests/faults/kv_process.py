"""Run as a script: one process beside the test's, doing what its first argument says with the store in the second."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import Callable
from random import Random

from brain_async.adapters.lmdb import LmdbKeyValueStore, open_lmdb
from brain_async.errors import BrainError, DiskFullError
from brain_async.ports.kv import Change, Get, Work


def say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _putting(key: bytes, value: bytes) -> Callable[[], Work[None]]:
    def work() -> Work[None]:
        yield from ()
        return Change({key: value}), None

    return work


async def write(path: str, seed: str) -> None:
    """Write numbered pairs from many callers, naming each once it is acknowledged, until killed."""
    random = Random(seed)
    numbers = iter(range(1_000_000))

    def pair(name: bytes, value: bytes) -> Callable[[], Work[None]]:
        def work() -> Work[None]:
            found = yield Get((b"count",))
            count = int(found.get(b"count", b"0")) + 1
            return Change(
                {b"pair/" + name + b"/a": value, b"pair/" + name + b"/b": value, b"count": b"%d" % count}
            ), None

        return work

    async with open_lmdb(path) as store:
        say("open")

        async def caller() -> None:
            while True:
                name = f"{seed}-{next(numbers):06d}"
                await store.commit(pair(name.encode(), random.randbytes(random.choice((10, 1_000, 20_000)))))
                say(name)

        await asyncio.gather(*(caller() for _ in range(16)))


async def try_to_write(path: str) -> None:
    """Open for writing, and say what came of it."""
    try:
        async with open_lmdb(path):
            say("open")
    except BrainError as error:
        say(f"{type(error).__name__} {getattr(error, 'owner', None)} {error}")


async def read(path: str, map_size: str) -> None:
    """For each line of input, say what a snapshot taken then shows; hold every one of them until the end."""
    loop = asyncio.get_running_loop()
    async with open_lmdb(path, read_only=True, map_size=int(map_size)) as store:
        say("open")
        while await loop.run_in_executor(None, sys.stdin.readline):
            async with store.snapshot() as reader:
                items = [item async for item in reader.scan(b"")]
                say(f"{len(items)} {sum(len(value) for _, value in items)}")


async def fill(path: str) -> None:
    """Run into the limit of a file's size, and go on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with open_lmdb(path) as store:
        await store.commit(_putting(b"first", b"1"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
        for number in range(1_000):
            try:
                await store.commit(_putting(b"fill/%04d" % number, os.urandom(20_000)))
            except DiskFullError as error:
                say(f"full after {number}: {type(error.__cause__).__name__}")
                break
        outcomes = await asyncio.gather(
            *(store.commit(_putting(b"big/%d" % number, bytes(1_000_000))) for number in range(3)),
            *(store.commit(_putting(b"first", b"%d" % number)) for number in range(2, 5)),
            return_exceptions=True,
        )
        say(" ".join(type(outcome).__name__ for outcome in outcomes))
        await _show(store)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await store.commit(_putting(b"big/9", bytes(1_000_000)))
        await _show(store)


async def _show(store: LmdbKeyValueStore) -> None:
    async with store.snapshot() as reader:
        big = [key async for key, _ in reader.scan(b"big/")]
        fill = [key async for key, _ in reader.scan(b"fill/")]
        say(f"{await reader.get(b'first')!r} {len(big)} {len(fill)}")


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    asyncio.run({"write": write, "try_to_write": try_to_write, "read": read, "fill": fill}[verb](*arguments))
