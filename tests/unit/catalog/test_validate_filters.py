from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.catalog.filters import (
    parse_instant,
    restrict_to_catalog,
    validate_filters,
    validate_filters_against,
)
from brain_async.catalog.registry import KindCatalog
from brain_async.errors import InvalidFilterError, InvalidInputError, InvalidKindError, InvalidValueError
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.kind import DATE_FILTER_KEYS, FieldSpec, KindSpec

CATALOG = KindCatalog(
    [
        KindSpec(
            kind="deal",
            fields=(
                FieldSpec(name="amount", type="number"),
                FieldSpec(name="stage", type="string"),
                FieldSpec(name="open", type="boolean"),
                FieldSpec(name="closes", type="datetime"),
            ),
        ),
        KindSpec(kind="note", fields=(FieldSpec(name="stage", type="string"), FieldSpec(name="amount", type="string"))),
        KindSpec(kind="bare"),
    ]
)


class Stage(StrEnum):
    WON = "won"


class Level(IntEnum):
    HIGH = 3


def property_values(filters: Filters) -> dict[str, tuple[Any, ...]]:
    return {found.key: found.values for found in filters.properties}


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_filters_restrict_nothing(nothing: dict[str, Any] | None) -> None:
    assert validate_filters(nothing) == Filters()
    assert validate_filters_against(nothing, CATALOG) == Filters()


def test_core_and_property_keys_are_told_apart() -> None:
    filters = validate_filters(
        {
            " kind ": ["deal", "note", "deal"],
            "title": "Q3",
            "created_after": "2026-08-09",
            "amount": 10,
            "tags": ["x", "y"],
        }
    )
    assert filters == Filters(
        kinds=("deal", "note"),
        titles=("Q3",),
        created_after=datetime(2026, 8, 9, tzinfo=UTC),
        properties=(PropertyFilter("amount", (10,)), PropertyFilter("tags", ("x", "y"))),
    )


def test_lists_are_distinct_by_type_and_value_in_order() -> None:
    filters = validate_filters({"n": [1, "1", True, 1.0, "1", 1, True, 0, False]})
    values = property_values(filters)["n"]
    assert [(type(value), value) for value in values] == [
        (int, 1),
        (str, "1"),
        (bool, True),
        (float, 1.0),
        (int, 0),
        (bool, False),
    ]


@pytest.mark.parametrize("key", ["", "  ", "a-b", "a b", "größe", "a.b", "amount;", "a\x00", "\ud800", "$1"])
def test_property_keys_are_refused_not_rewritten(key: str) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        validate_filters({key: 1})
    assert caught.value.field == key.strip()
    str(caught.value).encode()


@pytest.mark.parametrize(
    "value",
    [None, [], (), {}, {"a": 1}, [None], [["x"]], [{}], {"x"}, b"x", object(), datetime.now(UTC), [datetime.now(UTC)]],
)
def test_property_values_of_another_shape_are_refused(value: object) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        validate_filters({"amount": value})
    assert caught.value.field == "amount"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), [1, float("nan")], 2**63, -(2**63) - 1, "a\x00b", ["\udfff"]]
)
@pytest.mark.parametrize("key", ["score", "title", "kind"])
def test_values_no_backend_could_compare_are_refused(key: str, value: object) -> None:
    with pytest.raises(InvalidValueError) as caught:
        validate_filters({key: value})
    assert caught.value.field == key


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 1e308, "", "x" * 100_000, "'; --", False])
def test_extreme_values_are_accepted(value: object) -> None:
    assert property_values(validate_filters({"p": value})) == {"p": (value,)}


def test_subclasses_of_scalars_become_plain() -> None:
    filters = validate_filters({"kind": Stage.WON, "stage": Stage.WON, "level": Level.HIGH, "score": np.float64(0.5)})
    assert filters.kinds == ("won",)
    assert {key: (type(values[0]), values[0]) for key, values in property_values(filters).items()} == {
        "stage": (str, "won"),
        "level": (int, 3),
        "score": (float, 0.5),
    }


@pytest.mark.parametrize("key", ["kind", "title"])
@pytest.mark.parametrize("value", [1, True, ["a", 2], None, []])
def test_kind_and_title_take_text(key: str, value: object) -> None:
    with pytest.raises(InvalidFilterError):
        validate_filters({key: value})


