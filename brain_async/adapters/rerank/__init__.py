"""Rerankers: a cross-encoder over HTTP or in this process, and MMR for diversity."""

from brain_async.adapters.rerank.http import HttpReranker, RerankApi, open_http_reranker
from brain_async.adapters.rerank.mmr import MmrReranker
from brain_async.adapters.rerank.sentence_transformers import CrossEncoderReranker, open_cross_encoder

__all__ = [
    "CrossEncoderReranker",
    "HttpReranker",
    "MmrReranker",
    "RerankApi",
    "open_cross_encoder",
    "open_http_reranker",
]
