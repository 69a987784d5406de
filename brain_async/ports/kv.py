"""Ports of an ordered key-value store: snapshots to read from, and one atomic, durable change after another.

Keys are 1 to 480 bytes and are ordered as bytes are. A change is described by a *work*: a generator that asks for what it
has to read, is sent the answers, and returns what is to be written. It does no I/O itself, so that the same work runs in the
writer's thread of an embedded store and over a network connection alike.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

__all__ = ["Change", "Get", "KeyValueReader", "KeyValueStore", "Scan", "Work"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Get(msgspec.Struct, frozen=True, gc=False):
    """Asks for values by key; answered by a mapping that lacks the keys which are not there."""

    keys: Sequence[bytes]


class Scan(msgspec.Struct, frozen=True, gc=False):
    """Asks for at most ``limit`` records of a prefix by ascending key, those after ``after``; answered as a mapping."""

    prefix: bytes
    after: bytes | None = None
    limit: int = 1_000_000


class Change(msgspec.Struct, frozen=True):
    """What to write: a value by key, None to delete."""

    writes: Mapping[bytes, bytes | None] = {}


Work = Generator[Get | Scan, Mapping[bytes, bytes], tuple[Change, T_co]]
"""Yields what it reads, returns what it writes and the result of ``commit``. It may be run more than once, from the start."""


@runtime_checkable
class KeyValueReader(Protocol):
    """One moment of the store: it shows no change that is committed after it was opened."""

    async def get(self, key: bytes) -> bytes | None:
        """The value, None when there is none."""
        ...

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The values by key; keys that are not there are absent."""
        ...

    def scan(
        self, prefix: bytes, *, after: bytes | None = None, reverse: bool = False
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """(key, value) of every key with the prefix past ``after``, ascending, or descending with ``reverse``.

        Read as it is consumed: stopping early costs nothing.
        """
        ...

    async def scan_many(
        self, prefixes: Sequence[bytes], *, limit: int
    ) -> Mapping[bytes, Sequence[tuple[bytes, bytes]]]:
        """The first ``limit`` (key, value) of each prefix by ascending key, in one request; every prefix is a key of it."""
        ...


@runtime_checkable
class KeyValueStore(Protocol):
    """Snapshots and commits. Failures are BackendErrors; cancellation leaves the store usable."""

    def snapshot(self) -> AbstractAsyncContextManager[KeyValueReader]:
        """A reader of this moment, which the block holds open. Writers go on beside it, and do not show."""
        ...

    async def commit(self, work: Callable[[], Work[T]]) -> T:
        """Run ``work``, write its change atomically, and return its result once that is durable.

        Works run one after another: each sees all that was written before. An exception of the work is raised as it is, and
        nothing is written; so it is with InvalidInputError for a key of another length. Cancelled, or failed with
        BackendTimeoutError, the change is written whole or not at all, and the next work sees which.
        """
        ...
