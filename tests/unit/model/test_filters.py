from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.filters import Filters, PropertyFilter, number_key
from brain_async.model.object import Object


@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        ((1,), [1, 1.0]),
        ((1.0,), [1, 1.0]),
        (("1",), ["1"]),
        ((True,), [True]),
        ((1, "x", False), [1, 1.0, "x", False]),
        ((0,), [0, 0.0, -0.0]),
    ],
)
def test_values_equal_only_their_own_type(wanted: tuple[Any, ...], matching: list[Any]) -> None:
    found = PropertyFilter("n", wanted)
    candidates = [1, 1.0, "1", True, 0, 0.0, -0.0, False, "x", "X", None, [1], {"a": 1}]
    assert [value for value in candidates if found.matches({"n": value})] == [
        value
        for value in candidates
        if any(type(value) is type(match) and repr(value) == repr(match) for match in matching)
    ]


def test_amount_ten_matches_the_list() -> None:
    assert PropertyFilter("amount", (10, 20)).matches({"amount": 10.0})


def test_a_missing_property_never_matches() -> None:
    assert not PropertyFilter("n", ("",)).matches({})
    assert not PropertyFilter("n", (0, False, "")).matches({"n": None})


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_keep_every_digit(number: int) -> None:
    assert PropertyFilter("n", (number,)).matches({"n": number})
    assert not PropertyFilter("n", (number + 1,)).matches({"n": number})


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_key_is_one_to_one(number: float) -> None:
    assert float(number_key(number)) == number


def test_filters_are_a_conjunction() -> None:
    at = datetime(2026, 8, 9, tzinfo=UTC)
    obj = Object(
        id=uuid4(), kind="deal", title="Q3", parent_id=uuid4(), created_at=at, updated_at=at, properties={"a": 1}
    )
    second = timedelta(microseconds=1)
    yes = [
        Filters(),
        Filters(kinds=("note", "deal"), titles=("Q3",), properties=(PropertyFilter("a", (1,)),)),
        Filters(created_after=at, updated_after=at, created_before=at + second, updated_before=at + second),
        Filters().within([obj.key]),
        Filters().within([uuid4(), obj.parent_id, obj.parent_id]),
    ]
    no = [
        Filters(kinds=()),
        Filters(kinds=("Deal",)),
        Filters(titles=("q3",)),
        Filters(created_after=at + second),
        Filters(created_before=at),
        Filters(updated_after=at + second),
        Filters(updated_before=at),
        Filters(kinds=("deal",), properties=(PropertyFilter("a", (2,)),)),
        Filters(properties=(PropertyFilter("a", (1,)), PropertyFilter("b", (1,)))),
        Filters().within([]),
        Filters().within([uuid4()]),
    ]
    assert all(filters.matches(obj) for filters in yes)
    assert not any(filters.matches(obj) for filters in no)
    assert not Filters(created_after=at).matches(Object(kind="deal"))


def test_scope_ids_are_distinct() -> None:
    a, b = uuid4(), uuid4()
    assert Filters().within([a, b, a]).scope_ids == (a, b)


def test_kinds_and_properties_describe_an_object_or_its_parent() -> None:
    parent = Object(id=uuid4(), kind="deal", title="Q3", properties={"stage": "won"})
    part = Object(id=uuid4(), kind="section", title="Terms", parent_id=parent.id, properties={"page": 1})
    won_deals = Filters(kinds=("deal",), properties=(PropertyFilter("stage", ("won",)),))
    assert won_deals.matches(part, parent)
    assert not won_deals.matches(part)
    assert Filters(kinds=("section",), properties=(PropertyFilter("page", (1,)),)).matches(part, parent)
    # One of the two must satisfy all of it, and all else is the object's own.
    assert not Filters(kinds=("deal",), properties=(PropertyFilter("page", (1,)),)).matches(part, parent)
    assert not Filters(titles=("Q3",)).matches(part, parent)
    assert not Filters(own_kinds=("deal",)).matches(part, parent)
    assert Filters(kinds=("deal",), own_kinds=("section", "deal")).matches(part, parent)
