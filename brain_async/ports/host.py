"""Ports that the host plugs in: embedder, reranker, observer, progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.model.results import ChannelOutcome, DegradeMode, RichObject
from brain_async.ports.store import Vector

__all__ = ["Observer", "OperationEnd", "OperationStart", "Progress", "QueryEmbedder", "Reranker"]

Progress = Callable[[int, int], object]
"""Called after each batch of a write with (items done, items in all), failed ones included."""


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
class Reranker(Protocol):
    """Reorders a hydrated page."""

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        """The same objects, reordered or fewer; None leaves the page as it is. Raises RerankerError."""
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
