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
from helixgraph import HelixGraph, HelixGraphReader, open_helix_embedded

graph = HelixGraph(AsyncClient(), dimension=8)
graph_reader: GraphReader = graph
graph_writer: GraphWriter = graph
graph_object_searcher: GraphObjectSearcher = graph
graph_edge_searcher: GraphEdgeSearcher = graph
graph_scanner: GraphScanner = graph
graph_walker: GraphWalker = graph
graph_bulk_loader: GraphBulkLoader = graph
checked_graph: CheckedGraph = graph

reader = HelixGraphReader(AsyncClient(), dimension=8)
only_reader: GraphReader = reader
only_object_searcher: GraphObjectSearcher = reader
only_edge_searcher: GraphEdgeSearcher = reader
only_scanner: GraphScanner = reader
no_writer: GraphWriter = reader  # type: ignore[assignment]


async def openers() -> None:
    async with open_helix_embedded("there", dimension=8) as written:
        _: HelixGraph = written
    async with open_helix_embedded("there", dimension=8, read_only=True) as read:
        __: HelixGraph = read  # type: ignore[assignment]
