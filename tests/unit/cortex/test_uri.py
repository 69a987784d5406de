"""URIs of objects."""

from __future__ import annotations

import pytest

from brain_async.cortex import format_uri, parse_uri
from brain_async.errors import InvalidValueError, ObjectIdRequiredError
from tests.unit.cortex.samples import A


@pytest.mark.parametrize(
    ("kind", "uri"),
    [
        ("deal", f"brain://deal/{A}"),
        ("Sales Deal/2", f"brain://Sales%20Deal%2F2/{A}"),
        ("größe", f"brain://gr%C3%B6%C3%9Fe/{A}"),
    ],
)
def test_a_uri_names_kind_and_id(kind: str, uri: str) -> None:
    assert format_uri(kind, A) == uri
    assert parse_uri(uri) == (kind, A)
    assert parse_uri(uri[: -len(str(A))] + str(A).upper()) == (kind, A)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "brain://",
        f"brain://{A}",
        f"brain:///{A}",
        f"brain://%20/{A}",
        f"brain://%FF/{A}",
        f"other://deal/{A}",
        f"deal/{A}",
        f"brain://deal/{A.hex}",
        f"brain://deal/{{{A}}}",
        f"brain://deal/{A}/x",
        f"brain://a/b/{A}",
        "brain://deal/x",
    ],
)
def test_anything_else_is_refused(uri: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_uri(uri)


def test_neither_a_blank_kind_nor_a_nil_id_is_named() -> None:
    with pytest.raises(InvalidValueError):
        format_uri(" ", A)
    with pytest.raises(ObjectIdRequiredError):
        parse_uri("brain://deal/00000000-0000-0000-0000-000000000000")
