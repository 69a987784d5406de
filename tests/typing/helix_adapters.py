"""HelixGraph satisfies the graph ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from helixdb import AsyncClient

from brain_async.ports.graph import (
    GraphBulkLoader,
    GraphEdgeSearcher,
    GraphObjectSearcher,
    GraphReader,
    GraphScanner,
    GraphWalker,
    GraphWriter,
)
from brain_async.testing.subjects import CheckedGraph
from helixgraph import HelixGraph

graph = HelixGraph(AsyncClient(), dimension=8)
graph_reader: GraphReader = graph
graph_writer: GraphWriter = graph
graph_object_searcher: GraphObjectSearcher = graph
graph_edge_searcher: GraphEdgeSearcher = graph
graph_scanner: GraphScanner = graph
graph_walker: GraphWalker = graph
graph_bulk_loader: GraphBulkLoader = graph
checked_graph: CheckedGraph = graph
