"""Embeddings from a model of sentence-transformers in this process; needs the extra of that name (and so torch)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brain_async.errors import DimensionMismatchError, EmbedderError, InvalidInputError, UnavailableError
from brain_async.model.health import BackendHealth
from brain_async.ports.store import Vector
from brain_async.torch_models import (
    ModelRunner,
    local_model_path,
    quiet_progress,
    require_sentence_transformers,
    translated,
)

__all__ = ["SentenceTransformerEmbedder", "open_sentence_transformer"]

_CHARS_PER_TOKEN = 64  # far above what any token stands for: what a text holds beyond it the model would not see


class SentenceTransformerEmbedder:
    """Embeds with a SentenceTransformer model, on the CPU or a GPU of this machine.

    Nothing is fetched unless ``local_files_only`` is False: the model is a folder, or a name that the hub's cache holds.
    It is loaded in a worker thread by ``load`` or the first call; importing torch takes seconds, so load it early. Vectors
    have length 1; queries and documents get the prompts that the model declares for each. A text longer than the
    model's window is cut at it. A text that the model gives no direction (it has no token) gets the vector with equal
    elements, never zero or NaN. Calls take turns, a query after at most one batch of documents; cancelling returns at once.

    Args:
        model_name_or_path: a folder with the model, or its name on the hub.
        name: what is stored beside the vectors; None is the model's name, or its folder's.
        dimension: length of the vectors, checked when the model is loaded; None learns it then.
        batch_size: texts of one visit to the worker thread.
        device: as torch names it, such as ``cpu`` or ``cuda``; None is the best that there is.
        local_files_only: False lets sentence-transformers fetch a model that is not on this machine.

    Raises:
        InvalidInputError: an argument is wrong.
        MissingExtensionError: sentence-transformers is not installed.
        DimensionMismatchError: the model makes vectors of another length than ``dimension``.
        EmbedderError: the model could not be loaded, or failed; a text is not valid Unicode.
    """

    def __init__(
        self,
        model_name_or_path: str | Path,
        *,
        name: str | None = None,
        dimension: int | None = None,
        batch_size: int = 16,
        device: str | None = None,
        local_files_only: bool = True,
    ) -> None:
        self._source = str(model_name_or_path)
        for field, missing in (("model_name_or_path", not self._source.strip()), ("name", name == "")):
            if missing:
                raise InvalidInputError(f"{field} must not be empty", field=field)
        for field, value in (("dimension", dimension), ("batch_size", batch_size)):
            if value is not None and value < 1:
                raise InvalidInputError(f"{field} must be at least 1, not {value}", field=field)
        named_by_path = isinstance(model_name_or_path, Path) or Path(self._source).is_absolute()
        self._name = name or (Path(self._source).name if named_by_path else self._source)
        self._dimension = dimension
        self._batch_size = batch_size
        self._device = device
        self._local_files_only = local_files_only
        self._runner = ModelRunner(self._load)

    @property
    def dimension(self) -> int:
        """Length of every vector. Raises UnavailableError while it is neither given nor learnt from the model."""
        if self._dimension is None:
            raise UnavailableError(f"the length of the vectors of {self._name} is not known yet: await load() first")
        return self._dimension

    @property
    def model(self) -> str:
        """What is stored beside the vectors."""
        return self._name

    @property
    def dense_share(self) -> float:
        """As in the port: what suits a small transformer."""
        return 0.4

    async def load(self) -> None:
        """Load the model, if it is not."""
        await self._runner.run(lambda _: None)

    async def health(self) -> BackendHealth:
        """As in the port: up once the model is loaded."""
        loaded = self._runner.loaded
        problem = "" if loaded else "the model is not loaded yet"
        return BackendHealth(up=loaded, version=self._name, problem=problem, details={"dimension": self._dimension})

    async def embed(self, text: str) -> Vector:
        """One query, shape (dim,), float32, of length 1."""
        rows = await self._runner.run(lambda model: self._encode(model, "query", [text]))
        vector: Vector = rows[0]
        return vector

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Documents, shape (len(texts), dim), float32, rows of length 1, in order; ``batch_size`` at a time."""
        batches = [texts[start : start + self._batch_size] for start in range(0, len(texts), self._batch_size)]
        if not batches:
            await self.load()
            return np.empty((0, self.dimension), np.float32)
        return np.concatenate([await self._embed_batch(batch) for batch in batches])

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self._runner.run(lambda model: self._encode(model, "document", texts))

    def _load(self) -> Any:
        library = require_sentence_transformers()
        with translated(EmbedderError, f"the model {self._name} could not be loaded"), quiet_progress():
            path = local_model_path(self._source, local_files_only=self._local_files_only)
            model = library.SentenceTransformer(
                path, device=self._device, local_files_only=self._local_files_only, trust_remote_code=False
            )
            dimension = int(model.encode_query(["a"], show_progress_bar=False).shape[1])
        if self._dimension not in (None, dimension):
            raise DimensionMismatchError(expected=self._dimension, got=dimension, what=f"the model {self._name}")
        self._dimension = dimension
        return model

    def _encode(self, model: Any, side: Literal["query", "document"], texts: Sequence[str]) -> NDArray[np.float32]:
        encode = model.encode_query if side == "query" else model.encode_document
        window = model.max_seq_length
        cut = [text[: window * _CHARS_PER_TOKEN] for text in texts] if window else list(texts)
        with translated(EmbedderError, f"the model {self._name} could not embed"):
            rows = encode(cut, batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True)
            return _unit_rows(np.asarray(rows, np.float32))


def _unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-6)
    with np.errstate(divide="ignore", invalid="ignore"):
        units: NDArray[np.float64] = np.where(usable, rows / lengths, 1 / np.sqrt(rows.shape[1]))
    return units.astype(np.float32)


@asynccontextmanager
async def open_sentence_transformer(
    model_name_or_path: str | Path,
    *,
    name: str | None = None,
    dimension: int | None = None,
    batch_size: int = 16,
    device: str | None = None,
    local_files_only: bool = True,
) -> AsyncIterator[SentenceTransformerEmbedder]:
    """A SentenceTransformerEmbedder, loaded; arguments and errors as for it."""
    embedder = SentenceTransformerEmbedder(
        model_name_or_path,
        name=name,
        dimension=dimension,
        batch_size=batch_size,
        device=device,
        local_files_only=local_files_only,
    )
    await embedder.load()
    yield embedder
