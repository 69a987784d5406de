"""The LMDB adapter satisfies its ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from brain_async.adapters.lmdb import LmdbKeyValueStore
from brain_async.adapters.lmdb.snapshots import Snapshot
from brain_async.ports.kv import KeyValueReader, KeyValueStore


def key_value_store(store: LmdbKeyValueStore) -> KeyValueStore:
    return store


def key_value_reader(snapshot: Snapshot) -> KeyValueReader:
    return snapshot
