"""Find: walks of the ledger that end in objects, seen from a scope."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.cortex import EdgeExpr, EdgeType, FindResult, Ledger, NewEdge, PathStep, Query, format_uri
from brain_async.errors import (
    BrainError,
    InvalidEdgeTypeError,
    InvalidValueError,
    ObjectIdRequiredError,
    ObjectNotFoundError,
    UnboundedQueryError,
    UnsupportedQueryError,
)
from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.relation import Relation
from brain_async.model.scope import Scope
from tests.unit.cortex.samples import NOW, A, B, C, D, E, fresh

REF, PART = EdgeType.REFERENCES, EdgeType.PART_OF
HOME, ELSEWHERE = Scope(UUID(int=77)), Scope(UUID(int=78))


async def put(objects: MemoryStore, scope: Scope, key: UUID, title: str, kind: str = "deal", **fields: Any) -> None:
    stored = Object(
        id=key, kind=kind, title=title, namespace_id=scope.namespace_id, created_at=NOW, updated_at=NOW, **fields
    )
    assert isinstance((await objects.put_objects(scope, [stored]))[0], Object)


@pytest.fixture
async def world() -> tuple[Ledger, MemoryStore]:
    """A -> B -> D, A -> C -> D -> E, and B in another namespace's sight too."""
    _, ledger = fresh()
    objects = MemoryStore()
    await put(objects, HOME, A, "start", summary="s" * 40, content="c" * 400)
    await put(objects, HOME, B, "zebra", properties={"stage": "won"}, content="c" * 400)
    await put(objects, HOME, C, "apple", kind="person", properties={"stage": "lost"}, content="c" * 400)
    await put(objects, HOME, D, "mango", properties={"stage": "won"}, content="c" * 400)
    await put(objects, HOME, E, "berry", content="c" * 400)
    label = await ledger.register_label("about")
    await ledger.add_edges(
        [NewEdge(A, REF, B), NewEdge(A, PART, C), NewEdge(B, label, D), NewEdge(C, REF, D), NewEdge(D, REF, E)]
    )
    return ledger, objects


async def found(world: tuple[Ledger, MemoryStore], scope: Scope = HOME, **query: Any) -> FindResult:
    ledger, objects = world
    return await ledger.find(Query(**({"limit": 10} | query)), scope=scope, objects=objects)


def ids(result: FindResult) -> list[UUID]:
    return [obj.id for obj in result.objects]


def hops(least: int, most: int, **fields: Any) -> EdgeExpr:
    return EdgeExpr(min_hops=least, max_hops=most, **fields)


async def test_without_follow_it_is_one_hop_out(world: tuple[Ledger, MemoryStore]) -> None:
    result = await found(world, from_=format_uri("deal", A))
    assert ids(result) == [B, C]
    assert result.hops == {B: 1, C: 1}
    assert result.edges_scanned == 2
    assert (result.has_more, result.truncated) == (False, False)
    assert result.objects[0].relation == Relation(type="references", direction="out", depth=1, source_id=A)


async def test_objects_come_by_hops_with_the_path_they_were_reached_by(world: tuple[Ledger, MemoryStore]) -> None:
    result = await found(world, from_=A, follow=hops(1, 6))
    assert ids(result) == [B, C, D, E]
    assert result.hops == {B: 1, C: 1, D: 2, E: 3}
    assert result.edges_scanned == 5
    assert result.paths[E] == (
        PathStep(type="references", direction="out", object_id=B),
        PathStep(type="about", direction="out", object_id=D),
        PathStep(type="references", direction="out", object_id=E),
    )
    back = await found(world, from_=E, follow=hops(2, 3, direction="in"))
    assert ids(back) == [C, B, A]
    assert back.paths[C] == (
        PathStep(type="references", direction="in", object_id=D),
        PathStep(type="references", direction="in", object_id=C),
    )
    assert ids(await found(world, from_=A, follow=hops(1, 6, types=("about", REF)))) == [B, D, E]


async def test_kinds_and_filters_choose_what_is_returned_not_what_is_walked(world: tuple[Ledger, MemoryStore]) -> None:
    assert ids(await found(world, from_=A, follow=hops(1, 3), types=("deal",))) == [B, D, E]
    won = Filters(properties=(PropertyFilter("stage", ("won",)),))
    assert ids(await found(world, from_=A, follow=hops(2, 3), where=won)) == [D]
    assert ids(await found(world, from_=A, follow=hops(1, 3), types=("person",), where=won)) == []


async def test_limit_offset_and_order(world: tuple[Ledger, MemoryStore]) -> None:
    follow = hops(1, 3)
    first = await found(world, from_=A, follow=follow, limit=2)
    assert (ids(first), first.has_more, set(first.hops)) == ([B, C], True, {B, C})
    rest = await found(world, from_=A, follow=follow, limit=2, offset=2)
    assert (ids(rest), rest.has_more) == ([D, E], False)
    assert ids(await found(world, from_=A, follow=follow, offset=9)) == []
    assert ids(await found(world, from_=A, follow=follow, order_by="title")) == [C, E, D, B]
    assert ids(await found(world, from_=A, follow=follow, order_by="title", descending=True, limit=2)) == [B, D]


