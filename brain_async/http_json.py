"""POST of JSON to a server, with bounded retries: what the embedders and rerankers over HTTP share."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import anyio
import httpx

from brain_async.errors import BackendError, BackendTimeoutError, ClosedError, InvalidInputError

__all__ = ["INLINE_BYTES", "JsonPoster", "checked_url", "retry_after"]

INLINE_BYTES = 100_000
"""A reply of this size is decoded in a millisecond or two; a larger one belongs in a worker thread."""

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


class JsonPoster:
    """Posts JSON to one address. Does not close the client it is given.

    Status 408, 425, 429 and 5xx, transport errors and timeouts are retried after an exponential, jittered wait, or after
    the server's ``Retry-After`` (at most 30 s) when that is longer. No error text holds the API key, nor the URL's user,
    password and query.

    Args:
        what: the server in an error text, such as ``the embedding server``.
        error_type: raised for what the server did.
        api_key: sent as a bearer token; None leaves authentication to the client.
        timeout: seconds for one attempt, from sending to the last byte.
        retries: attempts after the first.

    Raises:
        InvalidInputError: an argument is wrong.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: httpx.URL,
        *,
        what: str,
        error_type: type[BackendError],
        api_key: str | None,
        timeout: float,
        retries: int,
    ) -> None:
        if retries < 0:
            raise InvalidInputError(f"retries must be at least 0, not {retries}", field="retries")
        if not timeout > 0:
            raise InvalidInputError(f"timeout must be above 0 seconds, not {timeout}", field="timeout")
        self._client = client
        self._url = url
        self._what = what
        self._error_type = error_type
        self._secret = _checked_key(api_key)
        self._timeout = timeout
        self._retries = retries

    async def post(self, body: bytes) -> bytes:
        """The reply's content. Raises the error type, BackendTimeoutError (the last attempt timed out), ClosedError."""
        attempt = 0
        while True:
            try:
                return await self._post(body)
            except _Refused as error:
                if attempt == self._retries or not error.retriable:
                    raise self._error_type(str(error)) from None
                least = error.retry_after
            except TimeoutError as error:
                if attempt == self._retries:
                    raise BackendTimeoutError(
                        f"{self._place} did not answer within {self._timeout:g} s (attempts: {attempt + 1})"
                    ) from error
                least = 0.0
            except httpx.HTTPError as error:
                if attempt == self._retries or not isinstance(error, httpx.TransportError):
                    raise self._error_type(self._redacted(f"{self._place} could not be asked: {error!r}")) from error
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
                raise ClosedError(f"the HTTP client of {self._what} was closed") from error
            raise self._error_type(self._redacted(f"{self._place} could not be asked: {error}")) from error
        if response.is_success:
            return response.content
        raise _Refused(
            f"{self._place} answered {response.status_code}: {self._redacted(response.text)[:_QUOTED_CHARS].strip()}",
            retriable=response.status_code in _RETRIED_STATUS,
            retry_after=min(retry_after(response.headers.get("Retry-After", "")), _RETRY_AFTER_CAP),
        )

    @property
    def _place(self) -> str:
        """The server in an error text: without user, password and query, which may be secrets."""
        return f"{self._what} at {self._url.scheme}://{self._url.netloc.decode()}{self._url.path}"

    def _redacted(self, text: str) -> str:
        return text.replace(self._secret, "***") if self._secret else text


def checked_url(url: str) -> httpx.URL:
    """``url`` parsed, its path without slashes at the end. Raises InvalidInputError unless it is an HTTP address."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInputError("url is not a URL", field="url") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInputError("url must start with http:// or https:// and name a host", field="url")
    return parsed.copy_with(path=parsed.path.rstrip("/"))


def _checked_key(api_key: str | None) -> str | None:
    """The key without surrounding blanks. An HTTP header holds printable ASCII only, and its own error would quote it."""
    if api_key is None:
        return None
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise InvalidInputError("api_key must be printable ASCII and not empty", field="api_key")
    return key


def retry_after(value: str) -> float:
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
