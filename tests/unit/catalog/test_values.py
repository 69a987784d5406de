from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.catalog.values import (
    MAX_CONTENT_BYTES,
    MAX_PROPERTIES_BYTES,
    MAX_PROPERTY_DEPTH,
    MAX_RELATION_TYPE_CHARS,
    check_edge_meta,
    check_object_values,
    check_relation_type,
    check_text,
)
from brain_async.errors import BrainError, InvalidValueError
from brain_async.model.object import Object
from brain_async.model.relation import EdgeMeta


class Stage(StrEnum):
    WON = "won"


def refused(**fields: Any) -> InvalidValueError:
    with pytest.raises(InvalidValueError) as caught:
        check_object_values(Object(**fields))
    str(caught.value).encode()
    return caught.value


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


TEXT_FIELDS = ["kind", "title", "summary", "content", "content_type", "embedding_model"]


@pytest.mark.parametrize("field", TEXT_FIELDS)
@pytest.mark.parametrize("text", ["a\x00b", "\x00", "é\x00", "\ud800", "é\udfff", None, 5, b"x"])
def test_unstorable_text_is_refused(field: str, text: Any) -> None:
    assert refused(**{field: text}).field == field


@pytest.mark.parametrize(
    ("field", "limit"),
    [("title", 65_536), ("summary", 65_536), ("content", MAX_CONTENT_BYTES), ("kind", 1024), ("content_type", 1024)],
)
def test_text_limits_count_utf8_bytes(field: str, limit: int) -> None:
    check_object_values(Object(**{field: "x" * limit}))
    check_object_values(Object(**{field: "é" * (limit // 2)}))
    for text in ("x" * (limit + 1), "é" * (limit // 2) + "x"):
        error = refused(**{field: text})
        assert error.field == field
        assert f"{limit:,}" in str(error)


def test_large_content_is_accepted() -> None:
    obj = Object(content="lorem ipsum dolor é " * 80_000)
    assert check_object_values(obj) is obj


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({"score": float("nan")}, "properties.score"),
        ({"a": [1, float("inf")]}, "properties.a[1]"),
        ({"a": [1, 2, {"b": -float("inf")}]}, "properties.a[2].b"),
        ({"n": 2**63}, "properties.n"),
        ({"n": {"m": -(2**63) - 1}}, "properties.n.m"),
        ({"t": "a\x00"}, "properties.t"),
        ({"t": {"u": ["\ud800"]}}, "properties.t.u[0]"),
        ({"t": {"nul\x00": 1}}, "properties.t"),
        ({"\udfff": 1}, "properties"),
        ({1: "x"}, "properties"),
        ({"d": {None: "x"}}, "properties.d"),
        ({10**5000: "x"}, "properties"),
        ({"when": datetime.now(UTC)}, "properties.when"),
        ({"raw": b"x"}, "properties.raw"),
        ({"s": {1}}, "properties.s"),
        ({"t": (1, 2)}, "properties.t"),
        ({"d": Decimal(1)}, "properties.d"),
        ({"id": uuid4()}, "properties.id"),
        ({"f": np.float64(1.0)}, "properties.f"),
        ({"stage": Stage.WON}, "properties.stage"),
        ({"o": OrderedDict(a=1)}, "properties.o"),
        ({"odd key.x": {"y": None, "z": object()}}, "properties['odd key.x'].z"),
        (None, "properties"),
        ([("a", 1)], "properties"),
    ],
)
def test_properties_that_are_not_storable_json(properties: Any, field: str) -> None:
    assert refused(properties=properties).field == field


def test_properties_that_are_storable() -> None:
    properties = {
        "a": [1, 2.5, True, None, {"b": ["é", ""]}],
        "n": 2**63 - 1,
        "m": -(2**63),
        "f": 1e308,
        "": {},
        "größe": [],
    }
    obj = Object(properties=properties)
    assert check_object_values(obj) is obj


def test_property_depth() -> None:
    check_object_values(Object(properties={"a": nested(MAX_PROPERTY_DEPTH - 1)}))
    assert "64" in str(refused(properties={"a": nested(MAX_PROPERTY_DEPTH)}))
    looped: dict[str, Any] = {}
    looped["self"] = looped
    assert "64" in str(refused(properties=looped))


def test_property_size() -> None:
    overhead = len(msgspec.json.encode({"a": ""}))
    check_object_values(Object(properties={"a": "x" * (MAX_PROPERTIES_BYTES - overhead)}))
    check_object_values(Object(properties={"a": "é" * ((MAX_PROPERTIES_BYTES - overhead) // 2)}))
    for value in ("x" * (MAX_PROPERTIES_BYTES - overhead + 1), "é" * (MAX_PROPERTIES_BYTES // 2), [0] * 600_000):
        assert f"{MAX_PROPERTIES_BYTES:,}" in str(refused(properties={"a": value}))


def test_lists_that_repeat_one_another_are_bounded() -> None:
    value: Any = ["x"]
    for _ in range(50):
        value = [value, value]
    assert f"{MAX_PROPERTIES_BYTES:,}" in str(refused(properties={"a": value}))


@pytest.mark.parametrize("position", [2**31, -(2**31) - 1, 1.0, True, "1"])
def test_positions_beyond_32_bit(position: Any) -> None:
    assert refused(position=position).field == "position"


@pytest.mark.parametrize("position", [None, 0, 2**31 - 1, -(2**31)])
def test_positions(position: int | None) -> None:
    check_object_values(Object(position=position))


@pytest.mark.parametrize(
    "embedding",
    [
        (),
        (0.0, -0.0),
        (1e-60,),
        (1.0, float("nan")),
        (float("inf"), float("nan")),
        (float("-inf"),),
        (1e39, 0.0),
        (10**400,),
        ("1.0",),
        "123",
        ((1.0,),),
        (None,),
        5,
    ],
)
def test_embeddings_that_are_refused(embedding: Any) -> None:
    assert refused(embedding=embedding).field == "embedding"


@pytest.mark.parametrize(
    "embedding", [(3, 4.0), [3.0, 4.0], np.array([3, 4], dtype=np.float32), tuple(np.array([3, 4], dtype=np.float32))]
)
def test_embeddings_become_tuples_of_floats(embedding: Any) -> None:
    checked = check_object_values(Object(embedding=embedding)).embedding
    assert checked == (3.0, 4.0)
    assert {type(value) for value in checked} == {float}


@pytest.mark.parametrize("field", ["created_at", "updated_at", "deleted_at"])
def test_times_are_aware_and_returned_in_utc(field: str) -> None:
    assert refused(**{field: datetime(2026, 8, 9)}).field == field
    assert refused(**{field: "2026-08-09"}).field == field
    assert refused(**{field: datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))}).field == field
    local = datetime(2026, 8, 9, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=2)))
    found = getattr(check_object_values(Object(**{field: local})), field)
    assert (found, found.tzinfo, found.microsecond) == (local, UTC, 4)


@pytest.mark.parametrize("field", ["id", "parent_id", "namespace_id"])
def test_ids_are_uuids(field: str) -> None:
    assert refused(**{field: str(uuid4())}).field == field


def test_an_object_without_anything_to_change_is_returned_as_is() -> None:
    obj = Object(kind="x", created_at=datetime.now(UTC), embedding=(1.0, 2.0), properties={"a": 1})
    assert check_object_values(obj) is obj


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.binary(max_size=3)
    | st.datetimes()
    | st.just({1}),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT | st.integers(), inner, max_size=3) | st.tuples(inner)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(Object.__struct_fields__), ANYTHING, max_size=4))
def test_any_object_is_accepted_as_strict_json_or_refused(fields: dict[str, Any]) -> None:
    try:
        checked = check_object_values(Object(**fields))
    except BrainError as error:
        str(error).encode()
    else:
        assert msgspec.json.decode(msgspec.json.encode(checked.properties)) == checked.properties


@given(st.dictionaries(ANY_TEXT, ANYTHING, max_size=4))
def test_accepted_properties_survive_strict_json(properties: dict[str, Any]) -> None:
    try:
        check_object_values(Object(properties=properties))
    except BrainError:
        return
    assert msgspec.json.decode(msgspec.json.encode(properties), strict=True) == properties


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -float("inf"), 10**400, "0.5", None, True])
def test_confidence_must_be_finite(confidence: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check_edge_meta(EdgeMeta(confidence=confidence))
    assert caught.value.field == "confidence"


@pytest.mark.parametrize("field", ["note", "status", "role"])
@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 65_537, None])
def test_edge_texts(field: str, text: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check_edge_meta(EdgeMeta(**{field: text}))
    assert caught.value.field == field


def test_edge_meta_is_returned_in_utc() -> None:
    local = datetime(2026, 8, 9, 2, tzinfo=timezone(timedelta(hours=2)))
    meta = EdgeMeta(note="n" * 65_536, confidence=-3, evidence_id=uuid4(), created_at=local)
    checked = check_edge_meta(meta)
    assert checked == meta
    assert checked.created_at is not None
    assert checked.created_at.tzinfo is UTC
    for field in ("created_at", "updated_at"):
        with pytest.raises(InvalidValueError):
            check_edge_meta(EdgeMeta(**{field: datetime(2026, 8, 9)}))
    with pytest.raises(InvalidValueError):
        check_edge_meta(EdgeMeta(evidence_id="x"))


def test_relation_types() -> None:
    check_relation_type("x" * MAX_RELATION_TYPE_CHARS)
    check_relation_type(f"  {'é' * MAX_RELATION_TYPE_CHARS}  ")
    for label in ("x" * (MAX_RELATION_TYPE_CHARS + 1), "a\x00", "\udc00", 5):
        with pytest.raises(InvalidValueError) as caught:
            check_relation_type(label)
        assert caught.value.field == "relation_type"


def test_check_text_names_the_field_and_the_limit() -> None:
    check_text("note", "é" * 5, max_bytes=10)
    with pytest.raises(InvalidValueError, match="note is longer than 10 bytes") as caught:
        check_text("note", "é" * 6, max_bytes=10)
    assert caught.value.field == "note"
