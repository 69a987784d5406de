"""LMDB as the key-value store: a memory-mapped file in this machine, one process writing, any number reading."""

from brain_async.adapters.lmdb.store import LmdbKeyValueStore, open_lmdb

__all__ = ["LmdbKeyValueStore", "open_lmdb"]
