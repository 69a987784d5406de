"""What the search form holds, as it was typed, and the requests that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from brain_async.errors import BrainError, InvalidFilterError, InvalidInputError, InvalidKindError
from brain_async.model.requests import ExpandRequest, FindLinksRequest, FindObjectsRequest, SearchRequest
from brain_async.model.scope import Scope

__all__ = ["VERBS", "Form", "ids_of", "labels_of", "words_of"]

VERBS = ("search", "find_exact", "find_objects", "find_links", "expand")
_BESIDE = {
    "query": "q",
    "kind": "kinds",
    "explain_ids": "ids",
    "relation_type": "labels",
    "relation_types": "labels",
    "object_id": "object",
}
"""The form's names of arguments that have others."""


class Form(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of the form; any text, as it came. ``next`` is the cursor of a further page."""

    verb: str = "search"
    q: str = ""
    kinds: str = ""
    filters: str = ""
    namespace: str = ""
    limit: str = ""
    ids: str = ""
    object: str = ""
    labels: str = ""
    hops: str = ""
    direction: str = "both"
    parts: str = ""
    next: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Form:
        """The form of a query string; names it does not have are ignored."""
        return cls(**{name: given[name] for name in cls.__struct_fields__ if name in given})

    @property
    def asks(self) -> bool:
        """Whether there is something to look for."""
        return bool(self.object.strip() if self.verb == "expand" else self.q.strip()) or bool(self.next)

    def link(self, **changes: str) -> str:
        """The query string of this form with some fields changed."""
        return urlencode(msgspec.to_builtins(msgspec.structs.replace(self, **changes)))

    def scope(self, given: Scope) -> Scope:
        """``given``, or where it is unrestricted the namespace that was typed in: a form can narrow, never widen."""
        if given.namespace_id is not None or not self.namespace.strip():
            return given
        return Scope(_uuid(self.namespace, "namespace"))

    def search(self) -> SearchRequest:
        """Of search and find_exact, to be explained. Raises InvalidInputError, naming the field."""
        kinds = {"kind": wanted} if (wanted := words_of(self.kinds)) else {}
        filters = self._filters()
        if kinds and "kind" in filters:
            raise InvalidFilterError("the filters name kinds too: give them once", field="kind")
        return SearchRequest(
            query=self.q,
            filters=filters | kinds,
            limit=self.page_size,
            explain=True,
            explain_ids=ids_of(self.ids, "ids"),
        )

    def find_objects(self) -> FindObjectsRequest:
        """Of find_objects. Raises as ``search``."""
        return FindObjectsRequest(
            query=self.q, kinds=words_of(self.kinds), filters=self._filters(), limit=self.page_size
        )

    def find_links(self) -> FindLinksRequest:
        """Of find_links. Raises as ``search``."""
        return FindLinksRequest(relation_type=self.labels, query=self.q, limit=self.page_size)

    def expand(self) -> ExpandRequest:
        """Of expand. Raises as ``search``."""
        return ExpandRequest(
            object_id=_uuid(self.object, "object"),
            relation_types=labels_of(self.labels),
            want_containment=bool(self.parts),
            max_hops=_integer(self.hops, "hops"),
            direction=self.direction,
            limit=self.page_size,
        )

    @property
    def page_size(self) -> int:
        """The limit; 0 when none was typed in. Raises InvalidInputError."""
        return _integer(self.limit, "limit")

    def field_of(self, error: BrainError) -> str:
        """The field of the form that ``error`` speaks of; "" for none."""
        if not isinstance(error, InvalidInputError):
            return ""
        if isinstance(error, (InvalidFilterError, InvalidKindError)):
            return "kinds" if error.field in ("kind", "kinds") and self.kinds.strip() else "filters"
        field = _BESIDE.get(error.field, error.field)
        return field if field in self.__struct_fields__ else ""

    def _filters(self) -> dict[str, Any]:
        if not self.filters.strip():
            return {}
        try:
            return msgspec.json.decode(self.filters, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            raise InvalidFilterError(
                'write the filters as a JSON object, such as {"stage": ["won", "lost"]}', field="filters"
            ) from None


def words_of(text: str) -> list[str]:
    """What is between blanks and commas."""
    return text.replace(",", " ").split()


def labels_of(text: str) -> list[str]:
    """What is between commas: a label may hold blanks."""
    return [label for each in text.split(",") if (label := each.strip())]


def ids_of(text: str, field: str) -> list[UUID]:
    """The UUIDs in ``text``. Raises InvalidInputError naming ``field``."""
    return [_uuid(each, field) for each in words_of(text)]


def _uuid(text: str, field: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        raise InvalidInputError(f"{field}: {text.strip()[:80]!r} is no UUID", field=field) from None


def _integer(text: str, field: str) -> int:
    if not text.strip():
        return 0
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"{field} must be a whole number", field=field) from None
