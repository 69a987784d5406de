"""Stage 6: let the host's reranker reorder the hydrated hits."""

from __future__ import annotations

from collections.abc import Sequence

from brain_async.errors import BrainError, RerankerError
from brain_async.model.results import RichObject
from brain_async.model.scope import Scope
from brain_async.ports.host import PassageReranker, Reranker
from brain_async.ports.store import PassageReader

__all__ = ["rerank"]


async def rerank(
    reranker: Reranker, reader: PassageReader | None, scope: Scope, query: str, objects: Sequence[RichObject]
) -> tuple[RichObject, ...]:
    """The reranker's order, or the given one when it returns None. Raises RerankerError, and what reading passages raises."""
    if not objects:
        return ()
    try:
        reordered = await _ask(reranker, reader, scope, query, objects)
    except BrainError:
        raise
    except Exception as error:
        raise RerankerError(f"the reranker failed: {type(error).__name__}: {error}") from error
    if reordered is None:
        return tuple(objects)
    given = {obj.id for obj in objects}
    for obj in reordered:
        if not isinstance(obj, RichObject) or obj.id not in given:
            raise RerankerError("the reranker returned an object that it was not given, or returned one twice")
        given.remove(obj.id)
    return tuple(reordered)


async def _ask(
    reranker: Reranker, reader: PassageReader | None, scope: Scope, query: str, objects: Sequence[RichObject]
) -> Sequence[RichObject] | None:
    if reader is None or not isinstance(reranker, PassageReranker):
        return await reranker.rerank(query, objects)
    wanted = [object_id for obj in objects for object_id in ([part.part_id for part in obj.evidence] or [obj.id])]
    fields = reranker.passage_fields
    passages = await reader.read_passages(scope, wanted, content="content" in fields, embedding="embedding" in fields)
    return await reranker.rerank_passages(query, objects, passages)
