"""The ledger's graph satisfies its ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from brain_async.adapters.memory import MemoryKeyValueStore
from brain_async.cortex import CortexGraph, Ledger
from brain_async.ports.graph import GraphEdgeSearcher, GraphReader, GraphWriter
from brain_async.testing.subjects import CheckedEdges

graph = CortexGraph(Ledger(MemoryKeyValueStore()))
graph_reader: GraphReader = graph
graph_writer: GraphWriter = graph
graph_edge_searcher: GraphEdgeSearcher = graph
checked_edges: CheckedEdges = graph
