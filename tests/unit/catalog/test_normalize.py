from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.catalog.normalize import normalize_kind, normalize_kinds
from brain_async.errors import BrainError, InvalidKindError
from brain_async.model.kind import CORE_FILTER_KEYS, FieldSpec, FieldType, KindSpec


def kind_with(**field: object) -> KindSpec:
    return KindSpec(kind="deal", fields=(FieldSpec(**{"name": "amount", "type": "number", **field}),))


def test_trims_names_and_descriptions_and_keeps_the_rest() -> None:
    spec = KindSpec(
        kind=" deal ",
        description=" a sale ",
        is_parent=True,
        fields=(FieldSpec(name=" amount ", type="number", description=" EUR ", required=True, examples=("10",)),),
    )
    assert normalize_kind(spec) == KindSpec(
        kind="deal",
        description="a sale",
        is_parent=True,
        fields=(
            FieldSpec(
                name="amount",
                type=FieldType.NUMBER,
                operators=("eq", "in"),
                description="EUR",
                required=True,
                examples=("10",),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("field_type", "operators"),
    [
        ("boolean", ("eq",)),
        ("string", ("eq", "in")),
        ("number", ("eq", "in")),
        ("datetime", ("eq", "in")),
        (FieldType.BOOLEAN, ("eq",)),
    ],
)
def test_operators_of_the_host_are_overwritten(field_type: str, operators: tuple[str, ...]) -> None:
    field = normalize_kind(kind_with(type=field_type, operators=("gt", "like"))).fields[0]
    assert field.operators == operators
    assert isinstance(field.type, FieldType)


@pytest.mark.parametrize(
    "name", ["", "  ", "a b", "a-b", "größe", "a.b", "a\x00b", "a\ud800", *CORE_FILTER_KEYS, " kind "]
)
def test_bad_field_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidKindError) as caught:
        normalize_kind(kind_with(name=name))
    assert caught.value.field == "fields[0].name"


def test_missing_and_unknown_types_have_different_messages() -> None:
    with pytest.raises(InvalidKindError, match="has no type") as missing:
        normalize_kind(kind_with(type=""))
    with pytest.raises(InvalidKindError, match="unknown type 'date'") as unknown:
        normalize_kind(kind_with(type="date"))
    assert missing.value.field == unknown.value.field == "fields[0].type"


@pytest.mark.parametrize("kind", ["", " \n", "a\x00", "\udc00", "k" * 1025, None])
def test_bad_kind_names_are_refused(kind: str) -> None:
    with pytest.raises(InvalidKindError) as caught:
        normalize_kind(KindSpec(kind=kind))
    assert caught.value.field == "kind"


def test_the_same_field_twice_is_refused_after_trimming() -> None:
    spec = KindSpec(kind="deal", fields=(FieldSpec(name="a", type="string"), FieldSpec(name=" a", type="number")))
    with pytest.raises(InvalidKindError, match="twice") as caught:
        normalize_kind(spec)
    assert caught.value.field == "fields[1].name"


def test_the_same_kind_twice_in_a_batch_is_refused_but_case_tells_them_apart() -> None:
    assert [spec.kind for spec in normalize_kinds([KindSpec(kind="deal"), KindSpec(kind="Deal")])] == ["deal", "Deal"]
    with pytest.raises(InvalidKindError, match="twice"):
        normalize_kinds([KindSpec(kind="deal"), KindSpec(kind=" deal ")])


@pytest.mark.parametrize(
    "fields", [None, "amount", ({"name": "amount"},), (FieldSpec(name="a", type="string", examples=None),)]
)
def test_shapes_that_are_no_field_specs_are_refused(fields: object) -> None:
    with pytest.raises(InvalidKindError):
        normalize_kind(KindSpec(kind="deal", fields=fields))


@pytest.mark.parametrize("value", [None, 1, "yes", {}])
def test_flags_are_booleans(value: Any) -> None:
    for spec in (
        KindSpec(kind="deal", is_part=value),
        KindSpec(kind="deal", is_parent=value),
        kind_with(name="a", type="string", required=value),
    ):
        with pytest.raises(InvalidKindError):
            normalize_kind(spec)


@given(
    st.builds(
        KindSpec,
        kind=st.text(),
        description=st.text(),
        fields=st.lists(
            st.builds(FieldSpec, name=st.text(alphabet="ab_ -é"), type=st.sampled_from([*FieldType, "", "x"])),
            max_size=3,
        ).map(tuple),
    )
)
def test_normalising_is_idempotent_and_raises_only_our_errors(spec: KindSpec) -> None:
    try:
        normalized = normalize_kind(spec)
    except BrainError:
        return
    assert normalize_kind(normalized) == normalized
