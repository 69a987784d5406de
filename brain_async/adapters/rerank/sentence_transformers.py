"""A cross-encoder of sentence-transformers in this process; needs the extra of that name (and so torch)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.rerank.passages import NO_PASSAGES, by_score, passage_text
from brain_async.errors import InvalidInputError, RerankerError
from brain_async.model.object import Object
from brain_async.model.results import RichObject
from brain_async.ports.host import PassageField
from brain_async.torch_models import (
    ModelRunner,
    local_model_path,
    quiet_progress,
    require_sentence_transformers,
    translated,
)

__all__ = ["CrossEncoderReranker", "open_cross_encoder"]


class CrossEncoderReranker:
    """Orders hits by the scores of a CrossEncoder model, on the CPU or a GPU of this machine.

    An object is judged by one text: its title, summary and evidence (``passages.passage_text``); the whole contents of the
    evidence where the store can read them. What is longer than the model's window is cut at it. Equal scores keep the fused
    order. The model is found and loaded as SentenceTransformerEmbedder's is; calls take turns batch by batch, and cancelling
    returns at once.

    Args:
        model_name_or_path: a folder with the model, or its name on the hub; a cross-encoder with one label.
        batch_size: pairs of query and text of one visit to the worker thread.
        document_chars: most characters of one text.
        device: as torch names it, such as ``cpu`` or ``cuda``; None is the best that there is.
        local_files_only: False lets sentence-transformers fetch a model that is not on this machine.

    Raises:
        InvalidInputError: an argument is wrong.
        MissingExtensionError: sentence-transformers is not installed.
        RerankerError: the model could not be loaded, failed, or does not give one finite score a pair.
    """

    def __init__(
        self,
        model_name_or_path: str | Path,
        *,
        batch_size: int = 16,
        document_chars: int = 2_000,
        device: str | None = None,
        local_files_only: bool = True,
    ) -> None:
        self._source = str(model_name_or_path)
        if not self._source.strip():
            raise InvalidInputError("model_name_or_path must not be empty", field="model_name_or_path")
        for field, value in (("batch_size", batch_size), ("document_chars", document_chars)):
            if value < 1:
                raise InvalidInputError(f"{field} must be at least 1, not {value}", field=field)
        self._batch_size = batch_size
        self._document_chars = document_chars
        self._device = device
        self._local_files_only = local_files_only
        self._runner = ModelRunner(self._load)

    @property
    def passage_fields(self) -> frozenset[PassageField]:
        """The contents of the evidence."""
        return frozenset({"content"})

    async def load(self) -> None:
        """Load the model, if it is not."""
        await self._runner.run(lambda _: None)

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> list[RichObject]:
        """All ``objects``, best first, judged by the snippets of their evidence."""
        return await self.rerank_passages(query, objects, NO_PASSAGES)

    async def rerank_passages(
        self, query: str, objects: Sequence[RichObject], passages: Mapping[UUID, Object]
    ) -> list[RichObject]:
        """All ``objects``, best first, judged by the contents of their evidence."""
        pairs = [(query, passage_text(obj, passages, self._document_chars)) for obj in objects]
        scores: list[float] = []
        for start in range(0, len(pairs), self._batch_size):
            scores += (await self._score(pairs[start : start + self._batch_size])).tolist()
        return by_score(objects, scores)

    async def _score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return await self._runner.run(lambda model: self._predict(model, pairs))

    def _load(self) -> Any:
        library = require_sentence_transformers()
        with translated(RerankerError, f"the model {self._source} could not be loaded"), quiet_progress():
            path = local_model_path(self._source, local_files_only=self._local_files_only)
            return library.CrossEncoder(
                path, device=self._device, local_files_only=self._local_files_only, trust_remote_code=False
            )

    def _predict(self, model: Any, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        with translated(RerankerError, f"the model {self._source} could not score"):
            scores = np.asarray(model.predict(list(pairs), batch_size=self._batch_size, show_progress_bar=False))
        if scores.shape != (len(pairs),) or not np.isfinite(scores).all():
            raise RerankerError(
                f"the model {self._source} gave no finite score for each of {len(pairs)} pairs, but an array of shape"
                f" {scores.shape}: use a cross-encoder with one label"
            )
        return scores.astype(np.float32)


@asynccontextmanager
async def open_cross_encoder(
    model_name_or_path: str | Path,
    *,
    batch_size: int = 16,
    document_chars: int = 2_000,
    device: str | None = None,
    local_files_only: bool = True,
) -> AsyncIterator[CrossEncoderReranker]:
    """A CrossEncoderReranker, loaded; arguments and errors as for it."""
    reranker = CrossEncoderReranker(
        model_name_or_path,
        batch_size=batch_size,
        document_chars=document_chars,
        device=device,
        local_files_only=local_files_only,
    )
    await reranker.load()
    yield reranker