def test_a_key_given_twice_is_refused() -> None:
    for filters in (
        {"amount": 1, " amount": 2},
        {"kind": "a", "kind ": "b"},
        {"created_after": "2026-01-01", " created_after": "2027-01-01"},
    ):
        with pytest.raises(InvalidFilterError, match="twice"):
            validate_filters(filters)


@pytest.mark.parametrize("filters", [[], "kind", 5, {1: "x"}, {None: "x"}])
def test_what_is_no_mapping_of_text_is_refused(filters: Any) -> None:
    for validate in (validate_filters, lambda given: validate_filters_against(given, CATALOG)):
        with pytest.raises(InvalidFilterError):
            validate(filters)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-08-09", datetime(2026, 8, 9, tzinfo=UTC)),
        ("2026-08-09T00:00:00Z", datetime(2026, 8, 9, tzinfo=UTC)),
        ("2026-08-09T00:00:00+02:00", datetime(2026, 8, 8, 22, tzinfo=UTC)),
        ("2026-08-09T23:30:00-05:00", datetime(2026, 8, 10, 4, 30, tzinfo=UTC)),
        ("2026-08-08T23:59:59.999999Z", datetime(2026, 8, 8, 23, 59, 59, 999999, tzinfo=UTC)),
        ("2026-08-08T23:59:59.123456789Z", datetime(2026, 8, 8, 23, 59, 59, 123456, tzinfo=UTC)),
        ("2026-08-08T23:59:59.5+00:00", datetime(2026, 8, 8, 23, 59, 59, 500000, tzinfo=UTC)),
    ],
)
def test_dates_that_are_read(text: str, instant: datetime) -> None:
    assert parse_instant("created_after", text) == instant
    for key in DATE_FILTER_KEYS:
        found = getattr(validate_filters({key: text}), key)
        assert (found, found.tzinfo) == (instant, UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-08-09T00:00:00",
        "20260809",
        "20260809T000000Z",
        "2026-08-09 00:00:00Z",
        "2026-8-9",
        "2026-08-09T0:00:00Z",
        "2026-08-09t00:00:00z",
        "2026-08-09T00:00Z",
        "2026-08-09T24:00:00Z",
        "2026-08-09T00:00:60Z",
        "2026-08-09T00:00:00.Z",
        "2026-08-09T00:00:00+0200",
        "2026-08-09T00:00:00+24:00",
        "2026-02-30",
        "0000-01-01",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "٢٠٢٦-08-09",
        "2026-08-09\n",
        " 2026-08-09",
        "2026-W32-7",
        "",
        "soon",
        1_700_000_000,
        True,
        None,
        ["2026-08-09"],
        datetime(2026, 8, 9),
        datetime(2026, 8, 9).date(),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_dates_that_are_refused(value: object) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        validate_filters({"updated_before": value})
    assert caught.value.field == "updated_before"


def test_aware_datetimes_are_converted_for_the_date_keys() -> None:
    local = datetime(2026, 8, 9, 1, 30, 0, 7, tzinfo=timezone(timedelta(hours=2)))
    assert validate_filters({"created_before": local}).created_before == datetime(2026, 8, 8, 23, 30, 0, 7, tzinfo=UTC)


def test_an_empty_catalog_is_open_mode() -> None:
    assert validate_filters_against({" anything ": 1}, KindCatalog()) == validate_filters({"anything": 1})


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": "deal", "amount": 10.0}, {"amount": (10.0,)}),
        ({"kind": "deal", "amount": [10, 20]}, {"amount": (10, 20)}),
        ({"kind": ["deal", "note"], "stage": ["won", "won", "lost"]}, {"stage": ("won", "lost")}),
        ({"kind": "deal", "open": False}, {"open": (False,)}),
        ({"kind": "deal", "closes": "2026-08-09"}, {"closes": ("2026-08-09",)}),
        ({"kind": "deal", "closes": ["2026-08-09T00:00:00+02:00"]}, {"closes": ("2026-08-09T00:00:00+02:00",)}),
        (
            {"kind": "deal", "closes": datetime(2026, 8, 9, 2, tzinfo=timezone(timedelta(hours=2)))},
            {"closes": ("2026-08-09T00:00:00Z",)},
        ),
        ({"kind": "bare", "title": "x", "created_after": "2026-08-09"}, {}),
    ],
)
def test_filters_that_fit_the_catalog(filters: dict[str, Any], expected: dict[str, tuple[Any, ...]]) -> None:
    assert property_values(validate_filters_against(filters, CATALOG)) == expected


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"amount": 10}, "amount"),  # a property without a kind
        ({"kind": "bare", "amount": 10}, "amount"),
        ({"kind": ["deal", "bare"], "stage": "won"}, "stage"),  # not a field of every kind
        ({"kind": ["deal", "note"], "amount": 10}, "amount"),  # a number for one kind, text for the other
        ({"kind": "deal", " amount": 10}, " amount"),  # compared untrimmed
        ({"kind": "deal", " kind": "deal"}, " kind"),
        ({"kind": "deal", "amount": True}, "amount"),
        ({"kind": "deal", "amount": "10"}, "amount"),
        ({"kind": "deal", "amount": [10, "x"]}, "amount"),
        ({"kind": "deal", "amount": []}, "amount"),
        ({"kind": "deal", "amount": None}, "amount"),
        ({"kind": "deal", "amount": {"gt": 1}}, "amount"),
        ({"kind": "deal", "stage": 1}, "stage"),
        ({"kind": "deal", "stage": datetime.now(UTC)}, "stage"),
        ({"kind": "deal", "open": 1}, "open"),
        ({"kind": "deal", "open": "true"}, "open"),
        ({"kind": "deal", "open": [True]}, "open"),
        ({"kind": "deal", "closes": "tomorrow"}, "closes"),
        ({"kind": "deal", "closes": "2026-08-09T00:00:00"}, "closes"),
        ({"kind": "deal", "closes": datetime(2026, 8, 9)}, "closes"),
        ({"kind": "deal", "closes": 20260809}, "closes"),
        ({"kind": ""}, "kind"),
        ({"kind": ["deal", ""]}, "kind"),
        ({"kind": []}, "kind"),
        ({"kind": 1}, "kind"),
    ],
)
def test_filters_the_catalog_refuses(filters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        validate_filters_against(filters, CATALOG)
    assert caught.value.field == field


@pytest.mark.parametrize("kind", ["Deal", " deal", ["deal", "ghost"]])
def test_an_unregistered_kind_is_refused(kind: object) -> None:
    with pytest.raises(InvalidKindError) as caught:
        validate_filters_against({"kind": kind}, CATALOG)
    assert caught.value.field == "kind"


def test_only_objects_of_registered_kinds_are_meant_whether_or_not_a_kind_is_given() -> None:
    restricted = restrict_to_catalog(validate_filters({"title": "x", "kind": "deal"}), CATALOG)
    assert restricted.own_kinds == ("bare", "deal", "note")
    assert (restricted.kinds, restricted.titles) == (("deal",), ("x",))
    assert restrict_to_catalog(Filters(), KindCatalog()) == Filters()


def test_forty_thousand_values() -> None:
    names = [f"k{i}" for i in range(40_000)]
    assert validate_filters({"kind": names + names}).kinds == tuple(names)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.datetimes()
)
JSONISH = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["kind", "title", "amount", "stage", "open", "closes", *DATE_FILTER_KEYS]) | st.text(
    st.characters(exclude_categories=()), max_size=6
)
KIND_VALUES = st.sampled_from(["deal", "note", ["deal", "note"], "ghost"])


@given(st.dictionaries(KEYS, JSONISH, max_size=4), KIND_VALUES, st.booleans())
def test_any_input_gives_filters_or_our_error(filters: dict[str, Any], kind: object, with_kind: bool) -> None:
    if with_kind:
        filters = {**filters, "kind": kind}
    refused_keys = set()
    for validate in (validate_filters, lambda given: validate_filters_against(given, CATALOG)):
        try:
            result = validate(filters)
        except InvalidInputError as error:
            refused_keys.add(error.field)
        else:
            assert all(type(value) in {str, bool, int, float} for found in result.properties for value in found.values)
    assert refused_keys <= {key.strip() for key in filters} | set(filters)
