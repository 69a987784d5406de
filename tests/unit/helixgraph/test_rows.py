"""Rows of objects and edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from brain_async.errors import DimensionMismatchError, InvalidValueError
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeMeta
from helixgraph.properties import NODE_FIELDS, micros
from helixgraph.rows import chunked, edge_hit, edge_row, node_candidate, node_row

_AT = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)


def test_a_node_has_every_field_and_is_read_back_as_a_candidate() -> None:
    node = Object(id=uuid4(), kind="deal", title="Acme", position=3, updated_at=_AT, embedding=(0.0, 1.0))
    row = node_row(node, 2)
    assert set(row) == {"object_id", *NODE_FIELDS, "embedding"}
    candidate = node_candidate(row, 0.5)
    assert (candidate.id, candidate.title, candidate.position, candidate.updated_at, candidate.score) == (
        node.id,
        "Acme",
        3,
        _AT,
        0.5,
    )


@pytest.mark.parametrize("embedding", [None, (0.0, 0.0), (1e-40, 0.0), (1e-300, -1e-300)])
def test_an_embedding_without_a_direction_is_none(embedding: tuple[float, ...] | None) -> None:
    assert "embedding" not in node_row(Object(id=uuid4(), embedding=embedding), 2)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300])
def test_an_embedding_that_single_precision_cannot_keep_is_refused(number: float) -> None:
    with pytest.raises(InvalidValueError) as raised:
        node_row(Object(id=uuid4(), embedding=(number, 1.0)), 2)
    assert raised.value.field == "embedding"


def test_another_dimension_and_an_endless_kind_are_refused() -> None:
    with pytest.raises(DimensionMismatchError):
        node_row(Object(id=uuid4(), embedding=(1.0,)), 2)
    with pytest.raises(InvalidValueError):
        node_row(Object(id=uuid4(), kind="k" * 70_000), 2)


def test_an_edge_is_read_back() -> None:
    meta = EdgeMeta(
        note="n", status="s", role="r", confidence=0.25, evidence_id=uuid4(), created_at=_AT, updated_at=_AT
    )
    edge = Edge(from_id=uuid4(), to_id=uuid4(), relation_type="about", namespace_id=uuid4(), meta=meta)
    assert edge_hit(edge_row(edge), "about", 1.0).edge == edge


def test_unset_times_of_edges() -> None:
    later = _AT + timedelta(days=1)
    edge = Edge(from_id=uuid4(), to_id=uuid4(), relation_type="about", meta=EdgeMeta(updated_at=later))
    row = edge_row(edge)
    assert row["created_at"] == row["first_update"] == row["updated_at"] == micros(later)
    row = edge_row(Edge(from_id=uuid4(), to_id=uuid4(), relation_type="about", meta=EdgeMeta(created_at=_AT)))
    assert row["created_at"] == row["first_update"] == micros(_AT) < row["updated_at"]


def test_chunks_keep_order_and_both_bounds() -> None:
    rows = [{"n": n, "search_text": "x" * (n % 7) * 1_000} for n in range(100)]
    chunks = chunked(rows, rows_at_most=10, bytes_at_most=20_000)
    assert [row for chunk in chunks for row in chunk] == rows
    assert all(len(chunk) <= 10 for chunk in chunks)
    assert all(len(chunk) == 1 or sum(len(row["search_text"]) for row in chunk) <= 20_000 for chunk in chunks)
    assert len(chunked([{"search_text": "x" * 50_000}], rows_at_most=10, bytes_at_most=20_000)) == 1
    assert chunked([], rows_at_most=10, bytes_at_most=20_000) == []
