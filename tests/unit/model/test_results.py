from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import msgspec
import pytest

from brain_async.model.object import NIL_UUID, Object
from brain_async.model.relation import Edge, EdgeMeta, Relation
from brain_async.model.results import (
    LinkHit,
    RichObject,
    SearchPage,
    landing_ids,
    landing_ids_from_page,
    rich_from_object,
)
from brain_async.model.scope import Scope


def hit(object_id: UUID, parent_id: UUID | None = None) -> RichObject:
    return RichObject(id=object_id, kind="x", parent_id=parent_id)


def test_landing_ids_keep_hit_order_and_drop_nil_ids() -> None:
    a, b, part = uuid4(), uuid4(), uuid4()
    hits = [hit(b), hit(part, a), hit(NIL_UUID), hit(uuid4(), NIL_UUID), hit(a), hit(uuid4(), b)]
    assert landing_ids(hits) == [b, a]
    assert landing_ids_from_page(SearchPage(objects=tuple(hits))) == [b, a]
    assert landing_ids([]) == []


def test_a_rich_object_carries_content_only_when_asked() -> None:
    at = datetime.now(UTC)
    obj = Object(
        id=uuid4(), kind="note", title="t", summary="s", content="c", content_type="text/plain", properties={"a": 1},
        parent_id=uuid4(), position=2, namespace_id=uuid4(), created_at=at, updated_at=at,
    )  # fmt: skip
    rich = rich_from_object(obj, score=0.5, relation=Relation(type="about"))
    assert rich.content == ""
    assert rich_from_object(obj, content=True).content == "c"
    for field in set(Object.__struct_fields__) & set(RichObject.__struct_fields__) - {"content"}:
        assert getattr(rich, field) == getattr(obj, field)
    assert (rich.score, rich.relation) == (0.5, Relation(type="about"))


def test_an_object_without_an_id_has_no_key() -> None:
    with pytest.raises(ValueError, match="no id"):
        rich_from_object(Object(kind="x"))


def test_a_link_hit_leaves_content_out() -> None:
    source, target = Object(id=uuid4(), kind="x", content="long"), Object(id=uuid4(), kind="y")
    edge = Edge(from_id=source.key, to_id=target.key, relation_type="About", meta=EdgeMeta(note="n"))
    found = LinkHit.of(edge, source, target, 2.0)
    assert (found.source.content, found.target.id, found.relation_type, found.meta.note) == (
        "",
        target.id,
        "about",
        "n",
    )


def test_pages_are_strict_json() -> None:
    page = SearchPage(objects=(hit(uuid4()),), result_set_id=uuid4(), total=1)
    assert msgspec.json.decode(msgspec.json.encode(page), type=SearchPage) == page


def test_scopes() -> None:
    a = uuid4()
    assert Scope().sees(a)
    assert Scope(a).sees(a)
    assert not Scope(a).sees(uuid4())
    assert not Scope(a).sees(None)
