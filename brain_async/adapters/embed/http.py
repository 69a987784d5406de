"""Embeddings from any server that speaks OpenAI's ``POST /v1/embeddings``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio.to_thread
import httpx
import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.embed.reply import decode_reply
from brain_async.errors import EmbedderError, InvalidInputError
from brain_async.http_json import INLINE_BYTES, JsonPoster, checked_url
from brain_async.ports.store import Vector

__all__ = ["HttpEmbedder", "open_http_embedder"]

_BATCH_CHARS = 100_000


class HttpEmbedder:
    """Embeds over HTTP, in batches, with bounded retries. Does not close the client it is given.

    Status 408, 425, 429 and 5xx, transport errors and timeouts are retried after an exponential, jittered wait, or after
    the server's ``Retry-After`` (at most 30 s) when that is longer. No error text holds the API key.

    Args:
        client: an open client of the host's.
        url: the API's base, such as ``https://host/v1``, or the whole address ending in ``/embeddings``; a URL without a
            path gets ``/v1/embeddings``.
        model: the model to ask for; stored beside the vectors.
        dimension: length of the vectors the model makes; a reply of another length is refused.
        api_key: sent as a bearer token; None leaves authentication to the client.
        batch_size: most texts in one request.
        batch_chars: most characters in one request; a longer text travels alone.
        timeout: seconds for one attempt, from sending to the last byte.
        retries: attempts after the first, for each request.

    Raises:
        InvalidInputError: an argument is wrong.
        DimensionMismatchError: the server's vectors have another length.
        EmbedderError: the server failed or sent what is not an embedding.
        BackendTimeoutError: the last attempt timed out.
        ClosedError: the client is closed.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: str,
        *,
        model: str,
        dimension: int,
        api_key: str | None = None,
        batch_size: int = 64,
        batch_chars: int = _BATCH_CHARS,
        timeout: float = 10.0,
        retries: int = 3,
    ) -> None:
        for field, value in (("dimension", dimension), ("batch_size", batch_size), ("batch_chars", batch_chars)):
            if value < 1:
                raise InvalidInputError(f"{field} must be at least 1, not {value}", field=field)
        self._poster = JsonPoster(
            client,
            _endpoint(url),
            what="the embedding server",
            error_type=EmbedderError,
            api_key=api_key,
            timeout=timeout,
            retries=retries,
        )
        self._model = model
        self._dimension = dimension
        self._batch_size = batch_size
        self._batch_chars = batch_chars

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self._model

    @property
    def dense_share(self) -> float:
        """As in the port: what suits a small transformer; a host that measured better gives its own weights."""
        return 0.4

    async def embed(self, text: str) -> Vector:
        """One query, shape (dim,), float32."""
        vector: Vector = (await self._request([text]))[0]
        return vector

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Documents, shape (len(texts), dim), float32, in order; one request a batch, one after another."""
        batches = [await self._request(batch) for batch in self._batches(texts)]
        return np.concatenate(batches) if batches else np.empty((0, self._dimension), np.float32)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        chars = 0
        for text in texts:
            if batch and (len(batch) == self._batch_size or chars + len(text) > self._batch_chars):
                yield batch
                batch, chars = [], 0
            batch.append(text)
            chars += len(text)
        if batch:
            yield batch

    async def _request(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            body = msgspec.json.encode({"model": self._model, "input": texts})
        except UnicodeEncodeError as error:
            raise EmbedderError("a text holds a lone surrogate and cannot be sent") from error
        content = await self._poster.post(body)
        decode = partial(decode_reply, content, count=len(texts), dimension=self._dimension, model=self._model)
        return decode() if len(content) <= INLINE_BYTES else await anyio.to_thread.run_sync(decode)


@asynccontextmanager
async def open_http_embedder(
    url: str,
    *,
    model: str,
    dimension: int,
    api_key: str | None = None,
    batch_size: int = 64,
    batch_chars: int = _BATCH_CHARS,
    timeout: float = 10.0,
    retries: int = 3,
) -> AsyncIterator[HttpEmbedder]:
    """An HttpEmbedder over a client of its own, closed at the end; arguments and errors as for HttpEmbedder."""
    async with httpx.AsyncClient() as client:
        yield HttpEmbedder(
            client,
            url,
            model=model,
            dimension=dimension,
            api_key=api_key,
            batch_size=batch_size,
            batch_chars=batch_chars,
            timeout=timeout,
            retries=retries,
        )


def _endpoint(url: str) -> httpx.URL:
    parsed = checked_url(url)
    if parsed.path.endswith("/embeddings"):
        return parsed
    base = parsed.path.rstrip("/") or "/v1"
    return parsed.copy_with(path=f"{base}/embeddings")
