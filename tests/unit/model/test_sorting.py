from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.results import RichObject
from brain_async.model.sorting import sort_rich_objects

AT = datetime(2026, 8, 9, tzinfo=UTC)


def objects(field: str, *values: Any) -> list[RichObject]:
    return [RichObject(id=uuid4(), kind="x", **{field: value}) for value in values]


def with_property(*values: Any) -> list[RichObject]:
    return objects("properties", *({} if value is None else {"p": value} for value in values))


def order(found: list[RichObject], original: list[RichObject]) -> list[int]:
    return [original.index(obj) for obj in found]


@pytest.mark.parametrize(
    ("key", "field", "values", "ascending"),
    [
        ("created_at", "created_at", [AT, None, AT - timedelta(days=1)], [1, 2, 0]),
        (
            " Updated_At ",
            "updated_at",
            [AT, AT.astimezone(timezone(timedelta(hours=5))) - timedelta(seconds=1)],
            [1, 0],
        ),
        ("title", "title", ["b", "a", "B", "é", "z"], [2, 1, 0, 4, 3]),
        ("position", "position", [2, None, 0, -1, 10], [1, 3, 2, 0, 4]),
    ],
)
def test_columns(key: str, field: str, values: list[Any], ascending: list[int]) -> None:
    given = objects(field, *values)
    assert order(sort_rich_objects(given, key), given) == ascending


def test_properties_are_compared_as_text() -> None:
    given = with_property("9", "10", 9, 10.0, 1_000_000, 1e-5)
    assert [obj.properties["p"] for obj in sort_rich_objects(given, "p")] == ["10", 10.0, 1_000_000, 1e-5, "9", 9]


def test_missing_before_false_before_true() -> None:
    given = with_property(True, None, False)
    assert order(sort_rich_objects(given, "p"), given) == [1, 2, 0]
    assert order(sort_rich_objects(given, "p", descending=True), given) == [0, 2, 1]


def test_values_without_a_text_count_as_missing_and_keep_their_order() -> None:
    given = with_property("a", [1], {"b": 1}, None)
    assert order(sort_rich_objects(given, "p"), given) == [1, 2, 3, 0]


def test_datetime_properties_sort_as_instants() -> None:
    given = with_property(
        AT + timedelta(microseconds=5), AT, AT.astimezone(timezone(timedelta(hours=9))) - timedelta(hours=1)
    )
    assert order(sort_rich_objects(given, "p"), given) == [2, 1, 0]


def test_mixed_case_property_names_are_never_found() -> None:
    given = objects("properties", {"Stage": "b"}, {"Stage": "a"})
    assert sort_rich_objects(given, "Stage") == given


@pytest.mark.parametrize("key", ["", "  "])
def test_a_blank_key_keeps_the_order(key: str) -> None:
    given = objects("title", "b", "a")
    assert sort_rich_objects(given, key) == given
    assert sort_rich_objects(given, key) is not given


@pytest.mark.parametrize("descending", [False, True])
def test_equal_objects_keep_their_order_both_ways(descending: bool) -> None:
    given = objects("title", "same", "same", "same")
    assert sort_rich_objects(given, "title", descending=descending) == given


def test_an_integer_beyond_any_float_still_sorts() -> None:
    given = with_property(10**400, 5)
    assert order(sort_rich_objects(given, "p"), given) == [0, 1]


@given(
    st.lists(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes() | st.lists(st.integers()),
        max_size=8,
    )
)
def test_any_properties_sort(values: list[Any]) -> None:
    given = with_property(*values)
    assert len(sort_rich_objects(given, "p")) == len(given)
