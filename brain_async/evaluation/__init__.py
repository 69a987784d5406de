"""How good are the answers? Labelled queries against an engine: ranking measures, seconds, significance, tuned weights."""

from brain_async.evaluation.collection import Collection, Document, Query, read_collection
from brain_async.evaluation.ingest import ingest_collection
from brain_async.evaluation.judge import Judge
from brain_async.evaluation.report import evaluate
from brain_async.evaluation.results import Comparison, Evaluation, SystemFigures, Tuning
from brain_async.evaluation.systems import System, evaluated_systems
from brain_async.evaluation.tune import tune_weights

__all__ = [
    "Collection",
    "Comparison",
    "Document",
    "Evaluation",
    "Judge",
    "Query",
    "System",
    "SystemFigures",
    "Tuning",
    "evaluate",
    "evaluated_systems",
    "ingest_collection",
    "read_collection",
    "tune_weights",
]
