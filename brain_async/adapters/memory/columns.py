"""Columns: what filters and ranking need of every row, as arrays indexed by slot."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain_async.inverted_index import Scores, Slots
from brain_async.model.filters import Filters, PropertyFilter, number_key
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = ["Columns", "Mask", "Scores", "Slots"]

Mask = NDArray[np.bool_]
"""Shape (rows,): whether each slot may be returned."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# One above the smallest int64, so that it can be negated: an unset time sorts after every other.
_UNSET = -(2**63) + 1
_HALF = (1 << 64) - 1
_INITIAL_ROWS = 64

_ROW = np.dtype(
    [
        ("searchable", np.bool_),
        ("namespace", np.int32),
        ("kind", np.int32),
        ("parent", np.int64),
        ("created", np.int64),
        ("updated", np.int64),
        ("id_high", np.uint64),
        ("id_low", np.uint64),
    ]
)


def _microseconds(moment: datetime | None) -> int:
    return _UNSET if moment is None else (moment - _EPOCH) // _MICROSECOND


def _property_entry(key: str, value: Any) -> Hashable | None:
    """What ``value`` is found under, so that two values share an entry exactly when ``PropertyFilter`` matches them."""
    if isinstance(value, (bool, str)):
        return ("property", key, type(value), value)
    if isinstance(value, (int, float)):
        return ("property", key, Decimal, number_key(value))
    return None


def _entries(obj: Object) -> set[Hashable]:
    found: set[Hashable] = {("title", obj.title), ("id", obj.id)}
    if obj.parent_id is not None:
        found.add(("id", obj.parent_id))
    for key, value in obj.properties.items():
        if (entry := _property_entry(key, value)) is not None:
            found.add(entry)
    return found


class Columns:
    """Filter masks and the ranking order over rows that are addressed by slot.

    Kinds, namespaces and times are compared as whole columns; titles, ids with parent ids, and properties through a map
    from the value to its slots. Only rows that were added and not discarded are in any mask.
    """

    def __init__(self) -> None:
        self._arrays = {name: np.zeros(_INITIAL_ROWS, _ROW[name]) for name in _ROW.names or ()}
        self._rows = 0
        self._codes: dict[Hashable, int] = {}
        self._slots_of: dict[Hashable, set[int]] = {}

    @property
    def rows(self) -> int:
        """The number of slots: every slot in use is below it."""
        return self._rows

    def add(self, slot: int, obj: Object, *, parent: int = -1, searchable: bool = True) -> None:
        """Fill in a slot that is new or was discarded; ``parent`` is the slot of the object's parent, -1 for none."""
        self._reserve(slot + 1)
        row: dict[str, Any] = {
            "searchable": searchable,
            "namespace": self._codes.setdefault(obj.namespace_id, len(self._codes)),
            "kind": self._codes.setdefault(obj.kind, len(self._codes)),
            "parent": parent,
            "created": _microseconds(obj.created_at),
            "updated": _microseconds(obj.updated_at),
            "id_high": obj.key.int >> 64,
            "id_low": obj.key.int & _HALF,
        }
        for name, value in row.items():
            self._arrays[name][slot] = value
        for entry in _entries(obj):
            self._slots_of.setdefault(entry, set()).add(slot)

    def discard(self, slot: int, obj: Object) -> None:
        """Take out a slot that ``obj`` was added to."""
        self._arrays["searchable"][slot] = False
        for entry in _entries(obj):
            slots = self._slots_of[entry]
            slots.discard(slot)
            if not slots:
                del self._slots_of[entry]

    def set_searchable(self, slot: int, searchable: bool) -> None:
        """Show or hide an added slot."""
        self._arrays["searchable"][slot] = searchable

    def mask(self, scope: Scope, filters: Filters) -> Mask:
        """Which slots are searchable and pass scope and filters."""
        mask = self._column("searchable").copy()
        if scope.namespace_id is not None:
            mask &= self._column("namespace") == self._codes.get(scope.namespace_id, -1)
        if filters.own_kinds is not None:
            mask &= self._of_kinds(filters.own_kinds)
        if filters.describes:
            mask &= self._described(filters)
        for column, after, before in (
            ("created", filters.created_after, filters.created_before),
            ("updated", filters.updated_after, filters.updated_before),
        ):
            times = self._column(column)
            if after is not None:
                mask &= times >= _microseconds(after)
            if before is not None:
                mask &= (times < _microseconds(before)) & (times != _UNSET)
        if filters.titles is not None:
            mask &= self._holding(("title", title) for title in filters.titles)
        if filters.scope_ids is not None:
            mask &= self._holding(("id", object_id) for object_id in filters.scope_ids)
        if filters.exclude_ids:
            mask &= ~self._holding(("id", object_id) for object_id in filters.exclude_ids)
        return mask

    def best(self, slots: Slots, scores: Scores, k: int) -> list[tuple[int, float]]:
        """At most ``k`` (slot, score) by score descending, newer first, id ascending; ties count at the cut too."""
        if k <= 0:
            return []
        if slots.size > k:
            keep = scores >= np.partition(scores, slots.size - k)[slots.size - k]
            slots, scores = slots[keep], scores[keep]
        by_id = self._arrays["id_low"][slots], self._arrays["id_high"][slots]
        order = np.lexsort((*by_id, -self._arrays["updated"][slots], -scores))[:k]
        return list(zip(slots[order].tolist(), scores[order].tolist(), strict=True))

    def _column(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self._rows]

    def _of_kinds(self, kinds: Sequence[str]) -> Mask:
        codes = [self._codes[kind] for kind in set(kinds) if kind in self._codes]
        return np.isin(self._column("kind"), codes)

    def _described(self, filters: Filters) -> Mask:
        """Which slots satisfy kinds and properties, or have a parent that does."""
        described: Mask = np.ones(self._rows, np.bool_) if filters.kinds is None else self._of_kinds(filters.kinds)
        for restriction in filters.properties:
            described &= self._holding(self._wanted(restriction))
        parent = self._column("parent")
        described |= (parent >= 0) & described[parent]
        return described

    def _wanted(self, restriction: PropertyFilter) -> Iterable[Hashable | None]:
        return (_property_entry(restriction.key, value) for value in restriction.values)

    def _holding(self, entries: Iterable[Hashable | None]) -> Mask:
        held = np.zeros(self._rows, np.bool_)
        nothing: set[int] = set()
        for entry in entries:
            slots = self._slots_of.get(entry, nothing)
            held[np.fromiter(slots, np.int64, len(slots))] = True
        return held

    def _reserve(self, rows: int) -> None:
        capacity = len(self._arrays["searchable"])
        if rows > capacity:
            for name, array in self._arrays.items():
                grown = np.zeros(max(rows, capacity * 2), array.dtype)
                grown[:capacity] = array
                self._arrays[name] = grown
        self._rows = max(self._rows, rows)
