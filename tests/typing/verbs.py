"""What the verbs return is known to a type checker, from an engine and from a session alike: checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type
from uuid import UUID

from brain_async import (
    Edge,
    Engine,
    ExpandManyRequest,
    ExpandRequest,
    FindLinksRequest,
    FindObjectsRequest,
    KindSchema,
    LinkHit,
    Object,
    PutManyResult,
    RichObject,
    Scope,
    SearchContext,
    SearchPage,
    SearchRequest,
    Session,
)


async def of_an_engine(engine: Engine, scope: Scope, key: UUID, obj: Object, context: SearchContext) -> None:
    assert_type(engine.session(key), Session)
    assert_type(await engine.search(scope, SearchRequest(query="x"), context), SearchPage)
    assert_type(await engine.find_exact(scope, SearchRequest(query="x"), context), SearchPage)
    assert_type(await engine.find_objects(scope, FindObjectsRequest(query="x"), context), SearchPage)
    assert_type(await engine.find_links(scope, FindLinksRequest(relation_type="x", query="x")), list[LinkHit])
    assert_type(await engine.continue_(scope, key, context), SearchPage)
    assert_type(await engine.expand(scope, ExpandRequest(object_id=key)), SearchPage)
    assert_type(await engine.expand_many(scope, ExpandManyRequest(seed_ids=[key])), list[RichObject])
    assert_type(await engine.read(scope, key), RichObject)
    assert_type(await engine.list_children(scope, key), list[RichObject])
    assert_type(await engine.put(scope, obj), Object)
    assert_type(await engine.put_many(scope, [obj]), PutManyResult)
    assert_type(await engine.link(scope, key, key, "x"), Edge)
    assert_type(await engine.project(scope), tuple[int, int])
    assert_type(await engine.schema(), KindSchema)


async def of_a_session(session: Session, key: UUID, obj: Object) -> None:
    assert_type(await session.search("x", filters={"kind": "deal"}, limit=5), SearchPage)
    assert_type(await session.find_exact("x"), SearchPage)
    assert_type(await session.find_objects("x", kinds=["deal"]), SearchPage)
    assert_type(await session.find_links("x", "x"), list[LinkHit])
    assert_type(await session.continue_(), SearchPage)
    assert_type(await session.expand(key, ["about"]), SearchPage)
    assert_type(await session.expand_many([key]), list[RichObject])
    assert_type(await session.read(key), RichObject)
    assert_type(await session.put(obj), Object)
    assert_type(await session.put_many([obj]), PutManyResult)
    assert_type(await session.link(key, key, "x", note="why"), Edge)
