"""SearchContext: a namespace and the result set that ``continue_`` pages through."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from brain_async.errors import (
    InvalidValueError,
    NamespaceRequiredError,
    ResultSetIdRequiredError,
    ResultSetNotFoundError,
)
from brain_async.model.instant import to_utc
from brain_async.model.object import NIL_UUID
from brain_async.model.results import ResultSet
from brain_async.model.scope import Scope
from brain_async.model.session_state import decode_session_state, encode_session_state

__all__ = ["SearchContext"]


class SearchContext:
    """The state of one conversation: its namespace, and one active result set, the newest.

    It is a ``ResultSetStore`` that keeps one: a new search replaces what the last one stored. Calls that are already
    running keep the ``scope`` they were given. Use one per conversation; nothing in it is shared.
    """

    def __init__(self, namespace_id: UUID | None = None) -> None:
        """Raises NamespaceRequiredError when ``namespace_id`` is the nil UUID: None is "no namespace"."""
        self._namespace_id = _checked_namespace(namespace_id)
        self._active: ResultSet | None = None

    def __repr__(self) -> str:
        active = None if self._active is None else self._active.id
        return f"SearchContext(namespace_id={self._namespace_id!s}, active={active!s})"

    @property
    def namespace_id(self) -> UUID | None:
        """The namespace of the calls to come; None is unrestricted."""
        return self._namespace_id

    def set_namespace(self, namespace_id: UUID | None) -> None:
        """Change the namespace of the calls to come; the active result set is kept. Raises as the constructor."""
        self._namespace_id = _checked_namespace(namespace_id)

    @property
    def scope(self) -> Scope:
        """The namespace as a Scope, a value that later changes do not touch."""
        return Scope(self._namespace_id)

    @property
    def active(self) -> ResultSet | None:
        """The result set that ``continue_`` would page through."""
        return self._active

    async def get_result_set(self, result_set_id: UUID) -> ResultSet:
        """The active set. Raises ResultSetNotFoundError for every other id."""
        if self._active is None or self._active.id != result_set_id:
            raise ResultSetNotFoundError(result_set_id)
        return self._active

    async def put_result_set(self, result_set: ResultSet) -> None:
        """Make a copy of it the active set, with created_at filled in.

        Raises ResultSetIdRequiredError for a nil id, and InvalidValueError for a naive created_at.
        """
        if result_set.id == NIL_UUID:
            raise ResultSetIdRequiredError
        try:
            created_at = to_utc(result_set.created_at or datetime.now(UTC))
        except ValueError as error:
            raise InvalidValueError(f"created_at cannot be kept: {error}", field="created_at") from None
        self._active = msgspec.structs.replace(
            result_set,
            object_ids=tuple(result_set.object_ids),
            relations=dict(result_set.relations),
            created_at=created_at,
        )

    def export(self) -> bytes | None:
        """Strict JSON that ``restore`` reads, in this process or another; None when there is nothing to keep."""
        return encode_session_state(self._namespace_id, self._active)

    def restore(self, data: bytes | str | None) -> None:
        """Replace the whole state with an exported one; None, empty data and JSON null clear it.

        Reads the envelope that ``export`` writes (as the original does) and the older bare result set, which has no
        namespace. Raises InvalidSessionStateError and changes nothing when ``data`` is anything else.
        """
        self._namespace_id, self._active = decode_session_state(data)


def _checked_namespace(namespace_id: UUID | None) -> UUID | None:
    if namespace_id == NIL_UUID:
        raise NamespaceRequiredError("namespace_id must not be the nil UUID: pass None for no namespace")
    return namespace_id
