"""How values become properties of nodes, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.filters import PropertyFilter
from helixgraph.properties import (
    MAX_QUERY_TERMS,
    UNSET_TIME,
    filter_values,
    index_words,
    micros,
    moment,
    namespace_of,
    namespace_value,
    property_map,
    property_path,
    query_words,
    tagged,
)

_SCALARS = st.one_of(
    st.text(max_size=5),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1, 1.0, "1", True, "true", 0, -0.0, False, 2**53, 2**53 + 1, float(2**53), "n:1"]),
)


@given(_SCALARS, _SCALARS)
def test_tagged_values_are_equal_exactly_when_a_filter_matches(
    stored: object, wanted: str | bool | int | float
) -> None:
    matches = PropertyFilter("key", (wanted,)).matches({"key": stored})
    assert (tagged(stored) in filter_values((wanted,))) is matches


def test_what_no_filter_matches_is_not_kept() -> None:
    assert property_map({"none": None, "list": [1], "map": {"a": 1}, "text": ""}) == {"text": "s:"}


def test_names_of_properties_never_collide_nor_nest() -> None:
    names = ["".join(letters) for size in range(4) for letters in product("a.%$2E", repeat=size)]
    paths = {property_path(name) for name in names}
    assert len(paths) == len(names)
    assert all(path.count(".") == 1 and "$" not in path for path in paths)
    assert {path.removeprefix("properties.") for path in paths} == set(property_map(dict.fromkeys(names, "")))


@pytest.mark.parametrize(
    "at",
    [
        None,
        datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(2026, 3, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_times_keep_their_microseconds(at: datetime | None) -> None:
    assert moment(micros(at)) == at
    assert micros(None) == UNSET_TIME < micros(datetime.min.replace(tzinfo=UTC))


def test_namespaces() -> None:
    namespace = uuid4()
    assert namespace_of(namespace_value(namespace)) == namespace
    assert namespace_of(namespace_value(None)) is None
    assert namespace_of(None) is None


def test_index_and_query_words() -> None:
    assert index_words("Acme-2024, 外币汇率!") == "acme 2024 外币 币汇 汇率"
    assert query_words("To be or not to BE") == "to be or not"
    assert query_words("!!") == ""
    assert len(query_words(" ".join(f"w{n}" for n in range(5_000))).split()) == MAX_QUERY_TERMS
