"""A cross-encoder behind ``POST /rerank``: Cohere, Jina, Text Embeddings Inference, and what speaks like one of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import get_args
from uuid import UUID

import anyio.to_thread
import httpx
import msgspec

from brain_async.adapters.rerank.passages import NO_PASSAGES, by_score, passage_text
from brain_async.adapters.rerank.reply import RerankApi, decode_scores, request_body
from brain_async.errors import InvalidInputError, RerankerError
from brain_async.http_json import INLINE_BYTES, JsonPoster, checked_url
from brain_async.model.object import Object
from brain_async.model.results import RichObject
from brain_async.ports.host import PassageField

__all__ = ["HttpReranker", "RerankApi", "open_http_reranker"]

_PATHS: Mapping[RerankApi, str] = {"cohere": "/v2", "jina": "/v1", "tei": ""}


class HttpReranker:
    """Orders hits by the scores that a server gives their text for the query. Does not close the client it is given.

    An object is judged by one text: its title, summary and evidence (``passages.passage_text``); the whole contents of the
    evidence where the store can read them. Equal scores keep the fused order. Retries and waits as HttpEmbedder does; the
    engine's ``rerank_timeout`` is the deadline over all of it.

    Args:
        client: an open client of the host's.
        url: the server's base, such as ``https://host``, or the whole address ending in ``/rerank``; a URL without a path
            gets ``/v2/rerank`` (cohere), ``/v1/rerank`` (jina) or ``/rerank`` (tei).
        api: whose shape of request and reply the server speaks. vLLM, llama.cpp, Infinity and LiteLLM speak ``jina``.
        model: the model to ask for; ``tei``, which serves one model, does without.
        api_key: sent as a bearer token; None leaves authentication to the client.
        batch_size: most documents in one request (TEI refuses more than its ``--max-client-batch-size``, by default 32).
        document_chars: most characters of one document.
        timeout: seconds for one attempt, from sending to the last byte.
        retries: attempts after the first, for each request.

    Raises:
        InvalidInputError: an argument is wrong.
        RerankerError: the server failed, or sent what is not one finite score for each document.
        BackendTimeoutError: the last attempt timed out.
        ClosedError: the client is closed.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: str,
        *,
        api: RerankApi,
        model: str = "",
        api_key: str | None = None,
        batch_size: int = 32,
        document_chars: int = 2_000,
        timeout: float = 10.0,
        retries: int = 1,
    ) -> None:
        if api not in get_args(RerankApi):
            raise InvalidInputError(f"api must be one of {', '.join(get_args(RerankApi))}, not {api!r}", field="api")
        if api != "tei" and not model:
            raise InvalidInputError(f"model must be given: {api} serves several", field="model")
        for field, value in (("batch_size", batch_size), ("document_chars", document_chars)):
            if value < 1:
                raise InvalidInputError(f"{field} must be at least 1, not {value}", field=field)
        self._poster = JsonPoster(
            client,
            _endpoint(url, api),
            what="the reranking server",
            error_type=RerankerError,
            api_key=api_key,
            timeout=timeout,
            retries=retries,
        )
        self._api = api
        self._model = model
        self._batch_size = batch_size
        self._document_chars = document_chars

    @property
    def passage_fields(self) -> frozenset[PassageField]:
        """The contents of the evidence."""
        return frozenset({"content"})

    async def rerank(self, query: str, objects: Sequence[RichObject]) -> list[RichObject]:
        """All ``objects``, best first, judged by the snippets of their evidence."""
        return await self.rerank_passages(query, objects, NO_PASSAGES)

    async def rerank_passages(
        self, query: str, objects: Sequence[RichObject], passages: Mapping[UUID, Object]
    ) -> list[RichObject]:
        """All ``objects``, best first, judged by the contents of their evidence; one request a batch, one after another."""
        documents = [passage_text(obj, passages, self._document_chars) for obj in objects]
        scores: list[float] = []
        for start in range(0, len(documents), self._batch_size):
            scores += await self._score(query, documents[start : start + self._batch_size])
        return by_score(objects, scores)

    async def _score(self, query: str, documents: Sequence[str]) -> list[float]:
        try:
            body = msgspec.json.encode(request_body(self._api, self._model, query, documents))
        except UnicodeEncodeError as error:
            raise RerankerError("a text holds a lone surrogate and cannot be sent") from error
        content = await self._poster.post(body)
        decode = partial(decode_scores, self._api, content, count=len(documents))
        return decode() if len(content) <= INLINE_BYTES else await anyio.to_thread.run_sync(decode)


@asynccontextmanager
async def open_http_reranker(
    url: str,
    *,
    api: RerankApi,
    model: str = "",
    api_key: str | None = None,
    batch_size: int = 32,
    document_chars: int = 2_000,
    timeout: float = 10.0,
    retries: int = 1,
) -> AsyncIterator[HttpReranker]:
    """An HttpReranker over a client of its own, closed at the end; arguments and errors as for HttpReranker."""
    async with httpx.AsyncClient() as client:
        yield HttpReranker(
            client,
            url,
            api=api,
            model=model,
            api_key=api_key,
            batch_size=batch_size,
            document_chars=document_chars,
            timeout=timeout,
            retries=retries,
        )


def _endpoint(url: str, api: RerankApi) -> httpx.URL:
    parsed = checked_url(url)
    if parsed.path.endswith("/rerank"):
        return parsed
    base = parsed.path.rstrip("/") or _PATHS[api]
    return parsed.copy_with(path=f"{base}/rerank")
