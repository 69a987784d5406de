"""The requests and replies of ``POST /rerank`` as Cohere, Jina and Text Embeddings Inference shape them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from brain_async.errors import RerankerError

__all__ = ["RerankApi", "decode_scores", "request_body"]

RerankApi = Literal["cohere", "jina", "tei"]


class _Ranked(msgspec.Struct):
    index: int
    relevance_score: float


class _Ranking(msgspec.Struct):
    results: list[_Ranked]


class _Scored(msgspec.Struct):
    index: int
    score: float


def request_body(api: RerankApi, model: str, query: str, documents: Sequence[str]) -> dict[str, Any]:
    """What to post to have every one of ``documents`` scored. Only ``tei`` has no use for ``model``: it serves one."""
    if api == "tei":
        return {"query": query, "texts": documents, "truncate": True}
    body: dict[str, Any] = {"model": model, "query": query, "documents": documents, "top_n": len(documents)}
    # Jina sends the documents back unless told not to; Cohere's v2 knows no such field.
    return body | {"return_documents": False} if api == "jina" else body


def decode_scores(api: RerankApi, content: bytes, *, count: int) -> list[float]:
    """The scores of a reply, one a document in the order of the request, higher is better.

    Raises RerankerError for anything that is not exactly one finite score for each of ``count`` documents.
    """
    try:
        if api == "tei":
            scored = [(item.index, item.score) for item in msgspec.json.decode(content, type=list[_Scored])]
        else:
            ranking = msgspec.json.decode(content, type=_Ranking)
            scored = [(item.index, item.relevance_score) for item in ranking.results]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RerankerError(f"the reranking server's reply is not a list of scores: {error}") from error
    if sorted(index for index, _ in scored) != list(range(count)):
        raise RerankerError(f"the reranking server did not score each of {count} documents once, but {len(scored)}")
    if not all(math.isfinite(score) for _, score in scored):
        raise RerankerError("the reranking server sent a score that is not finite")
    return [score for _, score in sorted(scored)]
