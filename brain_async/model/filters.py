"""Filters: what a search is restricted to, validated and ready to push down into any backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from brain_async.model.object import Object

__all__ = ["FilterInput", "FilterValue", "Filters", "PropertyFilter", "number_key"]

FilterInput = Mapping[str, Any]
"""What a caller gives: key to scalar or list of scalars."""

FilterValue = str | bool | int | float


def number_key(value: int | float) -> Decimal:
    """The exact decimal that JSON would carry for ``value``: 1 and 1.0 are one number, and so they are in jsonb."""
    return Decimal(repr(value))


class PropertyFilter(msgspec.Struct, frozen=True):
    """Matches an object whose property ``key`` equals any of ``values`` in type and value.

    A string equals only strings (case-sensitive), a boolean only booleans, a number any int or float of the same
    decimal value. A missing property never matches, nor does null, a list or a dict.
    """

    key: str
    values: tuple[FilterValue, ...]

    def matches(self, properties: Mapping[str, Any]) -> bool:
        """Whether ``properties`` satisfies this filter."""
        found = properties.get(self.key)
        if isinstance(found, (bool, str)):
            return any(type(value) is type(found) and value == found for value in self.values)
        if isinstance(found, (int, float)):
            return any(
                not isinstance(value, (bool, str)) and number_key(value) == number_key(found) for value in self.values
            )
        return False


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """A conjunction. None means "no restriction"; an empty tuple matches nothing.

    ``kinds`` and ``properties`` describe an object *or its parent*: a part passes when it satisfies them all, or when its
    parent does, so that {"kind": "deal", "stage": "won"} finds the parts of won deals. All else is the object's own.

    Attributes:
        kinds: the kind is one of these.
        own_kinds: the object's own kind is one of these (how the catalog hides unregistered kinds).
        titles: the title is exactly one of these.
        created_after, updated_after: inclusive, aware UTC.
        created_before, updated_before: exclusive, aware UTC.
        properties: all must match.
        scope_ids: the object's id or its parent_id is one of these.
        exclude_ids: neither the object's id nor its parent_id is one of these; empty excludes nothing.
    """

    kinds: tuple[str, ...] | None = None
    own_kinds: tuple[str, ...] | None = None
    titles: tuple[str, ...] | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    properties: tuple[PropertyFilter, ...] = ()
    scope_ids: tuple[UUID, ...] | None = None
    exclude_ids: tuple[UUID, ...] = ()

    def within(self, scope_ids: Sequence[UUID]) -> Filters:
        """These filters, restricted to objects whose id or parent_id is listed."""
        return msgspec.structs.replace(self, scope_ids=tuple(dict.fromkeys(scope_ids)))

    def excluding(self, object_ids: Iterable[UUID]) -> Filters:
        """These filters, without the objects listed and without their parts."""
        return msgspec.structs.replace(self, exclude_ids=tuple(dict.fromkeys(object_ids)))

    @property
    def describes(self) -> bool:
        """Whether ``kinds`` or ``properties`` restrict anything."""
        return self.kinds is not None or bool(self.properties)

    def described_by(self, obj: Object) -> bool:
        """Whether ``obj`` itself satisfies ``kinds`` and ``properties``."""
        return (self.kinds is None or obj.kind in self.kinds) and all(
            wanted.matches(obj.properties) for wanted in self.properties
        )

    def matches(self, obj: Object, parent: Object | None = None) -> bool:
        """Whether a stored ``obj``, whose parent is ``parent`` if it has one, passes all of these filters."""
        created, updated = obj.created_at, obj.updated_at
        return (
            (self.own_kinds is None or obj.kind in self.own_kinds)
            and (self.titles is None or obj.title in self.titles)
            and (self.created_after is None or (created is not None and created >= self.created_after))
            and (self.created_before is None or (created is not None and created < self.created_before))
            and (self.updated_after is None or (updated is not None and updated >= self.updated_after))
            and (self.updated_before is None or (updated is not None and updated < self.updated_before))
            and (self.scope_ids is None or obj.id in self.scope_ids or obj.parent_id in self.scope_ids)
            and obj.id not in self.exclude_ids
            and obj.parent_id not in self.exclude_ids
            and (self.described_by(obj) or (parent is not None and self.described_by(parent)))
        )
