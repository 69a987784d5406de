"""Stage 7: the page. Cut the ids, keep the result set, say what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

from brain_async.config import DENSE_CHANNELS
from brain_async.model.relation import Relation
from brain_async.model.results import ChannelOutcome, DegradeMode, ResultSet, RichObject, SearchPage
from brain_async.ports.paging import ResultSetStore

__all__ = ["degrade_mode", "degraded_channels", "store_page"]


def degraded_channels(outcomes: Sequence[ChannelOutcome]) -> tuple[str, ...]:
    """The names of the channels that failed or ran out of time."""
    return tuple(outcome.channel for outcome in outcomes if outcome.status in ("error", "timeout"))


def degrade_mode(outcomes: Sequence[ChannelOutcome]) -> DegradeMode:
    """``lexical_only`` when a dense channel was lost, else ``none``."""
    return DegradeMode.LEXICAL_ONLY if DENSE_CHANNELS.intersection(degraded_channels(outcomes)) else DegradeMode.NONE


async def store_page(
    result_sets: ResultSetStore,
    objects: Sequence[RichObject],
    object_ids: Sequence[UUID],
    *,
    offset: int,
    now: datetime,
    max_ids: int,
    outcomes: Sequence[ChannelOutcome] = (),
    relations: Mapping[UUID, Relation] | None = None,
    respelled: tuple[tuple[str, str], ...] = (),
) -> SearchPage:
    """Keep ``object_ids`` (cut to ``max_ids``) as the new result set, of which ``offset`` are served, and return the page."""
    ids = tuple(object_ids[:max_ids])
    served = min(offset, len(ids))
    kept = {object_id: relations[object_id] for object_id in ids if object_id in relations} if relations else {}
    result_set = ResultSet(
        id=uuid4(), object_ids=ids, relations=kept, offset=served, created_at=now, respelled=respelled
    )
    await result_sets.put_result_set(result_set)
    return SearchPage(
        objects=tuple(objects),
        result_set_id=result_set.id,
        has_more=served < len(ids),
        total=len(ids),
        degrade_mode=degrade_mode(outcomes),
        degraded=degraded_channels(outcomes),
        outcomes=tuple(outcomes),
        respelled=respelled,
    )