async def test_a_walk_ends_when_it_has_enough(world: tuple[Ledger, MemoryStore]) -> None:
    result = await found(world, from_=A, follow=hops(1, 6), limit=1)
    assert (ids(result), result.edges_scanned) == ([B], 2)
    short = await found(world, from_=A, follow=hops(1, 6), max_edges=3)
    assert (ids(short), short.truncated) == ([B, C, D], True)


async def test_forms(world: tuple[Ledger, MemoryStore]) -> None:
    short, medium, full = [(await found(world, from_=A, form=form)).objects[0] for form in ("short", "medium", "full")]
    assert (short.title, short.properties, short.created_at, short.content) == ("zebra", {}, None, "")
    assert (medium.properties, medium.created_at, medium.content) == ({"stage": "won"}, NOW, "")
    assert full == msgspec.structs.replace(medium, content="c" * 400)
    assert short.relation == medium.relation == full.relation != None  # noqa: E711


async def test_a_budget_of_tokens_ends_before_the_object_that_exceeds_it(world: tuple[Ledger, MemoryStore]) -> None:
    everything = await found(world, from_=A, follow=hops(1, 3), form="full")
    costs = [-(-len(msgspec.json.encode(obj)) // 4) for obj in everything.objects]
    assert everything.tokens == sum(costs)
    for count in range(5):
        budget = max(1, sum(costs[:count]))
        part = await found(world, from_=A, follow=hops(1, 3), form="full", limit=None, budget_tokens=budget)
        assert part.objects == everything.objects[:count]
        assert part.tokens <= budget
        assert part.has_more is (count < 4)


async def test_nothing_outside_the_scope_is_returned_or_walked_through(world: tuple[Ledger, MemoryStore]) -> None:
    ledger, objects = world
    with pytest.raises(ObjectNotFoundError):
        await found(world, scope=ELSEWHERE, from_=A)
    foreign = UUID(int=50)
    await put(objects, ELSEWHERE, foreign, "foreign")
    ghost = UUID(int=51)
    await ledger.add_edges([NewEdge(A, REF, foreign), NewEdge(foreign, REF, E), NewEdge(A, REF, ghost)])
    assert (await found(world, from_=A, follow=hops(1, 2))).hops == {B: 1, C: 1, D: 2}
    assert (await found(world, scope=Scope(), from_=A, follow=hops(1, 2))).hops == {B: 1, C: 1, foreign: 1, D: 2, E: 2}
    await objects.soft_delete(HOME, B, at=NOW)
    await objects.soft_delete(HOME, C, at=NOW)
    assert ids(await found(world, from_=A, follow=hops(1, 6))) == []


async def test_without_a_start_objects_are_listed(world: tuple[Ledger, MemoryStore]) -> None:
    result = await found(world, types=("deal",))
    assert (ids(result), result.hops, result.paths, result.edges_scanned) == ([A, B, D, E], {}, {}, 0)
    assert ids(await found(world, limit=2, offset=1)) == [B, C]
    assert ids(await found(world, scope=ELSEWHERE)) == []


@pytest.mark.parametrize(
    ("query", "error", "field"),
    [
        ({"follow": EdgeExpr()}, UnsupportedQueryError, "from_"),
        ({"from_": A, "limit": None}, UnboundedQueryError, "limit"),
        ({"from_": A, "follow": hops(1, 7)}, UnsupportedQueryError, "max_hops"),
        ({"from_": A, "follow": hops(1, 99)}, UnsupportedQueryError, "max_hops"),
        ({"from_": A, "follow": hops(2, 1)}, UnsupportedQueryError, "max_hops"),
        ({"from_": A, "follow": hops(1, 1, direction="up")}, UnsupportedQueryError, "direction"),
        ({"from_": A, "follow": hops(1, 1, types=("unknown",))}, InvalidEdgeTypeError, "type"),
        ({"from_": A, "limit": 0}, InvalidValueError, "limit"),
        ({"from_": A, "limit": True}, InvalidValueError, "limit"),
        ({"from_": A, "offset": -1}, InvalidValueError, "offset"),
        ({"from_": A, "budget_tokens": 0}, InvalidValueError, "budget_tokens"),
        ({"from_": A, "max_edges": 0}, InvalidValueError, "max_edges"),
        ({"from_": A, "form": "long"}, InvalidValueError, "form"),
        ({"from_": "deal"}, InvalidValueError, "uri"),
        ({"from_": UUID(int=0)}, ObjectIdRequiredError, "from_"),
        ({"from_": UUID(int=99)}, ObjectNotFoundError, None),
        ({"from_": format_uri("person", A)}, ObjectNotFoundError, None),
    ],
)
async def test_bad_queries(
    world: tuple[Ledger, MemoryStore], query: dict[str, Any], error: type[BrainError], field: str | None
) -> None:
    with pytest.raises(error) as caught:
        await found(world, **query)
    assert getattr(caught.value, "field", None) == field
