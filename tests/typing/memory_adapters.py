"""The memory adapters satisfy their ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryKeyValueStore, MemoryStore
from brain_async.ports.graph import GraphEdgeSearcher, GraphObjectSearcher, GraphReader, GraphScanner, GraphWriter
from brain_async.ports.health import HealthProbe
from brain_async.ports.kv import KeyValueStore
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.outbox import EdgeOutbox, KeepsEdgeOutbox, KeepsNodeOutbox, NodeOutbox
from brain_async.ports.store import (
    FusedSearcher,
    KindReader,
    KindWriter,
    ObjectReader,
    ObjectWriter,
    PartSearcher,
    PassageReader,
)
from brain_async.ports.vocabulary import Vocabulary
from brain_async.testing.subjects import CheckedGraph, CheckedKindStore, CheckedStore

object_reader: ObjectReader = MemoryStore()
object_writer: ObjectWriter = MemoryStore()
kind_reader: KindReader = MemoryStore()
kind_writer: KindWriter = MemoryStore()
fused_searcher: FusedSearcher = MemoryStore()
part_searcher: PartSearcher = MemoryStore()
passage_reader: PassageReader = MemoryStore()
vocabulary: Vocabulary = MemoryStore()
checked_store: CheckedStore = MemoryStore()
checked_kind_store: CheckedKindStore = MemoryStore()

graph_reader: GraphReader = MemoryGraph()
graph_writer: GraphWriter = MemoryGraph()
graph_object_searcher: GraphObjectSearcher = MemoryGraph()
graph_edge_searcher: GraphEdgeSearcher = MemoryGraph()
graph_scanner: GraphScanner = MemoryGraph()
checked_graph: CheckedGraph = MemoryGraph()

edge_ledger: EdgeLedger = MemoryEdgeLedger()

keeps_node_outbox: KeepsNodeOutbox = MemoryStore()
keeps_edge_outbox: KeepsEdgeOutbox = MemoryEdgeLedger()
node_outbox: NodeOutbox = MemoryStore().graph_outbox
edge_outbox: EdgeOutbox = MemoryEdgeLedger().graph_outbox

key_value_store: KeyValueStore = MemoryKeyValueStore()
health_probe: HealthProbe = MemoryStore()
graph_health_probe: HealthProbe = MemoryGraph()
