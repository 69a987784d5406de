"""Embedders: a small local model, any model of sentence-transformers, any OpenAI-compatible server, and a cache over each."""

from brain_async.adapters.embed.cache import CachedEmbedder
from brain_async.adapters.embed.http import HttpEmbedder, open_http_embedder
from brain_async.adapters.embed.local import LocalEmbedder, open_local_embedder
from brain_async.adapters.embed.sentence_transformers import SentenceTransformerEmbedder, open_sentence_transformer

__all__ = [
    "CachedEmbedder",
    "HttpEmbedder",
    "LocalEmbedder",
    "SentenceTransformerEmbedder",
    "open_http_embedder",
    "open_local_embedder",
    "open_sentence_transformer",
]
