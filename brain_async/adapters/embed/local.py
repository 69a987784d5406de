"""The embedder that needs no network and no torch: wordllama's static token vectors, averaged.

The weights and the tokenizer are files of the installed ``wordllama`` wheel, read directly: importing the package takes
longer than reading them and sets up logging, and its loader may look for the files on the network.
"""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from brain_async.errors import EmbedderError, MissingExtensionError
from brain_async.model.health import BackendHealth
from brain_async.ports.store import Vector

__all__ = ["LocalEmbedder", "open_local_embedder"]

_MODEL = "wordllama-l2-supercat-256"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_INSTALL_LINE = "pip install 'brain-async[local]'"
_INLINE_CHARS = 2_000  # embedded in well under a millisecond, less than a thread hop may take
_CHUNK_CHARS = 200_000  # what one visit to a worker thread embeds, some 20 ms
_POOL_TOKENS = 4_096


class LocalEmbedder:
    """256-dimensional embeddings from static token vectors: the mean of a text's tokens, scaled to length 1.

    Deterministic, below 0.1 ms for a query. Every text has tokens of its own, as unknown characters fall back to
    their bytes; a text without any token (or whose tokens cancel out) gets the vector of the unknown token, never zero
    or NaN. Raises EmbedderError for text that is not valid Unicode (lone surrogates).

    Args:
        weights: token vectors, shape (vocabulary, dim).
        tokenizer: a ``tokenizers.Tokenizer`` without padding and truncation.
        model: a name for what makes the vectors.
    """

    def __init__(self, weights: NDArray[np.float32], tokenizer: Any, *, model: str) -> None:
        self._weights = weights
        self._tokenizer = tokenizer
        self._model = model

    @classmethod
    async def load(cls) -> LocalEmbedder:
        """Read the installed model, in a worker thread. Raises MissingExtensionError, EmbedderError."""
        return await anyio.to_thread.run_sync(cls._read)

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return int(self._weights.shape[1])

    @property
    def model(self) -> str:
        """A name for what makes the vectors."""
        return self._model

    @property
    def dense_share(self) -> float:
        """As in the port."""
        return 0.2

    async def health(self) -> BackendHealth:
        """As in the port: it is in this process, and loaded."""
        return BackendHealth(up=True, version=self._model, details={"dimension": self.dimension})

    async def embed(self, text: str) -> Vector:
        """One query, shape (dim,), float32, of length 1."""
        if len(text) <= _INLINE_CHARS:
            return self._embed_one(text)
        return await anyio.to_thread.run_sync(self._embed_one, text)

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Documents, shape (len(texts), dim), float32, rows of length 1, in order; computed in worker threads."""
        chunks = [await anyio.to_thread.run_sync(self._embed, chunk) for chunk in _chunks(texts)]
        return np.concatenate(chunks) if chunks else np.empty((0, self.dimension), np.float32)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._embed_one(text) for text in texts])

    def _embed_one(self, text: str) -> Vector:
        try:
            tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        except (TypeError, ValueError) as error:
            raise EmbedderError("a text is not valid Unicode and could not be split into tokens") from error
        return self._pool(np.asarray(tokens, np.intp))

    def _pool(self, tokens: NDArray[np.intp]) -> Vector:
        total = np.zeros(self.dimension, np.float32)
        for start in range(0, len(tokens), _POOL_TOKENS):
            total += self._weights[tokens[start : start + _POOL_TOKENS]].sum(axis=0)
        length = float(np.linalg.norm(total))
        if length < 1e-6:
            total, length = self._weights[0], float(np.linalg.norm(self._weights[0]))
        return total / np.float32(length)

    @classmethod
    def _read(cls) -> LocalEmbedder:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtensionError(f"the local embedder is not installed: {_INSTALL_LINE}") from error
        spec = importlib.util.find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtensionError(f"the local embedder's model is not installed: {_INSTALL_LINE}")
        root = Path(next(iter(spec.submodule_search_locations)))
        try:
            (weights,) = load_file(root / _WEIGHTS).values()
            tokenizer = Tokenizer.from_file(str(root / _TOKENIZER))
        except Exception as error:  # tokenizers raises bare Exception
            raise EmbedderError(f"the local embedder's model in {root} could not be read: {error}") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(weights.astype(np.float32), tokenizer, model=_MODEL)


@asynccontextmanager
async def open_local_embedder() -> AsyncIterator[LocalEmbedder]:
    """The local embedder, loaded; nothing is fetched. Raises MissingExtensionError, EmbedderError."""
    yield await LocalEmbedder.load()


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    chars = 0
    for text in texts:
        if chunk and chars + len(text) > _CHUNK_CHARS:
            yield chunk
            chunk, chars = [], 0
        chunk.append(text)
        chars += len(text)
    if chunk:
        yield chunk
