"""Kinds: register, apply, load, sync, freeze, schema."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import (
    CatalogFrozenError,
    Engine,
    FieldSpec,
    FieldType,
    InvalidKindError,
    KindNotFoundError,
    KindSpec,
    KindWritesUnsupportedError,
    StoreRequiredError,
)
from tests.integration.engine.world import FaultyStore, World


def spec(name: str, **fields: str) -> KindSpec:
    return KindSpec(kind=name, fields=tuple(FieldSpec(name=key, type=value) for key, value in fields.items()))


def unique(stem: str) -> str:
    """A kind name of this test only: durable kinds are shared by all namespaces."""
    return f"{stem}_{uuid4().hex}"


class Reader:
    """A store that can only read objects."""

    get = get_many = hydrate = list_children = scan = None


async def test_the_catalog_is_sorted_and_normalised(engine_world: World) -> None:
    engine = engine_world.engine(kinds=[spec(" zebra "), spec("ant", n="number", flag="boolean")])
    assert [kind.kind for kind in engine.catalog] == ["ant", "zebra"]
    assert [field.operators for field in engine.catalog[0].fields] == [("eq", "in"), ("eq",)]
    assert engine.catalog[0].fields[0].type is FieldType.NUMBER


def test_a_bad_kind_fails_the_construction() -> None:
    with pytest.raises(InvalidKindError):
        Engine(Reader(), kinds=[spec("a"), spec("a")])  # type: ignore[arg-type]
    with pytest.raises(StoreRequiredError):
        Engine(None)  # type: ignore[arg-type]


async def test_register_adds_and_replaces(engine_world: World) -> None:
    engine = engine_world.engine(kinds=[spec("a", x="string"), spec("b")])
    engine.register_kinds([spec("a", y="number"), spec("c")])
    assert [kind.kind for kind in engine.catalog] == ["a", "b", "c"]
    assert [field.name for field in engine.catalog[0].fields] == ["y"]


async def test_apply_writes_to_the_store_and_replaces_the_catalog(engine_world: World) -> None:
    engine = engine_world.engine(kinds=[spec("old")])
    one, two = unique("one"), unique("two")
    await engine.apply_kinds([spec(two, n="number"), spec(one)])
    assert [kind.kind for kind in engine.catalog] == [one, two]
    await engine.apply_kinds([spec(one)])
    durable = [kind.kind for kind in await engine_world.store.list_kinds()]
    assert {one, two} <= set(durable), "kinds that are not in the batch stay in the store"
    assert durable == sorted(durable)


async def test_load_makes_the_stores_kinds_the_catalog(engine_world: World) -> None:
    name = unique("durable")
    await engine_world.engine().apply_kinds([spec(name, n="number")])
    other = engine_world.engine(kinds=[spec("process_only")])
    await other.load_kinds_from_store()
    loaded = {kind.kind: kind for kind in other.catalog}
    assert "process_only" not in loaded
    assert loaded[name] == spec(name, n="number").__class__(
        kind=name, fields=(FieldSpec(name="n", type=FieldType.NUMBER, operators=("eq", "in")),)
    )


async def test_sync_pushes_the_catalog(engine_world: World) -> None:
    name = unique("synced")
    engine = engine_world.engine(kinds=[spec(name)])
    await engine.sync_kinds_to_store()
    assert name in {kind.kind for kind in await engine_world.store.list_kinds()}


async def test_a_frozen_catalog_refuses_every_change_before_writing(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    engine = engine_world.engine(store=store)
    engine.freeze_catalog()
    with pytest.raises(CatalogFrozenError):
        engine.register_kinds([spec("a")])
    with pytest.raises(CatalogFrozenError):
        await engine.apply_kinds([spec("a")])
    with pytest.raises(CatalogFrozenError):
        await engine.load_kinds_from_store()
    assert store.calls == []


async def test_a_bad_batch_changes_nothing(engine_world: World) -> None:
    store = FaultyStore(engine_world.store)
    engine = engine_world.engine(store=store, kinds=[spec("a")])
    for bad in ([spec("b"), spec(" ")], [spec("b"), spec("b")], [spec("b", kind="string")], [spec("b", n="text")]):
        with pytest.raises(InvalidKindError):
            await engine.apply_kinds(bad)
        with pytest.raises(InvalidKindError):
            engine.register_kinds(bad)
    assert [kind.kind for kind in engine.catalog] == ["a"]
    assert store.calls == []


async def test_a_store_without_kinds(engine_world: World) -> None:
    engine = Engine(Reader())  # type: ignore[arg-type]
    await engine.apply_kinds([spec("a")])
    assert [kind.kind for kind in engine.catalog] == ["a"]
    with pytest.raises(KindWritesUnsupportedError):
        await engine.load_kinds_from_store()
    with pytest.raises(KindWritesUnsupportedError):
        await engine.sync_kinds_to_store()


async def test_schema_lists_the_catalog_or_else_the_store(engine_world: World) -> None:
    name = unique("durable")
    await engine_world.engine().apply_kinds([spec(name, n="number")])
    bare = engine_world.engine()
    assert name in {kind.kind for kind in (await bare.schema()).kinds}
    assert [kind.kind for kind in (await bare.schema(f" {name} ")).kinds] == [name]
    registered = engine_world.engine(kinds=[spec("own")])
    assert [kind.kind for kind in (await registered.schema()).kinds] == ["own"]
    for missing in ("Own", name):
        with pytest.raises(KindNotFoundError, match=missing):
            await registered.schema(missing)


async def test_schema_says_how_to_filter(engine_world: World) -> None:
    usage = (await engine_world.engine(kinds=[spec("a")]).schema()).filter_usage
    assert usage.tools == ("search", "find_exact", "find_objects")
    for key in ("kind", "title", "created_after", "created_before", "updated_after", "updated_before", "schema"):
        assert key in usage.note
