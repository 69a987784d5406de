"""Stage 6: let the host's reranker reorder the hydrated page."""

from __future__ import annotations

from collections.abc import Sequence

from brain_async.errors import BrainError, RerankerError
from brain_async.model.results import RichObject
from brain_async.ports.host import Reranker

__all__ = ["rerank"]


async def rerank(reranker: Reranker, query: str, objects: Sequence[RichObject]) -> tuple[RichObject, ...]:
    """The reranker's order, or the given one when it returns None. Raises RerankerError."""
    if not objects:
        return ()
    try:
        reordered = await reranker.rerank(query, objects)
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
