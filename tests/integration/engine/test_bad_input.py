"""Bad input: this library's own error, naming the field, before any work, and the same on every store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
import pytest

from brain_async import (
    BrainError,
    Edge,
    EngineConfig,
    InvalidFilterError,
    InvalidInputError,
    InvalidKindError,
    InvalidValueError,
    KindSpec,
    NamespaceRequiredError,
    Object,
    ObjectNotFoundError,
    QueryRequiredError,
    Scope,
    SearchRequest,
    Session,
)
from tests.integration.engine.world import FaultyGraph, FaultyStore, World, evidence_ids, ids, put_family

Call = Callable[[Session], Awaitable[object]]

BAD_CALLS: dict[str, tuple[Call, type[BrainError], str]] = {
    "blank query": (lambda s: s.search(" \t\n"), QueryRequiredError, "query"),
    "query of NUL only": (lambda s: s.search("\x00\ud800"), QueryRequiredError, "query"),
    "blank exact query": (lambda s: s.find_exact(""), QueryRequiredError, "query"),
    "blank object query": (lambda s: s.find_objects(" "), QueryRequiredError, "query"),
    "query None": (lambda s: s.search(None), InvalidInputError, "query"),  # type: ignore[arg-type]
    "query bytes": (lambda s: s.find_exact(b"x"), InvalidInputError, "query"),  # type: ignore[arg-type]
    "query number": (lambda s: s.find_objects(3), InvalidInputError, "query"),  # type: ignore[arg-type]
    "link query None": (lambda s: s.find_links("x", None), InvalidInputError, "query"),  # type: ignore[arg-type]
    "link label None": (lambda s: s.find_links(None, "x"), InvalidInputError, "relation_type"),  # type: ignore[arg-type]
    "link label NUL": (lambda s: s.find_links("a\x00b", "x"), InvalidValueError, "relation_type"),
    "limit text": (lambda s: s.search("x", limit="5"), InvalidInputError, "limit"),  # type: ignore[arg-type]
    "limit float": (lambda s: s.find_exact("x", limit=1.5), InvalidInputError, "limit"),  # type: ignore[arg-type]
    "limit None": (lambda s: s.find_objects("x", limit=None), InvalidInputError, "limit"),  # type: ignore[arg-type]
    "limit flag": (lambda s: s.find_links("x", "x", limit=True), InvalidInputError, "limit"),
    "continue limit": (lambda s: s.continue_(uuid4(), limit="x"), InvalidInputError, "limit"),  # type: ignore[arg-type]
    "expand limit": (lambda s: s.expand(uuid4(), limit="x"), InvalidInputError, "limit"),  # type: ignore[arg-type]
    "channels text": (lambda s: s.search("x", channels="lexical"), InvalidInputError, "channels"),  # type: ignore[arg-type]
    "unknown channel": (lambda s: s.search("x", channels=["bm25"]), InvalidInputError, "channels"),  # type: ignore[list-item]
    "scope id text": (lambda s: s.search("x", scope_ids=[str(uuid4())]), InvalidInputError, "scope_ids[0]"),  # type: ignore[list-item]
    "scope ids None": (lambda s: s.find_exact("x", scope_ids=None), InvalidInputError, "scope_ids"),  # type: ignore[arg-type]
    "explain id": (lambda s: s.search("x", explain_ids=["y"]), InvalidInputError, "explain_ids[0]"),  # type: ignore[list-item]
    "kinds text": (lambda s: s.find_objects("x", kinds="deal"), InvalidInputError, "kinds"),
    "kinds number": (lambda s: s.find_objects("x", kinds=[3]), InvalidInputError, "kinds[0]"),  # type: ignore[list-item]
    "filters list": (lambda s: s.search("x", filters=[1]), InvalidFilterError, "filters"),  # type: ignore[arg-type]
    "filters text": (lambda s: s.find_objects("x", filters="kind"), InvalidFilterError, "filters"),  # type: ignore[arg-type]
    "filter key number": (lambda s: s.search("x", filters={3: 1}), InvalidFilterError, "filters"),  # type: ignore[dict-item]
    "filter key blank": (lambda s: s.search("x", filters={" ": 1}), InvalidFilterError, ""),
    "filter key odd": (lambda s: s.search("x", filters={"a-b": 1}), InvalidFilterError, "a-b"),
    "filter None": (lambda s: s.find_exact("x", filters={"a": None}), InvalidFilterError, "a"),
    "filter empty list": (lambda s: s.search("x", filters={"a": []}), InvalidFilterError, "a"),
    "filter dict": (lambda s: s.find_objects("x", filters={"a": {"b": 1}}), InvalidFilterError, "a"),
    "filter nested": (lambda s: s.search("x", filters={"a": [[1]]}), InvalidFilterError, "a"),
    "filter NaN": (lambda s: s.search("x", filters={"a": float("nan")}), InvalidValueError, "a"),
    "filter infinity": (lambda s: s.find_objects("x", filters={"a": [1, float("inf")]}), InvalidValueError, "a"),
    "filter NUL": (lambda s: s.find_exact("x", filters={"a": "b\x00"}), InvalidValueError, "a"),
    "filter surrogate": (lambda s: s.search("x", filters={"title": "\udfff"}), InvalidValueError, "title"),
    "filter integer": (lambda s: s.search("x", filters={"a": 2**63}), InvalidValueError, "a"),
    "date without offset": (
        lambda s: s.search("x", filters={"created_after": "2026-08-09T00:00:00"}),
        InvalidFilterError,
        "created_after",
    ),
    "compact date": (
        lambda s: s.search("x", filters={"updated_before": "20260809"}),
        InvalidFilterError,
        "updated_before",
    ),
    "naive date": (
        lambda s: s.find_objects("x", filters={"created_before": datetime(2026, 8, 9)}),
        InvalidFilterError,
        "created_before",
    ),
    "relation types text": (lambda s: s.expand(uuid4(), "about"), InvalidInputError, "relation_types"),
    "relation type number": (lambda s: s.expand(uuid4(), [1]), InvalidInputError, "relation_types[0]"),  # type: ignore[list-item]
    "relation type NUL": (lambda s: s.expand(uuid4(), ["a\x00"]), InvalidValueError, "relation_type"),
    "hops text": (lambda s: s.expand(uuid4(), ["a"], max_hops="2"), InvalidInputError, "max_hops"),  # type: ignore[arg-type]
    "direction": (lambda s: s.expand(uuid4(), ["a"], direction=None), InvalidInputError, "direction"),  # type: ignore[arg-type]
    "expand id": (lambda s: s.expand("x"), InvalidInputError, "object_id"),  # type: ignore[arg-type]
    "seeds text": (lambda s: s.expand_many("abc"), InvalidInputError, "seed_ids"),  # type: ignore[arg-type]
    "seed text": (lambda s: s.expand_many([uuid4(), "x"]), InvalidInputError, "seed_ids[1]"),  # type: ignore[list-item]
    "budget": (lambda s: s.expand_many([uuid4()], budget="9"), InvalidInputError, "budget"),  # type: ignore[arg-type]
    "read id": (lambda s: s.read(3), InvalidInputError, "object_id"),  # type: ignore[arg-type]
    "delete id": (lambda s: s.soft_delete("x"), InvalidInputError, "object_id"),  # type: ignore[arg-type]
    "put nothing": (lambda s: s.put(None), InvalidInputError, "object"),  # type: ignore[arg-type]
    "put a dict": (lambda s: s.put({"kind": "x"}), InvalidInputError, "object"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD_CALLS)
async def test_it_is_refused_before_any_work(engine_world: World, name: str) -> None:
    call, error, field = BAD_CALLS[name]
    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    session = engine_world.session(store=store, graph=graph)
    with pytest.raises(error) as caught:
        await call(session)
    assert getattr(caught.value, "field", None) == field
    assert isinstance(caught.value, ValueError)
    assert store.calls == graph.calls == []


async def test_an_unknown_kind_or_key_is_refused_once_kinds_are_registered(engine_world: World) -> None:
    session = engine_world.session(kinds=[KindSpec(kind="thing")])
    for verb in (session.search, session.find_exact, session.find_objects):
        with pytest.raises(InvalidKindError) as unknown_kind:
            await verb("x", filters={"kind": "ghost"})
        assert unknown_kind.value.field == "kind"
        for filters in ({"stage": "won"}, {"kind": "thing", "stage": "won"}):
            with pytest.raises(InvalidFilterError) as unknown_key:
                await verb("x", filters=filters)
            assert unknown_key.value.field == "stage"


UNSTORABLE: dict[str, tuple[dict[str, Any], str]] = {
    "NUL in the title": ({"title": "a\x00b"}, "title"),
    "NUL in the summary": ({"summary": "a\x00b"}, "summary"),
    "NUL in the content": ({"content": "a\x00b"}, "content"),
    "NUL in the kind": ({"kind": "a\x00b"}, "kind"),
    "NUL in a property": ({"properties": {"p": "a\x00b"}}, "properties.p"),
    "NUL in a nested property": ({"properties": {"p": [{"q": "\x00"}]}}, "properties.p[0].q"),
    "NUL in a property key": ({"properties": {"a\x00b": 1}}, "properties"),
    "lone surrogate": ({"content": "\ud800"}, "content"),
    "NaN": ({"properties": {"score": float("nan")}}, "properties.score"),
    "nested infinity": ({"properties": {"a": [1, float("inf")]}}, "properties.a[1]"),
    "integer beyond 64 bit": ({"properties": {"n": 2**63}}, "properties.n"),
    "property that is no JSON": ({"properties": {"at": datetime.now}}, "properties.at"),
    "properties that are no dict": ({"properties": [1]}, "properties"),
    "title that is no text": ({"title": 3}, "title"),
    "content that is no text": ({"content": None}, "content"),
    "id that is no UUID": ({"id": "abc"}, "id"),
    "position beyond 32 bit": ({"position": 2**31}, "position"),
    "embedding that is not finite": ({"embedding": (float("nan"),) * 8}, "embedding"),
    "embedding of zeros": ({"embedding": (0.0,) * 8}, "embedding"),
    "title above its limit": ({"title": "x" * 70_000}, "title"),
    "content above its limit": ({"content": "x" * (16 * 1024 * 1024 + 1)}, "content"),
    "naive time": ({"created_at": datetime(2026, 8, 9)}, "created_at"),
}


@pytest.mark.parametrize("name", UNSTORABLE)
async def test_what_no_store_could_keep_is_refused_before_any_write(engine_world: World, name: str) -> None:
    fields, field = UNSTORABLE[name]
    store, graph = FaultyStore(engine_world.store), FaultyGraph(engine_world.graph)
    session = engine_world.session(store=store, graph=graph)
    object_id = uuid4()
    bad = Object(**{"id": object_id, "kind": "thing", "title": "lemon", **fields})
    with pytest.raises(InvalidValueError) as caught:
        await session.put(bad)
    assert caught.value.field == field
    (failure,) = (await session.put_many([bad])).failures
    assert (failure.code, failure.field, failure.stored) == ("invalid_value", field, False)
    assert store.calls == graph.calls == []
    with pytest.raises(ObjectNotFoundError):
        await session.read(object_id)


async def test_large_content_is_stored_found_and_shown_as_a_snippet(engine_world: World) -> None:
    session = engine_world.session()
    body = "quince " + "lorem ipsum dolor sit amet " * 60_000
    parent, parts = await put_family(session, [body])
    assert len(body) > 1_600_000
    page = await session.search("quince")
    assert ids(page) == [parent.id]
    assert len(page.objects[0].evidence[0].snippet) == 241
    assert (await session.read(parts[0].id)).content == body


async def test_a_scope_must_be_a_scope(engine_world: World) -> None:
    engine = engine_world.engine()
    for scope, field in ((None, "scope"), (engine_world.namespace, "scope"), (Scope("x"), "namespace_id")):  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError) as caught:
            await engine.read(scope, uuid4())  # type: ignore[arg-type]
        assert caught.value.field == field


async def test_a_request_must_be_a_request_and_a_result_set_store_one(engine_world: World) -> None:
    session = engine_world.session()
    engine, scope, sets = engine_world.engine(), engine_world.scope, session.context
    search: Any = SearchRequest(query="x")
    requests: list[tuple[Callable[..., Awaitable[object]], tuple[Any, ...]]] = [
        (engine.search, (sets,)),
        (engine.find_exact, (sets,)),
        (engine.find_objects, (sets,)),
        (engine.find_links, ()),
        (engine.expand, (sets,)),
        (engine.expand_many, ()),
    ]
    for verb, rest in requests:
        for request in ("x", None, {"query": "x"}):
            with pytest.raises(InvalidInputError) as caught:
                await verb(scope, request, *rest)
            assert caught.value.field == "request"
    for call in (engine.search(scope, search, {}), engine.continue_(scope, uuid4(), {})):  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError) as caught:
            await call
        assert caught.value.field == "result_sets"
    with pytest.raises(InvalidInputError):
        engine.register_expand_recipe("related")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        engine.register_kinds(3)  # type: ignore[arg-type]


async def test_numpy_arrays_are_refused_where_an_id_or_a_list_is_asked_for(engine_world: World) -> None:
    session = engine_world.session()
    array: Any = np.ones(2)
    calls: list[Call] = [
        lambda s: s.read(array),
        lambda s: s.continue_(array),
        lambda s: s.link(array, uuid4(), "x"),
        lambda s: s.unlink(uuid4(), array, "x"),
        lambda s: s.search("x", scope_ids=np.array(1)),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(InvalidInputError):
            await call(session)
    foreign = Edge(from_id=uuid4(), to_id=uuid4(), relation_type="x", namespace_id=array)
    (failure,) = (await session.link_many([foreign])).failures
    assert (failure.code, failure.field) == ("invalid_input", "namespace_id")


async def test_a_failure_is_strict_json_whatever_was_given_as_an_id(engine_world: World) -> None:
    bad: Any = [Object(id=given, kind="x") for given in (object(), "\ud800", {None: 1}, np.float64(1))]  # type: ignore[arg-type]
    result = await engine_world.session().put_many(bad)
    assert [failure.id for failure in result.failures] == [None] * len(bad)
    msgspec.json.encode(result)


async def test_text_of_an_enum_is_stored_found_and_returned_as_its_value(engine_world: World) -> None:
    class Named(str, Enum):  # noqa: UP042 a StrEnum is formatted as its value, this one as Named.FRUIT
        FRUIT = "quince"

    session = engine_world.session()
    parent, (part,) = await put_family(session, [{"title": Named.FRUIT, "kind": Named.FRUIT}], title=Named.FRUIT)
    for obj in (parent, part):
        assert (type(obj.title), obj.title) == (str, "quince")
    assert evidence_ids(await session.search("quince")) == [part.id]
    assert not (await session.search("fruit")).objects


async def test_every_verb_refuses_a_missing_namespace_where_one_is_required(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    engine = engine_world.engine(store=store, config=EngineConfig(require_namespace=True))
    session = engine.session()
    calls: list[Call] = [
        lambda s: s.search("x"),
        lambda s: s.find_exact("x"),
        lambda s: s.find_objects("x"),
        lambda s: s.find_links("x", "x"),
        lambda s: s.continue_(uuid4()),
        lambda s: s.expand(uuid4()),
        lambda s: s.expand_many([uuid4()]),
        lambda s: s.read(uuid4()),
        lambda s: s.list_children(uuid4()),
        lambda s: s.put(Object(kind="x", namespace_id=engine_world.namespace)),
        lambda s: s.put_many([Object(kind="x")]),
        lambda s: s.soft_delete(uuid4()),
        lambda s: s.link(uuid4(), uuid4(), "x"),
        lambda s: s.unlink(uuid4(), uuid4(), "x"),
        lambda s: engine.project(s.scope),
    ]
    for call in calls:
        with pytest.raises(NamespaceRequiredError):
            await call(session)
    assert store.calls == []
    with pytest.raises(QueryRequiredError):
        await engine.search(engine_world.scope, SearchRequest(query=""), session.context)
