from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from brain_async.model.relation import (
    Edge,
    EdgeKey,
    EdgeMeta,
    canonical_relation_type,
    is_containment_relation,
    normalize_relation_types,
    split_relation_types,
)


@pytest.mark.parametrize("label", ["contains", "Contains", " part_of ", "PARTOF", "part_of"])
def test_containment_labels_in_any_case(label: str) -> None:
    assert is_containment_relation(label)


@pytest.mark.parametrize("label", ["children", "contain", "part of", "", "references"])
def test_ordinary_labels(label: str) -> None:
    assert not is_containment_relation(label)


def test_labels_are_trimmed_and_deduplicated_keeping_the_first_spelling() -> None:
    assert normalize_relation_types([" REFERENCES", "references", "", "  ", "about", "About "]) == [
        "REFERENCES",
        "about",
    ]


@pytest.mark.parametrize(
    ("labels", "graph", "containment"),
    [
        ([], [], True),
        (["", " "], [], True),
        (["contains"], [], True),
        (["children"], ["children"], False),
        (("contains", "References", "references"), ["References"], True),
        (["about", "PartOf"], ["about"], True),
    ],
)
def test_splitting_labels(labels: list[str], graph: list[str], containment: bool) -> None:
    assert split_relation_types(labels) == (graph, containment)


def test_one_spelling_identifies_an_edge() -> None:
    a, b = uuid4(), uuid4()
    assert canonical_relation_type(" About ") == "about"
    assert Edge(from_id=a, to_id=b, relation_type=" About ").key == EdgeKey(a, b, "ABOUT")
    assert Edge(from_id=a, to_id=b, relation_type="about").key != EdgeKey(b, a, "about")


def test_metadata_is_zero_when_all_seven_fields_are_unset() -> None:
    assert EdgeMeta().is_zero
    assert EdgeMeta(confidence=0).is_zero
    for meta in (
        EdgeMeta(note="n"),
        EdgeMeta(status="s"),
        EdgeMeta(role="r"),
        EdgeMeta(confidence=-0.1),
        EdgeMeta(evidence_id=uuid4()),
        EdgeMeta(created_at=datetime.now(UTC)),
        EdgeMeta(updated_at=datetime.now(UTC)),
    ):
        assert not meta.is_zero
