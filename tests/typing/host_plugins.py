"""Embedders, rerankers and the conversation's state satisfy their ports, signature by signature: checked by mypy, never run."""

from __future__ import annotations

from brain_async import SearchContext
from brain_async.adapters.embed import CachedEmbedder, HttpEmbedder, LocalEmbedder, SentenceTransformerEmbedder
from brain_async.adapters.rerank import CrossEncoderReranker, HttpReranker, MmrReranker
from brain_async.otel import OtelObserver
from brain_async.ports.host import Observer, PassageReranker, QueryEmbedder, SuggestsDenseShare
from brain_async.ports.paging import ResultSetStore


def local_embedder(embedder: LocalEmbedder) -> QueryEmbedder:
    return embedder


def http_embedder(embedder: HttpEmbedder) -> QueryEmbedder:
    return embedder


def sentence_transformer_embedder(embedder: SentenceTransformerEmbedder) -> QueryEmbedder:
    return embedder


def cached_embedder(embedder: CachedEmbedder) -> QueryEmbedder:
    return embedder


def suggesting(
    embedder: LocalEmbedder | HttpEmbedder | SentenceTransformerEmbedder | CachedEmbedder,
) -> SuggestsDenseShare:
    return embedder


def http_reranker(reranker: HttpReranker) -> PassageReranker:
    return reranker


def cross_encoder_reranker(reranker: CrossEncoderReranker) -> PassageReranker:
    return reranker


mmr_reranker: PassageReranker = MmrReranker()
result_set_store: ResultSetStore = SearchContext()


def otel_observer(observer: OtelObserver) -> Observer:
    return observer
