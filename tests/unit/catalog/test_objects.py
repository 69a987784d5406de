from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from brain_async.catalog.objects import validate_object
from brain_async.catalog.registry import KindCatalog
from brain_async.errors import InvalidObjectError, NamespaceRequiredError
from brain_async.model.kind import FieldSpec, KindSpec
from brain_async.model.object import NIL_UUID, Object

EMPTY = KindCatalog()
CATALOG = KindCatalog(
    [
        KindSpec(
            kind="deal",
            is_parent=True,
            fields=(
                FieldSpec(name="amount", type="number", required=True),
                FieldSpec(name="stage", type="string"),
                FieldSpec(name="open", type="boolean"),
                FieldSpec(name="closes", type="datetime"),
            ),
        ),
        KindSpec(kind="section", is_part=True),
        KindSpec(kind="either"),
        KindSpec(kind="both", is_part=True, is_parent=True),
    ]
)
NAMESPACE = uuid4()


def an_object(kind: str = "deal", parent_id: UUID | None = None, **properties: Any) -> Object:
    return Object(id=uuid4(), kind=kind, namespace_id=NAMESPACE, parent_id=parent_id, properties=properties)


@pytest.mark.parametrize("catalog", [EMPTY, CATALOG])
def test_general_rules_hold_with_and_without_a_catalog(catalog: KindCatalog) -> None:
    with pytest.raises(InvalidObjectError) as caught:
        validate_object(an_object(kind=" "), catalog)
    assert caught.value.field == "kind"
    for namespace in (None, NIL_UUID):
        with pytest.raises(NamespaceRequiredError):
            validate_object(Object(kind="deal", namespace_id=namespace), catalog)
    with pytest.raises(InvalidObjectError) as caught:
        validate_object(an_object(parent_id=NIL_UUID), catalog)
    assert caught.value.field == "parent_id"


def test_without_a_catalog_any_kind_and_property_goes() -> None:
    validate_object(an_object(kind="anything", parent_id=uuid4(), whatever=[1, {"a": None}]), EMPTY)


@pytest.mark.parametrize("kind", ["ghost", "Deal", " deal"])
def test_an_unregistered_kind_is_refused(kind: str) -> None:
    with pytest.raises(InvalidObjectError, match="not registered") as caught:
        validate_object(an_object(kind=kind, amount=1), CATALOG)
    assert caught.value.field == "kind"


@pytest.mark.parametrize(
    ("kind", "is_part", "allowed"),
    [
        ("deal", False, True),
        ("deal", True, False),
        ("section", True, True),
        ("section", False, False),
        ("either", False, True),
        ("either", True, True),
        ("both", False, True),
        ("both", True, True),
    ],
)
def test_parents_and_parts(kind: str, is_part: bool, allowed: bool) -> None:
    properties = {"amount": 1} if kind == "deal" else {}
    obj = an_object(kind=kind, parent_id=uuid4() if is_part else None, **properties)
    if allowed:
        validate_object(obj, CATALOG)
        return
    with pytest.raises(InvalidObjectError) as caught:
        validate_object(obj, CATALOG)
    assert caught.value.field == "parent_id"


@pytest.mark.parametrize(
    "properties",
    [
        {"amount": 1},
        {"amount": 1.5, "stage": "won", "open": False, "closes": "2026-08-09"},
        {"amount": 0, "stage": None, "closes": "2026-08-09T10:00:00.5+02:00"},
        {"amount": 0, "unknown": None},
    ],
)
def test_properties_that_fit(properties: dict[str, Any]) -> None:
    validate_object(an_object(**properties), CATALOG)


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({}, "amount"),
        ({"amount": None}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": "1"}, "amount"),
        ({"amount": [1]}, "amount"),
        ({"amount": 1, "stage": 5}, "stage"),
        ({"amount": 1, "stage": ["won"]}, "stage"),
        ({"amount": 1, "open": 0}, "open"),
        ({"amount": 1, "closes": "soon"}, "closes"),
        ({"amount": 1, "closes": datetime(2026, 8, 9, tzinfo=UTC)}, "closes"),
        ({"amount": 1, "unknown": "x"}, "unknown"),
        ({"amount": 1, "kind": "x"}, "kind"),
    ],
)
def test_properties_that_do_not_fit(properties: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidObjectError) as caught:
        validate_object(Object(kind="deal", namespace_id=NAMESPACE, properties=properties), CATALOG)
    assert caught.value.field == f"properties.{field}"
