"""The host's reranker may reorder and drop, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from brain_async.errors import BackendTimeoutError, RerankerError
from brain_async.model.results import RichObject
from brain_async.stages.rerank import rerank
from tests.unit.stages.shelf import SCOPE

OBJECTS = [RichObject(id=UUID(int=number), kind="thing") for number in (1, 2, 3)]


class Reranker:
    """Answers with ``answer``, or raises it; keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked: list[tuple[str, list[RichObject]]] = []

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> Sequence[RichObject] | None:
        self.asked.append((query, list(objects)))
        if isinstance(self._answer, Exception):
            raise self._answer
        answer: Sequence[RichObject] | None = self._answer
        return answer


async def test_none_leaves_the_order() -> None:
    assert await rerank(Reranker(None), None, SCOPE, "q", OBJECTS) == tuple(OBJECTS)


async def test_it_may_reorder_and_drop() -> None:
    reranker = Reranker([OBJECTS[2], OBJECTS[0]])
    assert await rerank(reranker, None, SCOPE, "q", OBJECTS) == (OBJECTS[2], OBJECTS[0])
    assert reranker.asked == [("q", OBJECTS)]


async def test_it_is_not_asked_about_nothing() -> None:
    reranker = Reranker(ValueError())
    assert await rerank(reranker, None, SCOPE, "q", []) == ()
    assert reranker.asked == []


async def test_a_failure_is_a_reranker_error_with_its_cause() -> None:
    cause = ValueError("model")
    with pytest.raises(RerankerError, match="model") as caught:
        await rerank(Reranker(cause), None, SCOPE, "q", OBJECTS)
    assert caught.value.__cause__ is cause


async def test_the_librarys_own_errors_pass() -> None:
    with pytest.raises(BackendTimeoutError):
        await rerank(Reranker(BackendTimeoutError("slow")), None, SCOPE, "q", OBJECTS)


@pytest.mark.parametrize(
    "answer",
    [[RichObject(id=UUID(int=9), kind="thing")], [OBJECTS[0], OBJECTS[0]], [UUID(int=1)]],
    ids=["stranger", "repeated", "not an object"],
)
async def test_what_it_was_not_given_is_refused(answer: Any) -> None:
    with pytest.raises(RerankerError):
        await rerank(Reranker(answer), None, SCOPE, "q", OBJECTS)
