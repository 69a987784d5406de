"""Addresses of objects."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.mcp.resources import parse_uri, resource_uri

KEY = UUID(int=7)


def test_an_address_names_kind_and_id() -> None:
    assert resource_uri("deal", KEY) == f"brain://deal/{KEY}"
    assert resource_uri("a/b c", KEY) == f"brain://a%2Fb%20c/{KEY}"


@given(st.text(min_size=1).filter(lambda kind: kind.isprintable()))
def test_an_address_is_read_as_it_was_written(kind: str) -> None:
    assert parse_uri(resource_uri(kind, KEY)) == (kind, str(KEY))


@pytest.mark.parametrize(
    "uri", ["", "brain://", "brain://deal", "brain://deal/", f"brain:///{KEY}", f"http://deal/{KEY}"]
)
def test_anything_else_is_no_address(uri: str) -> None:
    assert parse_uri(uri) is None
