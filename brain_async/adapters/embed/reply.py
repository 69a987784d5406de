"""Reading the reply of ``POST /v1/embeddings``: JSON in, a checked matrix out."""

from __future__ import annotations

import base64

import msgspec
import numpy as np
from numpy.typing import NDArray

from brain_async.errors import DimensionMismatchError, EmbedderError

__all__ = ["decode_reply"]


class _Item(msgspec.Struct):
    embedding: list[float] | str  # numbers, or base64 of little-endian float32
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Item]


def decode_reply(content: bytes, *, count: int, dimension: int, model: str) -> NDArray[np.float32]:
    """The vectors of a reply, shape (count, dimension), float32, in the order of the texts (by ``index`` if given).

    Raises EmbedderError for anything that is not ``count`` finite vectors, DimensionMismatchError for vectors of
    another length.
    """
    try:
        items = msgspec.json.decode(content, type=_Reply).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EmbedderError(f"the embedding server's reply is not a list of embeddings: {error}") from error
    if any(item.index is not None for item in items):
        items.sort(key=lambda item: -1 if item.index is None else item.index)
        if [item.index for item in items] != list(range(count)):
            raise EmbedderError(f"the embedding server's reply does not number its embeddings from 0 to {count - 1}")
    if len(items) != count:
        raise EmbedderError(f"the embedding server sent {len(items)} embeddings for {count} texts")
    vectors = np.empty((count, dimension), np.float32)
    for row, item in enumerate(items):
        vector = _numbers(item.embedding)
        if len(vector) != dimension:
            raise DimensionMismatchError(expected=dimension, got=len(vector), what=f"the embedding by {model}")
        vectors[row] = vector
    if not np.isfinite(vectors).all():
        raise EmbedderError("the embedding server sent a number that is not finite")
    return vectors


def _numbers(embedding: list[float] | str) -> NDArray[np.float32]:
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
        except ValueError as error:
            raise EmbedderError("the embedding server sent an embedding that is not base64 of float32") from error
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused
        return np.asarray(embedding, np.float32)
