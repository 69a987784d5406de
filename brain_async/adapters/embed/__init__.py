"""Embedders: a small local model, any OpenAI-compatible server, and a cache over either."""

from brain_async.adapters.embed.cache import CachedEmbedder
from brain_async.adapters.embed.http import HttpEmbedder, open_http_embedder
from brain_async.adapters.embed.local import LocalEmbedder, open_local_embedder

__all__ = ["CachedEmbedder", "HttpEmbedder", "LocalEmbedder", "open_http_embedder", "open_local_embedder"]
