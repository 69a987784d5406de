"""Cursors: how a client pages on over a protocol that keeps nothing between two requests.

A cursor is the result set itself: ids in rank order, how far paging has come, the relations of an expand, and what was
respelt, packed and signed. The server keeps nothing, so a cursor outlives a restart and works on any worker that has the same
secret; the same cursor gives the same page again. It is signed for the namespace it was made in, and worthless in any other;
and what it lists is read under the scope of the request that brings it, so it shows nothing that this scope does not see.
"""

from __future__ import annotations

import binascii
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec

from brain_async.errors import InvalidInputError, InvalidSessionStateError
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import EdgeMeta, Relation
from brain_async.model.results import ResultSet

__all__ = ["Cursors"]

_VERSION: Final = b"\x01"
_SIGNATURE: Final = 16
_MAX_BYTES: Final = 48 * 1024
_LEAST_SECRET: Final = 16

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")


class _State(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    id: UUID
    object_ids: tuple[UUID, ...]
    offset: int
    relations: Mapping[UUID, Relation] = msgspec.field(default_factory=dict)
    respelled: tuple[tuple[str, str], ...] = ()


_decoder = msgspec.msgpack.Decoder(_State)


class Cursors:
    """Makes and reads cursors.

    Args:
        secret: at least 16 bytes, the same in every process that serves the same clients. None takes a random one, which no
            other process knows, nor this one after a restart.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        if secret is not None and len(secret) < _LEAST_SECRET:
            raise InvalidInputError(f"the secret must hold at least {_LEAST_SECRET} bytes", field="secret")
        self._secret = secret or secrets.token_bytes(32)

    def seal(self, namespace_id: UUID | None, result_set: ResultSet) -> str:
        """The cursor of a result set: 24 characters an id, and 64 KiB at most.

        Where the notes of many relations would make it longer, the relations are kept without their metadata.
        """
        state = _State(
            result_set.id, result_set.object_ids, result_set.offset, result_set.relations, result_set.respelled
        )
        packed = _encoder.encode(state)
        if len(packed) > _MAX_BYTES:
            bare = {key: msgspec.structs.replace(each, meta=EdgeMeta()) for key, each in result_set.relations.items()}
            packed = _encoder.encode(msgspec.structs.replace(state, relations=bare))
        return urlsafe_b64encode(self._signature(namespace_id, packed) + packed).decode().rstrip("=")

    def open(self, namespace_id: UUID | None, cursor: str) -> ResultSet:
        """The result set of a cursor.

        Raises InvalidSessionStateError, in the same words whether it was never a cursor, was made with another secret or for
        another namespace.
        """
        try:
            data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            packed = data[_SIGNATURE:]
            if hmac.compare_digest(data[:_SIGNATURE], self._signature(namespace_id, packed)):
                state = _decoder.decode(packed)
                return ResultSet(
                    id=state.id,
                    object_ids=state.object_ids,
                    offset=state.offset,
                    relations=state.relations,
                    respelled=state.respelled,
                )
        except (binascii.Error, ValueError):
            pass  # said below
        raise InvalidSessionStateError("this cursor cannot be used here: search again", field="cursor")

    def _signature(self, namespace_id: UUID | None, packed: bytes) -> bytes:
        owner = (namespace_id or NIL_UUID).bytes
        return hmac.digest(self._secret, _VERSION + owner + packed, "sha256")[:_SIGNATURE]
