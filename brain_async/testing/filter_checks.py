"""Checks of filters on every channel: exactly what they let through, and that they are pushed down."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec

from brain_async.model.filters import Filters, PropertyFilter
from brain_async.model.object import Object
from brain_async.model.scope import Scope
from brain_async.testing.channels import channels_of, findable, found_by
from brain_async.testing.subjects import BASE_TIME, CheckedStore, family, fresh_scope, new_parent, put_all

__all__ = ["CHECKS"]


async def check_selective_filters_still_fill_k(store: CheckedStore) -> None:
    """A filter that one part in fifty passes still gives k hits: it is pushed down, not applied after the cut."""
    scope = fresh_scope()
    parent, parts = family(
        scope,
        [
            findable(store, kind="rare" if n % 50 == 49 else "section", properties={"n": n % 50}, position=n)
            for n in range(600)
        ],
    )
    await put_all(store, scope, parent, *parts)
    wanted = {part.id for part in parts if part.kind == "rare"}
    by_property = Filters(properties=(PropertyFilter("n", (49,)),))
    for name, search in channels_of(store).items():
        for filters in (Filters(kinds=("rare",)), by_property):
            assert await found_by(search, scope, filters, 12) == wanted, f"{name} must fill k=12 through {filters}"


def _corpus_for_filters(store: CheckedStore, scope: Scope) -> list[Object]:
    first, first_parts = family(
        scope,
        [
            findable(store, kind="a", properties={"n": 1, "s": "x", "flag": True}),
            findable(store, kind="b", properties={"n": 2, "s": "X", "flag": False}),
            findable(store, kind="a", properties={"n": None, "s": "", "list": [1]}),
        ],
    )
    second, second_parts = family(
        scope,
        [
            findable(store, kind="A", title="Quarterly", updated_at=BASE_TIME + timedelta(microseconds=1)),
            findable(store, kind="b", title="quarterly report", updated_at=BASE_TIME - timedelta(microseconds=1)),
            findable(store, kind="b", properties={"n": 1.0, "odd key.'\"$": "v"}, updated_at=BASE_TIME),
        ],
    )
    won = msgspec.structs.replace(first, kind="deal", properties={"stage": "won", "n": 2})
    lost = msgspec.structs.replace(second, kind="deal", properties={"stage": "lost"})
    return [won, lost, *first_parts, *second_parts]


async def check_every_filter_on_every_channel(store: CheckedStore) -> None:
    """Each filter, and conjunctions of them, let exactly those parts through that ``Filters.matches`` does.

    Kinds and properties may be those of the parent.
    """
    scope = fresh_scope()
    objects = _corpus_for_filters(store, scope)
    await put_all(store, scope, *objects)
    parts = [obj for obj in objects if obj.is_part]
    parents = {obj.id: obj for obj in objects}
    moment = timedelta(microseconds=1)
    cases = [
        Filters(),
        Filters(kinds=("a",)),
        Filters(kinds=("a", "b", "missing")),
        Filters(kinds=()),
        Filters(kinds=("missing",)),
        Filters(kinds=("deal",)),
        Filters(own_kinds=("deal",)),
        Filters(own_kinds=("a", "b"), kinds=("deal", "A")),
        Filters(kinds=("deal",), properties=(PropertyFilter("stage", ("won",)),)),
        Filters(kinds=("b",), properties=(PropertyFilter("stage", ("won",)),)),
        Filters(kinds=("deal",), titles=("Quarterly",)),
        Filters(titles=("Quarterly report",)),
        Filters(titles=("Quarterly", "quarterly report")),
        Filters(titles=()),
        Filters(created_after=BASE_TIME),
        Filters(created_before=BASE_TIME),
        Filters(updated_after=BASE_TIME),
        Filters(updated_after=BASE_TIME + moment),
        Filters(updated_before=BASE_TIME),
        Filters(updated_before=BASE_TIME + moment),
        Filters(updated_after=BASE_TIME, updated_before=BASE_TIME + moment),
        Filters(created_after=BASE_TIME + moment, created_before=BASE_TIME + moment),
        Filters(properties=(PropertyFilter("n", (1,)),)),
        Filters(properties=(PropertyFilter("n", (1, 2)), PropertyFilter("s", ("x",)))),
        Filters(properties=(PropertyFilter("s", ("X", "")),)),
        Filters(properties=(PropertyFilter("flag", (False,)),)),
        Filters(properties=(PropertyFilter("list", (1,)),)),
        Filters(properties=(PropertyFilter("missing", (1,)),)),
        Filters(properties=(PropertyFilter("n", ()),)),
        Filters(properties=(PropertyFilter("odd key.'\"$", ("v",)),)),
        Filters(scope_ids=()),
        Filters(scope_ids=(objects[0].key,)),
        Filters(scope_ids=(objects[0].key, parts[4].key, uuid4())),
        Filters(scope_ids=(parts[1].key,), kinds=("b",)),
        Filters(scope_ids=(parts[1].key,), kinds=("a",)),
        Filters(exclude_ids=(objects[0].key,)),
        Filters(exclude_ids=(parts[4].key, uuid4()), kinds=("deal",)),
    ]
    for name, search in channels_of(store).items():
        for filters in cases:
            wanted = {part.id for part in parts if filters.matches(part, parents.get(part.parent_id))}
            assert await found_by(search, scope, filters) == wanted, f"{name} through {filters}"


async def check_filters_by_the_parent_follow_its_changes(store: CheckedStore) -> None:
    """What the parent is now decides, also for a part that came before it in the batch, or that moved to it."""
    scope = fresh_scope()
    deal, parts = family(scope, [findable(store), findable(store)], kind="deal", properties={"stage": "won"})
    note = new_parent(scope, kind="note")
    await put_all(store, scope, *parts, deal, note)
    won = Filters(kinds=("deal",), properties=(PropertyFilter("stage", ("won",)),))
    channels = channels_of(store)
    for name, search in channels.items():
        assert await found_by(search, scope, won) == {part.id for part in parts}, f"{name}, part before its parent"
    await put_all(store, scope, msgspec.structs.replace(parts[0], parent_id=note.id))
    for name, search in channels.items():
        assert await found_by(search, scope, won) == {parts[1].id}, f"{name}, after a part moved away"
        assert await found_by(search, scope, Filters(kinds=("note",))) == {parts[0].id}, (
            f"{name}, after a part moved here"
        )
    await put_all(store, scope, msgspec.structs.replace(deal, properties={"stage": "lost"}))
    for name, search in channels.items():
        assert await found_by(search, scope, won) == set(), f"{name}, after the parent changed"


async def check_types_of_property_values(store: CheckedStore) -> None:
    """1 and 1.0 are one number; '1' and True are neither it nor each other; huge and exact numbers do not blur."""
    scope = fresh_scope()
    values: list[Any] = [1, "1", True, 1.0, False, 0, 2**53, 2**53 + 1, 0.1, 1e6, 1_000_000, -0.0, "true", 1e-7]
    parent, parts = family(scope, [findable(store, properties={"n": value}) for value in values])
    await put_all(store, scope, parent, *parts)
    lists: list[tuple[Any, ...]] = [(value,) for value in values]
    lists += [(1, "x", False), ("1", True), (0.1, 10**6, 3)]
    for name, search in channels_of(store).items():
        for wanted_values in lists:
            filters = Filters(properties=(PropertyFilter("n", wanted_values),))
            wanted = {part.id for part in parts if filters.matches(part)}
            assert await found_by(search, scope, filters) == wanted, f"{name}: n in {wanted_values!r}"


async def check_long_filter_lists(store: CheckedStore) -> None:
    """Filters of 40,000 values work as short ones do."""
    scope = fresh_scope()
    parent, parts = family(scope, [findable(store, kind="k7", properties={"n": 7}) for _ in range(3)])
    await put_all(store, scope, parent, *parts)
    long = range(40_000)
    for filters in (
        Filters(scope_ids=(*(uuid4() for _ in long), parts[1].key)),
        Filters(kinds=tuple(f"k{n}" for n in long), scope_ids=(parts[1].key,)),
        Filters(titles=(*(f"t{n}" for n in long), parts[1].title), scope_ids=(parts[1].key,)),
    ):
        for name, search in channels_of(store).items():
            assert await found_by(search, scope, filters) == {parts[1].id}, name


CHECKS = (
    check_selective_filters_still_fill_k,
    check_every_filter_on_every_channel,
    check_filters_by_the_parent_follow_its_changes,
    check_types_of_property_values,
    check_long_filter_lists,
)
