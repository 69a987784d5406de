"""Filters mean the same in every verb and on every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from brain_async import FieldSpec, InvalidFilterError, KindSpec, Object, SearchPage, Session
from tests.integration.engine.world import World, evidence_ids, ids, put_family

VALUES: dict[str, Any] = {"integer": 1, "text": "1", "flag": True, "float": 1.0}
NUMBERS = {"integer", "float"}

TRUTH: list[tuple[Any, set[str]]] = [
    (1, NUMBERS),
    (1.0, NUMBERS),
    ("1", {"text"}),
    (True, {"flag"}),
    (False, set()),
    ("1.0", set()),
    ("true", set()),
    (0, set()),
    ([1, "x", False], NUMBERS),
    ([True, "1"], {"flag", "text"}),
    ([1, True, "1"], {"integer", "float", "flag", "text"}),
]


async def found_parts(session: Session, filters: dict[str, Any], names: dict[Any, str]) -> set[str]:
    """The names of the parts that search and find_exact find, which must agree."""
    pages: list[SearchPage] = [
        await session.search("lemon", filters=filters, channels=["lexical"]),
        await session.find_exact("lemon", filters=filters),
    ]
    found = [{names[part_id] for part_id in evidence_ids(page)} for page in pages]
    assert found[0] == found[1]
    return found[0]


def case_id(value: object) -> str:
    """A set's members in one order: two processes of the suite must call a test by the same name."""
    return repr(sorted(value) if isinstance(value, set) else value)


async def one_part_each(session: Session, fields: dict[str, dict[str, Any]]) -> dict[Any, str]:
    """A family of one part for each entry; the names by the part's id."""
    names = {}
    for name, part in fields.items():
        _, (stored,) = await put_family(session, [{"content": "lemon", **part}])
        names[stored.id] = name
    return names


@pytest.mark.on_helix
@pytest.mark.parametrize(("wanted", "matching"), TRUTH, ids=case_id)
async def test_a_value_matches_its_own_type_only(engine_world: World, wanted: Any, matching: set[str]) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {name: {"properties": {"n": value}} for name, value in VALUES.items()})
    assert await found_parts(session, {"n": wanted}, names) == matching
    entities = {}
    for name, value in VALUES.items():
        stored = await session.put(Object(kind="entity", title="melon", properties={"n": value}))
        entities[stored.id] = name
    page = await session.find_objects("melon", filters={"n": wanted})
    assert {entities[object_id] for object_id in ids(page)} == matching


@pytest.mark.parametrize("missing", [{}, {"n": None}, {"n": [1]}, {"n": {"a": 1}}])
async def test_missing_null_and_nested_values_match_nothing(engine_world: World, missing: dict[str, Any]) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"properties": missing}})
    assert await found_parts(session, {"n": [1, "1", True, ""]}, names) == set()


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [(10, 10.0), (1000000, 1000000.0), (1e22, 1e22), (2**53 + 1, 2**53 + 1), (0.1, 0.1), (-0.0, 0), (1e-7, 1e-7)],
)
async def test_numbers_match_by_value_however_they_are_written(engine_world: World, stored: Any, wanted: Any) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"properties": {"n": stored}}})
    assert await found_parts(session, {"n": wanted}, names) == {"part"}
    assert await found_parts(session, {"n": [10.0, 20, wanted]}, names) == {"part"}


async def test_numbers_are_not_rounded_to_match(engine_world: World) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"properties": {"n": 2**53}}})
    assert await found_parts(session, {"n": 2**53 + 1}, names) == set()


async def test_all_keys_must_match_and_texts_are_case_sensitive(engine_world: World) -> None:
    session = engine_world.session()
    names = await one_part_each(
        session,
        {
            "both": {"title": "T", "properties": {"a": "x", "b": 1}},
            "half": {"title": "T", "properties": {"a": "x", "b": 2}},
            "upper": {"title": "t", "properties": {"a": "X", "b": 1}},
        },
    )
    assert await found_parts(session, {"a": "x", "b": 1}, names) == {"both"}
    assert await found_parts(session, {"title": "T"}, names) == {"both", "half"}
    assert await found_parts(session, {"title": ["t", "zzz"]}, names) == {"upper"}
    assert await found_parts(session, {" a ": "x"}, names) == {"both", "half"}


@pytest.mark.parametrize(
    "value", ["it's", 'say "x"', "100%_", "a\\b", "{}", "null", "'; drop table x; --", "é☕", "$1"]
)
async def test_odd_texts_match_themselves(engine_world: World, value: str) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"title": value, "properties": {"p": value}}})
    assert await found_parts(session, {"p": value, "title": value}, names) == {"part"}
    assert await found_parts(session, {"p": value + "x"}, names) == set()


CATALOG = [
    KindSpec(kind="document"),
    KindSpec(
        kind="section",
        fields=(
            FieldSpec(name="number", type="number"),
            FieldSpec(name="text", type="string"),
            FieldSpec(name="flag", type="boolean"),
            FieldSpec(name="moment", type="datetime"),
        ),
    ),
    KindSpec(kind="other", fields=(FieldSpec(name="text", type="string"),)),
]

