"""PostgreSQL as the store: objects, kinds, edges, keys and values, and the search channels over parts."""

from brain_async.adapters.postgres.bulk import BulkLoadResult
from brain_async.adapters.postgres.describe import StoreDescription
from brain_async.adapters.postgres.edge_events import read_edge_events
from brain_async.adapters.postgres.kv import PostgresKeyValueStore
from brain_async.adapters.postgres.migrate import BackendName, LexicalChoice
from brain_async.adapters.postgres.store import PostgresStore, open_postgres

__all__ = [
    "BackendName",
    "BulkLoadResult",
    "LexicalChoice",
    "PostgresKeyValueStore",
    "PostgresStore",
    "StoreDescription",
    "open_postgres",
    "read_edge_events",
]
