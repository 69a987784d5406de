"""Reranking a verb's hits: what the reranker was given, what stands on the page, and what pages behind it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec

from brain_async.errors import BackendTimeoutError, BrainError
from brain_async.model.results import ChannelOutcome, OutcomeStatus, RichObject
from brain_async.model.scope import Scope
from brain_async.observe import Span
from brain_async.ops.deps import Deps
from brain_async.stages.deadline import within
from brain_async.stages.rerank import rerank

__all__ = ["RERANK", "Ordered", "ordered"]

RERANK = "rerank"
"""What reranking is called among the outcomes of a page, and in ``page.degraded``."""


class Ordered(msgspec.Struct, frozen=True):
    """Hydrated objects in their final order.

    Attributes:
        page: the first ``limit`` of them.
        behind: the ids of the others, in order.
        dropped: the ids that the reranker left out.
        outcomes: the reranker's, where there is one.
        reranked: how many objects stand in an order that the reranker chose.
    """

    page: tuple[RichObject, ...]
    behind: tuple[UUID, ...]
    dropped: tuple[UUID, ...] = ()
    outcomes: tuple[ChannelOutcome, ...] = ()
    reranked: int = 0

    @property
    def served(self) -> list[UUID]:
        """The ids that paging is past: those of the page, and what was dropped."""
        return [*(obj.id for obj in self.page), *self.dropped]


async def ordered(
    deps: Deps, span: Span, scope: Scope, query: str, objects: Sequence[RichObject], *, limit: int
) -> Ordered:
    """``objects`` as the reranker orders them, or as they are without one, and where it failed.

    Raises what the reranker failed with under ``fail_on_reranker_error``.
    """
    if deps.reranker is None:
        return _split(objects, limit)
    kept, started = tuple(objects), span.elapsed
    error: BrainError | None = None
    asked = rerank(deps.reranker, deps.can.passages, scope, query, objects)
    try:
        kept = await within(deps.config.rerank_timeout, "the reranker", asked)
    except BrainError as failure:
        error = failure
    outcome = _outcome(error, len(kept), started, span.elapsed)
    await span.channels([outcome])
    if error is not None and deps.config.fail_on_reranker_error:
        raise error
    left = {obj.id for obj in kept}
    return msgspec.structs.replace(
        _split(kept, limit),
        dropped=tuple(obj.id for obj in objects if obj.id not in left),
        outcomes=(outcome,),
        reranked=outcome.hits,
    )


def _outcome(error: BrainError | None, ordered: int, started: float, ended: float) -> ChannelOutcome:
    status: OutcomeStatus = "ok" if ordered else "empty"
    if error is not None:
        status = "timeout" if isinstance(error, BackendTimeoutError) else "error"
    return ChannelOutcome(
        channel=RERANK,
        status=status,
        hits=ordered if error is None else 0,
        started=started,
        seconds=ended - started,
        detail="" if error is None else str(error),
    )


def _split(objects: Sequence[RichObject], limit: int) -> Ordered:
    return Ordered(tuple(objects[:limit]), tuple(obj.id for obj in objects[limit:]))
