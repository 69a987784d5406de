"""Filter masks against ``Filters.matches``, and the ranking order against ``rank_order``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.adapters.memory.columns import Columns
from brain_async.model.candidate import Candidate, rank_order
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.scope import Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
ids = st.integers(1, 12).map(lambda number: UUID(int=number << 60 | number))
namespaces = st.sampled_from((UUID(int=101), UUID(int=102)))
moments = st.integers(-3, 3).map(lambda microseconds: START + timedelta(microseconds=microseconds))
kinds = st.sampled_from(("a", "A", "b"))
titles = st.sampled_from(("", "one", "One"))
scalars = st.sampled_from(
    (1, 1.0, "1", True, False, 0, 0.0, -0.0, "true", 2**53, 2**53 + 1, 0.1, 1e16, 10**16, "", 1e-7)
)
values = st.one_of(scalars, st.none(), st.just([1]), st.just({"a": 1}))
keys = st.sampled_from(("n", "m", ""))


@st.composite
def objects(draw: st.DrawFn) -> Object:
    return Object(
        id=draw(ids),
        kind=draw(kinds),
        title=draw(titles),
        parent_id=draw(st.one_of(st.none(), ids)),
        namespace_id=draw(namespaces),
        properties=draw(st.dictionaries(keys, values, max_size=3)),
        created_at=draw(st.one_of(st.none(), moments)),
        updated_at=draw(st.one_of(st.none(), moments)),
    )


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), strategy)


def tuples(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


filters = st.builds(
    Filters,
    own_kinds=optional(tuples(kinds)),
    kinds=optional(tuples(st.sampled_from(("a", "A", "b", "missing")))),
    titles=optional(tuples(st.sampled_from(("", "one", "One", "missing")))),
    created_after=optional(moments),
    created_before=optional(moments),
    updated_after=optional(moments),
    updated_before=optional(moments),
    properties=tuples(st.builds(PropertyFilter, keys, tuples(scalars))),
    scope_ids=optional(tuples(ids)),
)
scopes = st.one_of(st.just(Scope()), namespaces.map(Scope))


@settings(max_examples=200, deadline=None)
@given(st.lists(objects(), max_size=12), filters, scopes, st.data())
def test_masks_are_what_filters_match(rows: list[Object], wanted: Filters, scope: Scope, data: st.DataObject) -> None:
    columns = Columns()
    some_slots = st.sets(st.integers(0, len(rows) - 1)) if rows else st.just(set())
    parents = [data.draw(st.integers(-1, len(rows) - 1)) for _ in rows]
    for slot, obj in enumerate(rows):
        columns.add(slot, obj, parent=parents[slot])
    for slot in data.draw(some_slots):
        columns.discard(slot, rows[slot])
        rows[slot] = data.draw(objects())
        columns.add(slot, rows[slot], parent=parents[slot])
    hidden = data.draw(some_slots)
    for slot in hidden:
        columns.set_searchable(slot, False)
    expected = [
        slot not in hidden
        and scope.sees(obj.namespace_id)
        and wanted.matches(obj, rows[parents[slot]] if parents[slot] >= 0 else None)
        for slot, obj in enumerate(rows)
    ]
    assert columns.mask(scope, wanted).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(objects(), st.sampled_from((0.5, 0.25, -0.5))), max_size=12, unique_by=lambda row: row[0].key),
    st.integers(-1, 14),
)
def test_best_is_the_order_of_the_house(rows: list[tuple[Object, float]], k: int) -> None:
    columns = Columns()
    for slot, (obj, _) in enumerate(rows):
        columns.add(slot, obj)
    candidates = [Candidate(id=obj.key, updated_at=obj.updated_at, score=score) for obj, score in rows]
    expected = sorted(range(len(rows)), key=lambda slot: rank_order(candidates[slot]))[: max(0, k)]
    found = columns.best(np.arange(len(rows)), np.array([score for _, score in rows], np.float64), k)
    assert found == [(slot, rows[slot][1]) for slot in expected]