REFUSED = [
    {"number": "1"},
    {"number": True},
    {"text": 1},
    {"text": ["a", 1]},
    {"flag": "true"},
    {"flag": 1},
    {"flag": [True]},
    {"moment": "yesterday"},
    {"moment": 3},
    {"unknown": 1},
    {" text ": "a"},
]


@pytest.mark.parametrize("filters", REFUSED, ids=repr)
async def test_a_registered_field_takes_its_own_type_only(engine_world: World, filters: dict[str, Any]) -> None:
    session = engine_world.session(kinds=CATALOG)
    for verb in (session.search, session.find_exact, session.find_objects):
        with pytest.raises(InvalidFilterError) as caught:
            await verb("lemon", filters={"kind": "section", **filters})
        assert caught.value.field == next(iter(filters))


async def test_a_registered_field_matches(engine_world: World) -> None:
    session = engine_world.session(kinds=CATALOG)
    properties = {"number": 10, "text": "a", "flag": True, "moment": "2026-08-09T00:00:00Z"}
    names = await one_part_each(session, {"part": {"properties": properties}, "bare": {}})
    for filters in (
        {"number": [10.0, 20]},
        {"text": ["b", "a"]},
        {"flag": True},
        {"moment": "2026-08-09T00:00:00Z"},
        {"moment": datetime(2026, 8, 9, tzinfo=UTC)},
    ):
        assert await found_parts(session, {"kind": "section", **filters}, names) == {"part"}, filters
    with pytest.raises(InvalidFilterError):
        await session.search("lemon", filters={"number": 10})
    with pytest.raises(InvalidFilterError):
        await session.search("lemon", filters={"kind": ["section", "other"], "number": 10})
    assert await found_parts(session, {"kind": ["section", "other"], "text": "a"}, names) == {"part"}


# Dates

MOMENTS = {
    "before midnight": datetime(2026, 8, 8, 23, 59, 59, 999999, UTC),
    "midnight": datetime(2026, 8, 9, tzinfo=UTC),
    "next day": datetime(2026, 8, 9, 23, 30, tzinfo=timezone(timedelta(hours=-5))),
}

BOUNDS: list[tuple[dict[str, Any], set[str]]] = [
    ({"created_after": "2026-08-09"}, {"midnight", "next day"}),
    ({"created_before": "2026-08-09"}, {"before midnight"}),
    ({"created_after": "2026-08-09T00:00:00Z"}, {"midnight", "next day"}),
    ({"created_after": "2026-08-09T02:00:00+02:00"}, {"midnight", "next day"}),
    ({"created_after": "2026-08-09T00:00:00.000001Z"}, {"next day"}),
    ({"created_before": "2026-08-09T00:00:00.000001Z"}, {"before midnight", "midnight"}),
    ({"created_after": "2026-08-08T23:59:59.999999Z", "created_before": "2026-08-10"}, {"before midnight", "midnight"}),
    ({"created_after": datetime(2026, 8, 10, 4, 30, tzinfo=UTC)}, {"next day"}),
    ({"created_before": datetime(2026, 8, 10, 4, 30, tzinfo=UTC)}, {"before midnight", "midnight"}),
    ({"created_after": "2027-01-01"}, set()),
]


@pytest.mark.on_helix
@pytest.mark.parametrize(("filters", "matching"), BOUNDS, ids=case_id)
async def test_after_is_inclusive_and_before_exclusive(
    engine_world: World, filters: dict[str, Any], matching: set[str]
) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {name: {"created_at": moment} for name, moment in MOMENTS.items()})
    assert await found_parts(session, filters, names) == matching
    for name, moment in MOMENTS.items():
        await session.put(Object(kind="entity", title="melon", summary=name, created_at=moment))
    page = await session.find_objects("melon", filters=filters)
    assert {obj.summary for obj in page.objects} == matching


async def test_every_time_comes_back_aware_in_utc_to_the_microsecond(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, [{"content": "lemon", "created_at": at} for at in MOMENTS.values()])
    for part, moment in zip(parts, MOMENTS.values(), strict=True):
        read = await session.read(part.id)
        assert (read.created_at, read.created_at and read.created_at.utcoffset()) == (moment, timedelta(0))
        assert read.updated_at is not None
        assert read.updated_at.utcoffset() == timedelta(0)
    page = await session.search("lemon")
    assert page.objects[0].id == parent.id
    assert page.objects[0].created_at == (await session.read(parent.id)).created_at


async def test_updated_bounds_follow_the_last_put(engine_world: World) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"created_at": datetime(2020, 1, 1, tzinfo=UTC)}})
    assert await found_parts(session, {"updated_after": "2026-01-01", "created_before": "2021-01-01"}, names) == {
        "part"
    }
    assert await found_parts(session, {"updated_before": "2026-01-01"}, names) == set()


async def test_a_long_list_is_one_filter(engine_world: World) -> None:
    session = engine_world.session()
    names = await one_part_each(session, {"part": {"properties": {"n": 39_999}}, "other": {"properties": {"n": -1}}})
    assert await found_parts(session, {"n": list(range(40_000))}, names) == {"part"}
    kinds = [f"kind {number}" for number in range(40_000)]
    assert await found_parts(session, {"kind": [*kinds, "section"]}, names) == {"part", "other"}
    assert await found_parts(session, {"kind": kinds}, names) == set()
