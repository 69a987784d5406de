"""The async Protocols that adapters implement and the engine is written against, and the values they exchange."""

from brain_async.ports.graph import GraphEdgeSearcher, GraphObjectSearcher, GraphReader, GraphWriter
from brain_async.ports.health import HealthProbe
from brain_async.ports.host import (
    Observer,
    OperationEnd,
    OperationStart,
    PassageReranker,
    Progress,
    QueryEmbedder,
    Reranker,
    SuggestsDenseShare,
)
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.paging import ResultSetStore
from brain_async.ports.store import (
    Hydration,
    KindReader,
    KindWriter,
    ObjectReader,
    ObjectWriter,
    PartSearcher,
    PassageReader,
    Vector,
)
from brain_async.ports.vocabulary import Vocabulary, VocabularyWord

__all__ = [
    "EdgeLedger",
    "GraphEdgeSearcher",
    "GraphObjectSearcher",
    "GraphReader",
    "GraphWriter",
    "HealthProbe",
    "Hydration",
    "KindReader",
    "KindWriter",
    "ObjectReader",
    "ObjectWriter",
    "Observer",
    "OperationEnd",
    "OperationStart",
    "PartSearcher",
    "PassageReader",
    "PassageReranker",
    "Progress",
    "QueryEmbedder",
    "Reranker",
    "ResultSetStore",
    "SuggestsDenseShare",
    "Vector",
    "Vocabulary",
    "VocabularyWord",
]
