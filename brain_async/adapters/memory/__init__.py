"""Everything in memory: for tests, small corpora and processes that need no durability."""

from brain_async.adapters.memory.graph import MemoryGraph
from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.adapters.memory.ledger import MemoryEdgeLedger
from brain_async.adapters.memory.store import MemoryStore

__all__ = ["MemoryEdgeLedger", "MemoryGraph", "MemoryKeyValueStore", "MemoryStore"]
