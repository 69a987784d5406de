"""What every key-value adapter does alike: run a work whose answers are at hand, and tell keys and bounds."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar, cast

from brain_async.errors import InvalidInputError
from brain_async.ports.kv import Change, Get, Scan, Work

__all__ = ["MAX_KEY_BYTES", "check_keys", "first_records", "run_work", "scan_bounds"]

T = TypeVar("T")

MAX_KEY_BYTES = 480
"""Length of the longest key that can be written; the shortest has one byte."""


def run_work(work: Callable[[], Work[T]], answer: Callable[[Get | Scan], Mapping[bytes, bytes]]) -> tuple[Change, T]:
    """What ``work`` wants written, and its result, each request answered at once by ``answer``.

    Raises what the work raises, and InvalidInputError for a key that cannot be written.
    """
    steps = work()
    try:
        request = next(steps)
        while True:
            request = steps.send(answer(request))
    except StopIteration as finished:
        outcome: tuple[Change, T] = finished.value
    finally:
        steps.close()
    check_keys(outcome[0].writes)
    return outcome


def check_keys(keys: Iterable[bytes]) -> None:
    """Raises InvalidInputError for a key that cannot be written."""
    for key in keys:
        if not 0 < len(key) <= MAX_KEY_BYTES:
            raise InvalidInputError(f"a key has 1 to {MAX_KEY_BYTES} bytes, not {len(key)}", field="key")


def scan_bounds(prefix: bytes, after: bytes | None, *, reverse: bool = False) -> tuple[bytes, bytes | None]:
    """The keys of a scan as a range: the first that may be in it, and the one that ends it, None where nothing does."""
    stem = prefix.rstrip(b"\xff")
    low, high = prefix, stem[:-1] + bytes([stem[-1] + 1]) if stem else None
    if after is not None:
        if not reverse:
            low = max(low, after + b"\0")
        else:
            high = after if high is None else min(high, after)
    return low, high


async def first_records(records: AsyncIterator[tuple[bytes, bytes]], limit: int) -> list[tuple[bytes, bytes]]:
    """At most ``limit`` of what a scan gives, which is closed."""
    found: list[tuple[bytes, bytes]] = []
    async with aclosing(cast("AsyncGenerator[tuple[bytes, bytes]]", records)) as scanned:
        async for record in scanned:
            if len(found) >= limit:
                break
            found.append(record)
    return found
