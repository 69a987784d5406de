"""The edge ledger: typed, directed edges between objects, never deleted, journaled, anchored in a Merkle root.

``Ledger`` reads and writes over any ``ports.kv.KeyValueStore``; ``verify_proof`` and ``verify_entry`` check proofs without it.
``Batch`` composes several changes into one commit, to which a caller adds writes of its own.
``CortexEdgeLedger`` is the engine's record of links over it, and ``CortexGraph`` the edges of an engine's graph.
"""

from brain_async.cortex.batch import Batch, EdgeChange, NewEdge
from brain_async.cortex.edge_import import import_edges, is_imported
from brain_async.cortex.edge_ledger import CortexEdgeLedger, CortexEdgeReader
from brain_async.cortex.edge_type import EdgeType
from brain_async.cortex.graph import CortexGraph
from brain_async.cortex.head import Head, overall_root_of
from brain_async.cortex.incident import IncidentCursor
from brain_async.cortex.journal import JournalEntry, JournalProof, Operation, verify_entry
from brain_async.cortex.ledger import Ledger
from brain_async.cortex.proof import EdgeProof, decode_proof, encode_proof, verify_proof
from brain_async.cortex.query import MAX_HOPS_CAP, EdgeExpr, FindResult, PathStep, Query
from brain_async.cortex.record import (
    MAX_DATA_BYTES,
    MAX_TEXT_BYTES,
    EdgeMetadata,
    EdgeRecord,
    decode_record,
    encode_record,
)
from brain_async.cortex.uri import format_uri, parse_uri
from brain_async.cortex.verify import Verified
from brain_async.cortex.view import LedgerView
from brain_async.cortex.walk import Walk

__all__ = [
    "MAX_DATA_BYTES",
    "MAX_HOPS_CAP",
    "MAX_TEXT_BYTES",
    "Batch",
    "CortexEdgeLedger",
    "CortexEdgeReader",
    "CortexGraph",
    "EdgeChange",
    "EdgeExpr",
    "EdgeMetadata",
    "EdgeProof",
    "EdgeRecord",
    "EdgeType",
    "FindResult",
    "Head",
    "IncidentCursor",
    "JournalEntry",
    "JournalProof",
    "Ledger",
    "LedgerView",
    "NewEdge",
    "Operation",
    "PathStep",
    "Query",
    "Verified",
    "Walk",
    "decode_proof",
    "decode_record",
    "encode_proof",
    "encode_record",
    "format_uri",
    "import_edges",
    "is_imported",
    "overall_root_of",
    "parse_uri",
    "verify_entry",
    "verify_proof",
]
