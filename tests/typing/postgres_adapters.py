"""The Postgres adapters satisfy their ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore
from brain_async.adapters.postgres.kv import PostgresSnapshot
from brain_async.ports.health import HealthProbe
from brain_async.ports.kv import KeyValueReader, KeyValueStore
from brain_async.ports.outbox import KeepsNodeOutbox, NodeOutbox
from brain_async.ports.store import KindReader, KindWriter, ObjectReader, ObjectWriter, PartSearcher, PassageReader
from brain_async.ports.vocabulary import Vocabulary
from brain_async.testing.subjects import CheckedKindStore, CheckedStore


def store_ports(store: PostgresStore) -> None:
    object_reader: ObjectReader = store
    object_writer: ObjectWriter = store
    kind_reader: KindReader = store
    kind_writer: KindWriter = store
    part_searcher: PartSearcher = store
    passage_reader: PassageReader = store
    keeps_outbox: KeepsNodeOutbox = store
    node_outbox: NodeOutbox = store.graph_outbox
    checked_store: CheckedStore = store
    checked_kind_store: CheckedKindStore = store
    del object_reader, object_writer, kind_reader, kind_writer, part_searcher, checked_store, checked_kind_store
    del keeps_outbox, node_outbox, passage_reader


def vocabulary(store: PostgresStore) -> Vocabulary:
    return store


def health_probe(store: PostgresStore) -> HealthProbe:
    return store


def key_value_store(store: PostgresKeyValueStore) -> KeyValueStore:
    return store


def key_value_reader(snapshot: PostgresSnapshot) -> KeyValueReader:
    return snapshot
