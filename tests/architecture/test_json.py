"""Whatever the library hands out encodes to strict JSON, which any parser reads."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn
from uuid import UUID

import msgspec
import pytest

import brain_async
from brain_async import (
    DegradeMode,
    EngineConfig,
    ExpandMode,
    FieldSpec,
    FieldType,
    FilterUsage,
    KindSchema,
    KindSpec,
    ResultSet,
    SearchContext,
)
from brain_async.adapters.memory import MemoryGraph, MemoryStore

STRUCTS = {
    name: value
    for name in brain_async.__all__
    if inspect.isclass(value := getattr(brain_async, name)) and issubclass(value, msgspec.Struct)
    if value is not EngineConfig  # holds the clock, a function
}

KEY = UUID(int=7)
NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, UTC)
PROPERTIES = {"text": 'é"\\\n\u2028', "n": 2**63 - 1, "x": 0.1, "none": None, "flag": True, "list": [1, {"a": []}]}


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def strictly_parsed(data: bytes) -> Any:
    return json.loads(data, parse_constant=refuse)


def _sample(kind: msgspec.inspect.Type, depth: int) -> Any:
    match kind:
        case msgspec.inspect.UnionType(types=types):
            named = [member for member in types if not isinstance(member, msgspec.inspect.NoneType)]
            return _sample(named[0], depth)
        case msgspec.inspect.StructType(cls=cls):
            return filled(cls, depth + 1)
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.CollectionType(item_type=item):
            return (_sample(item, depth),) if depth < 4 else ()
        case msgspec.inspect.TupleType(item_types=items):
            return tuple(_sample(item, depth) for item in items)
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            is_property_bag = isinstance(value, msgspec.inspect.AnyType)
            return PROPERTIES if is_property_bag else {_sample(key, depth): _sample(value, depth)}
        case msgspec.inspect.EnumType(cls=cls):
            return next(iter(cls))
        case msgspec.inspect.LiteralType(values=values):
            return values[0]
        case msgspec.inspect.UUIDType():
            return KEY
        case msgspec.inspect.DateTimeType():
            return NOW
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return 3
        case msgspec.inspect.FloatType():
            return 0.25
        case msgspec.inspect.StrType():
            return 'text "quoted" \u2028'
    raise AssertionError(f"no sample for {kind}")


FIELD = FieldSpec(name="n", type=FieldType.NUMBER, operators=("eq",), description="d", required=True, examples=("1",))
KIND = KindSpec(kind="deal", description="d", is_part=True, is_parent=True, fields=(FIELD,))

# A field's type is open to any text, which msgspec cannot inspect.
BY_HAND: dict[type, msgspec.Struct] = {
    FieldSpec: FIELD,
    KindSpec: KIND,
    KindSchema: KindSchema(kinds=(KIND,), filter_usage=FilterUsage(tools=("search",), note="n")),
}


def filled(cls: type[msgspec.Struct], depth: int = 0) -> msgspec.Struct:
    if cls in BY_HAND:
        return BY_HAND[cls]
    fields = msgspec.inspect.type_info(cls).fields  # type: ignore[union-attr]
    return cls(**{field.name: _sample(field.type, depth) for field in fields})


@pytest.mark.parametrize("name", STRUCTS)
def test_a_filled_struct_is_strict_json(name: str) -> None:
    value = filled(STRUCTS[name])
    parsed = strictly_parsed(msgspec.json.encode(value))
    assert isinstance(parsed, Mapping)
    assert set(parsed) <= {field.encode_name for field in msgspec.structs.fields(STRUCTS[name])}


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_is_frozen(name: str) -> None:
    assert STRUCTS[name].__struct_config__.frozen


@pytest.mark.parametrize("enum", [DegradeMode, ExpandMode, FieldType])
def test_enums_encode_as_their_value(enum: Any) -> None:
    for member in enum:
        assert strictly_parsed(msgspec.json.encode(member)) == member.value


async def test_what_the_verbs_return_is_strict_json() -> None:
    engine = brain_async.Engine(MemoryStore(), graph=MemoryGraph(), kinds=[brain_async.KindSpec(kind="thing")])
    session = engine.session(KEY)
    one = await session.put(brain_async.Object(kind="thing", title="lemon"))
    part = await session.put(brain_async.Object(kind="thing", content="lemon", parent_id=one.key))
    edge = await session.link(one.id, one.id, "about", note="n", confidence=0.5)
    returned = [
        one,
        edge,
        await session.search("lemon", explain=True, explain_ids=[part.key]),
        await session.find_exact(str(part.id)),
        await session.find_objects("lemon"),
        await session.find_links("about", "n"),
        await session.expand(one.id, ["contains", "about"]),
        await session.read(one.id),
        await session.put_many([brain_async.Object(kind="ghost")]),
        await engine.schema(),
    ]
    for value in returned:
        assert strictly_parsed(msgspec.json.encode(value))
    assert strictly_parsed(session.context.export() or b"")


async def test_an_exported_session_is_strict_json_with_every_field_set() -> None:
    context = SearchContext(KEY)
    result_set = filled(ResultSet)
    assert isinstance(result_set, ResultSet)
    await context.put_result_set(result_set)
    exported = context.export()
    assert exported is not None
    assert set(strictly_parsed(exported)) == {"namespace", "result_set"}
