"""Ports that the host plugs in: embedder, reranker, observer, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.model.object import Object
from brain_async.model.results import ChannelOutcome, DegradeMode, RichObject
from brain_async.ports.store import Vector

__all__ = [
    "LanguageDetector",
    "Observer",
    "OperationEnd",
    "OperationStart",
    "PassageField",
    "PassageReranker",
    "Progress",
    "QueryEmbedder",
    "Reranker",
    "SuggestsDenseShare",
]

Progress = Callable[[int, int], object]
"""Called after each batch of a write with (items done, items in all), failed ones included."""

LanguageDetector = Callable[[str], str | None]
"""Says what language a text is in, by name or ISO 639-1 code; None where it cannot tell. Called in a worker thread with the
first 2,000 characters of an object's text, so it may be slow, but must bear several threads."""

PassageField = Literal["content", "embedding"]
"""What a reranker wants read of the passages of a page."""


@runtime_checkable
class QueryEmbedder(Protocol):
    """Turns text into vectors. Raises EmbedderError; a text that has no embedding (blank) is never passed."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def model(self) -> str:
        """A name for what made the vectors, stored beside them."""
        ...

    async def embed(self, text: str) -> Vector:
        """One query, shape (dim,), float32."""
        ...

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Documents, shape (len(texts), dim), float32, in order."""
        ...


@runtime_checkable
class SuggestsDenseShare(Protocol):
    """An optional ability of an embedder: it says how far its similarities are to be trusted beside BM25."""

    @property
    def dense_share(self) -> float:
        """The vector channel's share in the fused score, 0 to 1, the lexical channel having the rest."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reorders the best hits of a search, hydrated."""

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        """The same objects, reordered or fewer; None leaves the page as it is. Raises RerankerError."""
        ...


@runtime_checkable
class PassageReranker(Reranker, Protocol):
    """A reranker that judges by more than the page shows: the whole contents or the stored embeddings of its passages.

    Where the store can read them (``PassageReader``), the engine calls ``rerank_passages``, elsewhere ``rerank``.
    """

    @property
    def passage_fields(self) -> frozenset[PassageField]:
        """What is to be read of each passage."""
        ...

    async def rerank_passages(
        self, query: str, objects: Sequence[RichObject], passages: Mapping[UUID, Object]
    ) -> Sequence[RichObject] | None:
        """As ``rerank``. ``passages`` has, by id, the evidence parts of each object, or itself where it has none, as
        ``PassageReader.read_passages`` gives them; one that is no longer visible is absent."""
        ...


class OperationStart(msgspec.Struct, frozen=True, kw_only=True):
    """A verb began. ``span`` ties it to its channels and its end; unique within the process."""

    span: int
    operation: str


class OperationEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A verb ended.

    Attributes:
        items: returned.
        degrade_mode, degraded: what it had to do without.
        error: what left it; None on success.
        query: the text that was searched for, cleaned; "" for a verb without one, and where it was refused.
        pool_wait: seconds spent waiting for pooled connections, of concurrent channels added up.
    """

    span: int
    operation: str
    items: int
    seconds: float
    degrade_mode: DegradeMode
    degraded: tuple[str, ...]
    error: BaseException | None
    query: str = ""
    pool_wait: float = 0.0


@runtime_checkable
class Observer(Protocol):
    """Told of every verb and channel. What it raises is logged and otherwise ignored."""

    async def operation_started(self, event: OperationStart) -> None:
        """A verb began."""
        ...

    async def channel_ended(self, span: int, outcome: ChannelOutcome) -> None:
        """A channel of the verb with this span ended."""
        ...

    async def operation_ended(self, event: OperationEnd) -> None:
        """A verb ended, with success, an error or a cancellation."""
        ...
