"""Stage 5: load one page under the scope, in one statement, refilling what the store no longer shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from brain_async.model.candidate import Fused, Promoted
from brain_async.model.filters import Filters
from brain_async.model.object import Object
from brain_async.model.results import Evidence, HitExplanation, RichObject, rich_from_object
from brain_async.model.scope import Scope
from brain_async.ports.store import ObjectReader
from brain_async.text import snippet

__all__ = ["hydrate_page", "hydrate_promoted"]


NO_FILTERS = Filters()


def _evidence(hit: Fused, part: Object) -> Evidence:
    return Evidence(
        part_id=part.key, title=part.title, snippet=snippet(part.content), score=hit.score, position=part.position
    )


def _explanation(hit: Fused) -> HitExplanation:
    return HitExplanation(
        id=hit.candidate.id,
        channels=tuple(hit.channels),
        fused=hit.fused,
        boost=hit.boost,
        decay=hit.decay,
        score=hit.score,
    )


def _batch_sizes(limit: int) -> Iterator[int]:
    """A page first; where that did not fill it, twice as much each time, so that many invisible ids cost few statements."""
    size = limit
    while True:
        yield size
        size *= 2


async def hydrate_promoted(
    reader: ObjectReader,
    scope: Scope,
    promoted: Sequence[Promoted],
    *,
    limit: int,
    explain: bool,
    entity_filters: Filters = NO_FILTERS,
) -> tuple[list[RichObject], list[Promoted]]:
    """(the first ``limit`` visible objects with score and evidence, ``promoted`` without those found invisible).

    One statement when all are visible; more, of growing size, to fill the page when some are not. Evidence whose part is
    no longer visible is left out. The store decides: an object that has become a part is no result of its own, and one that
    no part earned its place (a graph's node did) must pass ``entity_filters`` as it is stored.
    """
    page: list[RichObject] = []
    kept: list[Promoted] = []
    position = 0
    for size in _batch_sizes(limit):
        batch = promoted[position : position + size]
        if not batch or len(page) == limit:
            break
        loaded = await reader.hydrate(
            scope, [item.id for item in batch], [hit.candidate.id for item in batch for hit in item.evidence]
        )
        for item in batch:
            if len(page) == limit:
                break
            position += 1
            obj = loaded.objects.get(item.id)
            if obj is None or obj.is_part or (not item.evidence and not entity_filters.matches(obj)):
                continue
            kept.append(item)
            parts = [(hit, loaded.parts.get(hit.candidate.id)) for hit in item.evidence]
            page.append(
                rich_from_object(
                    obj,
                    score=item.score,
                    evidence=tuple(_evidence(hit, part) for hit, part in parts if part is not None),
                    explain=tuple(_explanation(hit) for hit in item.hits) if explain else (),
                )
            )
    return page, [*kept, *promoted[position:]]


async def hydrate_page(
    reader: ObjectReader, scope: Scope, object_ids: Sequence[UUID], *, limit: int
) -> tuple[list[Object], int]:
    """(up to ``limit`` visible objects from the front of ``object_ids``, how many ids that consumed)."""
    page: list[Object] = []
    position = 0
    for size in _batch_sizes(limit):
        batch = object_ids[position : position + size]
        if not batch or len(page) == limit:
            break
        loaded = (await reader.hydrate(scope, batch)).objects
        for object_id in batch:
            if len(page) == limit:
                break
            position += 1
            if object_id in loaded:
                page.append(loaded[object_id])
    return page, position
