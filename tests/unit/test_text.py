from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.object import Object
from brain_async.text import (
    ENTITY_CONTENT_CHARS,
    MAX_QUERY_CHARS,
    clean_query,
    entity_index_text,
    format_number,
    index_text,
    index_text_with_parent,
    snippet,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (120000.0, "120000"),
        (123456.0, "123456"),
        (1000000.0, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (1000000, "1000000"),
        (10.0, "10"),
        (0.5, "0.5"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.00012, "-0.00012"),
        (1e22, "1e+22"),
        (1.5e-300, "1.5e-300"),
        (-2.5, "-2.5"),
        (12.0625, "12.0625"),
        (0.0, "0"),
        (-0.0, "-0"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_numbers_in_go_form(number: float, text: str) -> None:
    assert format_number(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_from_its_text(number: float) -> None:
    assert float(format_number(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exponents_start_where_go_starts_them(number: float) -> None:
    has_exponent = "e" in format_number(number)
    assert has_exponent == (number != 0 and not 1e-4 <= abs(number) < 1e6)


def test_entity_text_has_scalar_properties_in_key_order() -> None:
    obj = Object(
        kind="deal",
        title="  Acme renewal ",
        summary="\n",
        content="  body  ",
        properties={
            "stage": " won ",
            "amount": 120000.0,
            "seats": 1000000,
            "large": 1000000.0,
            "open": True,
            "lost": False,
            "blank": "  ",
            "none": None,
            "list": ["x"],
            "dict": {"a": "b"},
            "when": datetime.now(UTC),
        },
    )
    assert entity_index_text(obj).split("\n") == [
        "Acme renewal",
        "amount: 120000",
        "large: 1e+06",
        "lost: false",
        "open: true",
        "seats: 1000000",
        "stage: won",
        "body",
    ]


def test_entity_text_cuts_content_after_trimming() -> None:
    text = entity_index_text(Object(content="  " + "x" * 3000))
    assert text == "x" * ENTITY_CONTENT_CHARS


@pytest.mark.parametrize(
    ("fields", "parent_title", "text"),
    [
        ({"title": " t ", "summary": "s", "content": "c\n"}, " Parent ", "Parent\nt\ns\nc"),
        ({"content": "c"}, " ", "c"),
        ({}, "Parent", "Parent"),
        ({"title": " "}, "", ""),
    ],
)
def test_part_text_under_its_parents_title(fields: dict[str, Any], parent_title: str, text: str) -> None:
    assert index_text_with_parent(Object(**fields), parent_title) == text


def test_part_text_leaves_properties_out() -> None:
    assert index_text(Object(title="t", properties={"a": "b"}, id=uuid4())) == "t"


@pytest.mark.parametrize(
    ("content", "shown"), [("", ""), ("  a  ", "a"), ("x" * 240, "x" * 240), ("x" * 241, "x" * 240 + "…")]
)
def test_snippets(content: str, shown: str) -> None:
    assert snippet(content) == shown


@pytest.mark.parametrize(
    ("query", "cleaned"),
    [(" a\x00b ", "ab"), ("\x00 ", ""), ("a\ud800", "a"), ("x" * 3000, "x" * MAX_QUERY_CHARS), ("tb-", "tb-")],
)
def test_queries_lose_only_what_cannot_be_carried(query: str, cleaned: str) -> None:
    assert clean_query(query) == cleaned


@given(st.text(st.characters(exclude_categories=())))
def test_a_cleaned_query_can_be_sent_anywhere(query: str) -> None:
    cleaned = clean_query(query)
    assert "\x00" not in cleaned
    cleaned.encode()
