"""Embeddings from any server that speaks OpenAI's ``POST /v1/embeddings``."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial

import anyio
import anyio.to_thread
import httpx
import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.adapters.embed.reply import decode_reply
from brain_async.errors import BackendTimeoutError, ClosedError, EmbedderError, InvalidInputError
from brain_async.ports.store import Vector

__all__ = ["HttpEmbedder", "open_http_embedder"]

_BATCH_CHARS = 100_000
_INLINE_BYTES = 100_000  # a reply of this size is decoded in a millisecond or two
_BACKOFF_BASE = 0.25  # seconds before the first retry, doubled for each further one
_BACKOFF_CAP = 8.0
_RETRY_AFTER_CAP = 30.0
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_QUOTED_CHARS = 200


class _Refused(Exception):
    """The server answered with an error; ``retry_after`` is in seconds, 0 where it did not say."""

    def __init__(self, message: str, *, retriable: bool, retry_after: float) -> None:
        super().__init__(message)
        self.retriable = retriable
        self.retry_after = retry_after


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
        for field, value, least in (
            ("dimension", dimension, 1),
            ("batch_size", batch_size, 1),
            ("batch_chars", batch_chars, 1),
            ("retries", retries, 0),
        ):
            if value < least:
                raise InvalidInputError(f"{field} must be at least {least}, not {value}", field=field)
        if not timeout > 0:
            raise InvalidInputError(f"timeout must be above 0 seconds, not {timeout}", field="timeout")
        self._client = client
        self._url = _endpoint(url)
        self._model = model
        self._dimension = dimension
        self._secret = _checked_key(api_key)
        self._batch_size = batch_size
        self._batch_chars = batch_chars
        self._timeout = timeout
        self._retries = retries

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self._model

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
        content = await self._attempts(body)
        decode = partial(decode_reply, content, count=len(texts), dimension=self._dimension, model=self._model)
        return decode() if len(content) <= _INLINE_BYTES else await anyio.to_thread.run_sync(decode)

    async def _attempts(self, body: bytes) -> bytes:
        attempt = 0
        while True:
            try:
                return await self._post(body)
            except _Refused as error:
                if attempt == self._retries or not error.retriable:
                    raise EmbedderError(str(error)) from None
                least = error.retry_after
            except TimeoutError as error:
                if attempt == self._retries:
                    raise BackendTimeoutError(
                        f"{self._place} did not answer within {self._timeout:g} s (attempts: {attempt + 1})"
                    ) from error
                least = 0.0
            except httpx.HTTPError as error:
                if attempt == self._retries or not isinstance(error, httpx.TransportError):
                    raise EmbedderError(self._redacted(f"{self._place} could not be asked: {error!r}")) from error
                least = 0.0
            backoff = min(_BACKOFF_CAP, _BACKOFF_BASE * 2**attempt) * random.uniform(0.5, 1.0)
            await anyio.sleep(max(backoff, least))
            attempt += 1

    async def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._secret is not None:
            headers["Authorization"] = f"Bearer {self._secret}"
        try:
            # httpx counts its timeouts anew with every byte received; this deadline is for the whole attempt.
            with anyio.fail_after(self._timeout):
                response = await self._client.post(self._url, content=body, headers=headers, timeout=None)
        except RuntimeError as error:
            if self._client.is_closed:
                raise ClosedError("the embedder's HTTP client was closed") from error
            raise EmbedderError(self._redacted(f"{self._place} could not be asked: {error}")) from error
        if response.is_success:
            return response.content
        raise _Refused(
            f"{self._place} answered {response.status_code}: {self._redacted(response.text)[:_QUOTED_CHARS].strip()}",
            retriable=response.status_code in _RETRIED_STATUS,
            retry_after=min(_retry_after(response.headers.get("Retry-After", "")), _RETRY_AFTER_CAP),
        )

    @property
    def _place(self) -> str:
        """The server in an error text: without user, password and query, which may be secrets."""
        return f"the embedding server at {self._url.scheme}://{self._url.netloc.decode()}{self._url.path}"

    def _redacted(self, text: str) -> str:
        return text.replace(self._secret, "***") if self._secret else text


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
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInputError("url is not a URL", field="url") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInputError("url must start with http:// or https:// and name a host", field="url")
    path = parsed.path.rstrip("/")
    if path.endswith("/embeddings"):
        return parsed.copy_with(path=path)
    return parsed.copy_with(path=f"{path or '/v1'}/embeddings")


def _checked_key(api_key: str | None) -> str | None:
    """The key without surrounding blanks. An HTTP header holds printable ASCII only, and its own error would quote it."""
    if api_key is None:
        return None
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise InvalidInputError("api_key must be printable ASCII and not empty", field="api_key")
    return key


def _retry_after(value: str) -> float:
    """Seconds to wait by a ``Retry-After`` header, which holds seconds or an HTTP date; 0 when it cannot be read."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else 0.0
