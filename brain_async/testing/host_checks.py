"""Checks of what a host plugs in: embedders and rerankers; and an Observer that checks what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

import numpy as np

from brain_async.model.object import Object
from brain_async.model.results import ChannelOutcome, Evidence, RichObject
from brain_async.ports.host import OperationEnd, OperationStart, PassageReranker, QueryEmbedder, Reranker
from brain_async.ports.store import Vector

__all__ = ["EMBEDDER_CHECKS", "RERANKER_CHECKS", "CheckingObserver"]

_TEXTS = (
    "The renewal of the contract is at risk.",
    "Grüße aus München, 外币汇率换算规则",
    "def main(argv: list[str]) -> int: ...",
    "a",
    "word " * 3_000,
)
_TOLERANCE = 1e-3


def _assert_vector(vector: Vector, embedder: QueryEmbedder) -> None:
    assert vector.shape == (embedder.dimension,), f"shape {vector.shape}, expected ({embedder.dimension},)"
    assert vector.dtype == np.float32, f"dtype {vector.dtype}, expected float32"
    assert np.isfinite(vector).all(), "every element is finite"
    assert np.any(vector), "a text that is not blank has a vector that is not all zero"


def _cosine(left: Vector, right: Vector) -> float:
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))


async def check_embed_shape(embedder: QueryEmbedder) -> None:
    """One query: shape (dim,), float32, finite, not zero, whatever the text; and the embedder has a name."""
    assert embedder.dimension > 0
    assert embedder.model, "model names what made the vectors"
    for text in _TEXTS:
        _assert_vector(await embedder.embed(text), embedder)


async def check_embed_many_keeps_order(embedder: QueryEmbedder) -> None:
    """A batch: shape (n, dim), float32, each row as the text would have alone, in the order given; also an empty one."""
    texts = [*_TEXTS, *_TEXTS[::-1]]
    batch = await embedder.embed_many(texts)
    assert batch.shape == (len(texts), embedder.dimension)
    assert batch.dtype == np.float32
    for text, row in zip(texts, batch, strict=True):
        _assert_vector(row, embedder)
        alone = (await embedder.embed_many([text]))[0]
        assert _cosine(row, alone) > 1 - _TOLERANCE, f"{text[:40]!r} has another vector in a batch than alone"
    empty = await embedder.embed_many([])
    assert empty.shape == (0, embedder.dimension)
    assert empty.dtype == np.float32


async def check_embed_is_repeatable(embedder: QueryEmbedder) -> None:
    """The same text has the same vector, and a text is nearer to itself than to another."""
    first, again = await embedder.embed(_TEXTS[0]), await embedder.embed(_TEXTS[0])
    assert _cosine(first, again) > 1 - _TOLERANCE
    document = (await embedder.embed_many([_TEXTS[0]]))[0]
    assert _cosine(first, document) > _cosine(first, await embedder.embed(_TEXTS[2]))


def _page(size: int) -> list[RichObject]:
    """Objects by falling score, of equal texts some, each with evidence but the last."""
    return [
        RichObject(
            id=uuid4(),
            kind="document",
            title=f"title {n % 3}",
            score=1 - n / 100,
            evidence=() if n == size - 1 else (Evidence(part_id=uuid4(), snippet=_TEXTS[n % 4][:240]),),
        )
        for n in range(size)
    ]


def _passages(page: Sequence[RichObject]) -> dict[UUID, Object]:
    """What a store would read for ``page``, but for one part that has gone and one without embedding."""
    ids = [part.part_id for obj in page for part in obj.evidence] + [obj.id for obj in page if not obj.evidence]
    return {
        key: Object(id=key, title="part", content=_TEXTS[n % 4], embedding=None if n == 2 else (1.0, float(n % 3)))
        for n, key in enumerate(ids)
        if n != 1
    }


async def _ordered(reranker: Reranker, page: Sequence[RichObject]) -> Sequence[RichObject] | None:
    if isinstance(reranker, PassageReranker):
        return await reranker.rerank_passages("renewal risk", page, _passages(page))
    return await reranker.rerank("renewal risk", page)


async def check_rerank_returns_a_selection(reranker: Reranker) -> None:
    """None, or the same objects, unchanged, each at most once; also for an empty page."""
    for size in (0, 1, 7, 60):
        page = _page(size)
        reranked = await _ordered(reranker, page)
        if reranked is not None:
            known = {obj.id: obj for obj in page}
            assert len({obj.id for obj in reranked}) == len(reranked), "no object comes twice"
            assert all(known.get(obj.id) == obj for obj in reranked), "a reranker adds and changes nothing"


async def check_rerank_is_repeatable(reranker: Reranker) -> None:
    """The same page is ordered the same way again, and what it was given is left as it was."""
    page = _page(7)
    given = list(page)
    first, again = await _ordered(reranker, page), await _ordered(reranker, page)
    assert page == given, "the caller's list is the caller's"
    assert (first is None) == (again is None)
    assert [obj.id for obj in first or ()] == [obj.id for obj in again or ()]


class CheckingObserver:
    """An Observer that records what it is told, and what of it breaks the contract, in ``violations``.

    The contract: a span starts once and ends once; its channels end in between, each once; times are not negative.
    """

    def __init__(self) -> None:
        self.started: list[OperationStart] = []
        self.channels: list[tuple[int, ChannelOutcome]] = []
        self.ended: list[OperationEnd] = []
        self.violations: list[str] = []
        self._open: dict[int, set[str]] = {}
        self._seen: set[int] = set()

    @property
    def open_spans(self) -> frozenset[int]:
        """Spans that started and did not end: none once every call has returned."""
        return frozenset(self._open)

    async def operation_started(self, event: OperationStart) -> None:
        self._expect(event.span not in self._seen, f"span {event.span} started twice")
        self._seen.add(event.span)
        self._open[event.span] = set()
        self.started.append(event)

    async def channel_ended(self, span: int, outcome: ChannelOutcome) -> None:
        channels = self._open.get(span)
        self._expect(channels is not None, f"channel {outcome.channel} ended outside of span {span}")
        if channels is not None:
            self._expect(outcome.channel not in channels, f"channel {outcome.channel} of span {span} ended twice")
            channels.add(outcome.channel)
        self._expect(min(outcome.seconds, outcome.started, outcome.hits) >= 0, f"negative measure in {outcome}")
        self.channels.append((span, outcome))

    async def operation_ended(self, event: OperationEnd) -> None:
        self._expect(self._open.pop(event.span, None) is not None, f"span {event.span} ended without a start")
        self._expect(min(event.seconds, event.items) >= 0, f"negative measure in {event}")
        self.ended.append(event)

    def _expect(self, holds: bool, violation: str) -> None:
        if not holds:
            self.violations.append(violation)


EMBEDDER_CHECKS = (check_embed_shape, check_embed_many_keeps_order, check_embed_is_repeatable)
RERANKER_CHECKS = (check_rerank_returns_a_selection, check_rerank_is_repeatable)
