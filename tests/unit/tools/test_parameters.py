"""Every argument that is wrong is named, with what would be right; no argument raises."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from brain_async import Engine, SearchContext
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.tools import Toolset, WriteKinds
from tests.unit.tools.office import ADA, WRITE_KINDS, filled_toolset, parsed, refused

LINK = {"from_id": str(ADA), "to_id": str(ADA), "relation_type": "x"}

WRONG: list[tuple[str, Any, str, str | None]] = [
    ("search", {}, "missing_argument", "query"),
    ("search", {"query": None}, "missing_argument", "query"),
    ("search", {"query": " \n"}, "missing_argument", "query"),
    ("search", {"query": "\x00"}, "query_required", "query"),
    ("search", {"query": 3}, "wrong_type", "query"),
    ("search", {"query": ["a"]}, "wrong_type", "query"),
    ("search", {"query": "x" * 2001}, "too_long", "query"),
    ("search", {"query": "a", "limit": "10"}, "wrong_type", "limit"),
    ("search", {"query": "a", "limit": True}, "wrong_type", "limit"),
    ("search", {"query": "a", "limit": 1.5}, "wrong_type", "limit"),
    ("search", {"query": "a", "q": 1}, "unknown_argument", "q"),
    ("search", {"query": "a", 7: 1}, "unknown_argument", "7"),
    ("search", {"query": "a", "scope_ids": str(ADA)}, "wrong_type", "scope_ids"),
    ("search", {"query": "a", "scope_ids": [str(ADA), "", "nope"]}, "invalid_id", "scope_ids[2]"),
    ("search", {"query": "a", "scope_ids": [str(ADA)] * 1001}, "too_long", "scope_ids"),
    ("search", {"query": "a", "filters": "kind=person"}, "wrong_type", "filters"),
    ("search", {"query": "a", "filters": ["kind"]}, "wrong_type", "filters[0]"),
    ("search", {"query": "a", "filters": [{"key": "kind"}]}, "missing_argument", "filters[0]"),
    ("search", {"query": "a", "filters": [{"key": 1, "value": 1}]}, "wrong_type", "filters[0].key"),
    (
        "search",
        {"query": "a", "filters": [{"key": "kind", "value": "fact", "op": "eq"}]},
        "unknown_argument",
        "filters[0]",
    ),
    (
        "search",
        {"query": "a", "filters": [{"key": "kind", "value": "fact"}, {"key": "kind", "value": "note"}]},
        "given_twice",
        "filters[1]",
    ),
    ("search", {"query": "a", "filters": {"kind": "ghost"}}, "invalid_kind", "filters.kind"),
    ("search", {"query": "a", "filters": {"kind": "person", "shoe": 1}}, "invalid_filter", "filters.shoe"),
    ("search", {"query": "a", "filters": {"kind": "person", "level": "x"}}, "invalid_filter", "filters.level"),
    ("search", {"query": "a", "filters": {"created_after": "soon"}}, "invalid_filter", "filters.created_after"),
    ("search", {"query": "a", "filters": {"title": float("nan")}}, "invalid_value", "filters.title"),
    ("search", {"query": "a", "filters": {str(n): 1 for n in range(201)}}, "too_long", "filters"),
    ("find_objects", {"query": "a", "kinds": "person"}, "wrong_type", "kinds"),
    ("find_objects", {"query": "a", "kinds": ["ghost"]}, "invalid_kind", "kinds"),
    ("find_objects", {"query": "a", "kinds": [1]}, "wrong_type", "kinds[0]"),
    ("find_links", {"query": "a"}, "missing_argument", "relation_type"),
    ("find_links", {"query": "a", "relation_type": "x" * 257}, "too_long", "relation_type"),
    ("read", {"object_id": "Ada"}, "invalid_id", "object_id"),
    ("read", {"object_id": str(UUID(int=0))}, "invalid_id", "object_id"),
    ("read", {"object_id": "{" + str(UUID(int=0)) + "}"}, "invalid_id", "object_id"),
    ("read", {"object_id": "١" * 32}, "invalid_id", "object_id"),
    ("read", {"object_id": ADA.int}, "wrong_type", "object_id"),
    ("read", {"object_id": ""}, "missing_argument", "object_id"),
    ("schema", {"kind": "ghost"}, "kind_not_found", "kind"),
    ("expand", {"object_id": str(ADA), "direction": "up"}, "invalid_choice", "direction"),
    ("expand", {"object_id": str(ADA), "direction": 1}, "invalid_choice", "direction"),
    ("expand", {"object_id": str(ADA), "max_hops": "2"}, "wrong_type", "max_hops"),
    ("expand", {"object_id": str(ADA), "want_containment": True}, "unknown_argument", "want_containment"),
    ("continue", {"result_set_id": str(ADA)}, "result_set_not_found", "result_set_id"),
    ("link", {**LINK, "confidence": float("inf")}, "invalid_value", "confidence"),
    ("link", {**LINK, "confidence": 10**400}, "invalid_value", "confidence"),
    ("link", {**LINK, "confidence": "high"}, "wrong_type", "confidence"),
    ("link", {**LINK, "note": "\x00"}, "invalid_value", "note"),
    ("link", {**LINK, "status": "\ud800"}, "invalid_value", "status"),
    ("save_fact", {"summary": "x"}, "missing_argument", "title"),
    ("save_fact", {"title": "x" * 1001}, "too_long", "title"),
    ("save_fact", {"title": "x", "kind": "person"}, "unknown_argument", "kind"),
    ("save_fact", {"title": "a\x00b"}, "invalid_value", "title"),
    ("save_discovery", {"title": "x"}, "missing_argument", "parent_id"),
    ("save_memory", {"title": "x", "parent_id": str(ADA)}, "unknown_argument", "parent_id"),
    ("save_memory", {"title": "x"}, "missing_argument", "properties"),
    ("search", '{"query": ', "invalid_json", None),
    ("search", '{"query": "a", "limit": NaN}', "invalid_json", None),
    ("search", "[" * 100_000, "invalid_json", None),
    ("search", b"\xff\xfe", "invalid_json", None),
    ("search", '["loom"]', "wrong_type", None),
    ("search", ["loom"], "wrong_type", None),
    ("search", '"' + "x" * 4_000_000 + '"', "too_long", None),
    ("search", "", "missing_argument", "query"),
    ("search", "null", "missing_argument", "query"),
    ("Search", {"query": "a"}, "unknown_tool", None),
    ("", {"query": "a"}, "unknown_tool", None),
]


@pytest.mark.parametrize(("tool", "arguments", "code", "argument"), WRONG)
async def test_a_wrong_argument_is_named(tool: str, arguments: Any, code: str, argument: str | None) -> None:
    error = await refused(await filled_toolset(), tool, arguments)
    assert (error["code"], error.get("argument")) == (code, argument)
    if code != "unknown_tool":
        assert error["message"].startswith(f"{tool}: ")
    if argument is not None and code not in ("query_required", "invalid_value"):
        assert error.get("hint") or code == "invalid_filter", "says what would be right"


async def test_an_error_never_quotes_more_than_a_model_can_use() -> None:
    toolset = await filled_toolset()
    properties = {"since": "2020-01-01", "x" * 100_000: 1}
    error = await refused(toolset, "save_memory", {"title": "x", "properties": properties})
    assert error["code"] == "invalid_object"
    assert sum(map(len, error.values())) < 3_000
    assert len((await refused(toolset, "search", {"q" * 100_000: 1}))["message"]) < 200


@pytest.mark.parametrize("name", [None, 3, ["search"], "\ud800"])
async def test_a_name_that_is_no_name_is_an_unknown_tool(name: Any) -> None:
    error = await refused(await filled_toolset(), name, {})
    assert error["code"] == "unknown_tool"
    assert "search" in error["hint"]


@pytest.mark.parametrize("arguments", [None, "", "  ", "null", {}, "{}", b"{}"])
async def test_no_arguments_are_no_arguments(arguments: Any) -> None:
    assert "kinds" in parsed(await (await filled_toolset()).call("schema", arguments))


async def test_null_is_as_good_as_left_out_and_whole_floats_are_whole_numbers() -> None:
    toolset = await filled_toolset()
    nulls = dict.fromkeys(("filters", "limit", "scope_ids"))
    assert parsed(await toolset.call("search", {"query": "loom", **nulls}))["objects"]
    one = parsed(await toolset.call("search", '{"query": "loom", "limit": 1.0}'))
    assert len(one["objects"]) == 1
    braces = parsed(await toolset.call("read", {"object_id": "{" + str(ADA) + "}"}))
    assert braces["id"] == str(ADA)


async def test_a_limit_is_held_within_what_the_engine_gives() -> None:
    toolset = await filled_toolset()
    for limit in (0, -5, 10**30):
        assert len(parsed(await toolset.call("search", {"query": "loom", "limit": limit}))["objects"]) == 2


async def all_specs() -> list[Any]:
    bare = Toolset(Engine(MemoryStore(), graph=MemoryGraph()), SearchContext(), write_kinds=WriteKinds(fact="f"))
    return [*(await filled_toolset()).specs(), *bare.specs()]


ALLOWED = {"type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}


def check_subset(schema: dict[str, Any], where: str) -> None:
    assert set(schema) <= ALLOWED, where
    assert ("type" in schema) != ("anyOf" in schema), where
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False, where
        assert set(schema["required"]) <= set(schema["properties"]), where
    for name, each in schema.get("properties", {}).items():
        check_subset(each, f"{where}.{name}")
    for each in schema.get("anyOf", []):
        check_subset(each, where)
    if schema.get("type") == "array":
        check_subset(schema["items"], f"{where}[]")


async def test_the_schemas_are_json_schema_and_keep_to_what_strict_modes_read() -> None:
    for spec in await all_specs():
        Draft202012Validator.check_schema(spec.parameters)
        check_subset(spec.parameters, spec.name)
        assert all(each["description"] for each in spec.parameters["properties"].values())
        assert json.loads(json.dumps(spec.parameters)) == spec.parameters


async def test_the_schema_names_the_registered_kinds_and_their_fields() -> None:
    specs = {spec.name: spec.parameters["properties"] for spec in (await filled_toolset()).specs()}
    keys = specs["search"]["filters"]["items"]["properties"]["key"]["enum"]
    assert keys[:2] == ["kind", "title"]
    assert set(keys[6:]) == {"team", "level", "remote", "since"}
    assert specs["find_objects"]["kinds"]["items"]["enum"] == ["fact", "note", "person", "project"]
    properties = specs["save_memory"]["properties"]
    assert {name: each["type"] for name, each in properties["properties"].items()} == {
        "team": "string",
        "level": "number",
        "remote": "boolean",
        "since": "string",
    }
    assert properties["required"] == ["since"]
    assert properties["properties"]["team"]["description"] == "Where they work; such as engines"
    assert "properties" not in specs["save_fact"], "a kind without fields has no properties to give"


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([str(ADA), "kind"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ARGUMENT_NAMES = [
    "query", "filters", "limit", "scope_ids", "kinds", "object_id", "relation_types", "relation_type", "max_hops",
    "direction", "result_set_id", "kind", "title", "summary", "content", "content_type", "properties", "parent_id",
    "from_id", "to_id", "note", "status", "role", "confidence", "evidence_id",
]  # fmt: skip
TOOLS = [
    "read", "schema", "search", "find_exact", "find_objects", "find_links", "continue", "expand", "save_discovery",
    "save_fact", "save_memory", "link",
]  # fmt: skip


@pytest.fixture(scope="module")
async def toolset() -> Toolset:
    return await filled_toolset(write_kinds=WRITE_KINDS)


@given(st.sampled_from(TOOLS), st.data())
@settings(max_examples=400)
async def test_any_arguments_give_strict_json_and_never_an_internal_error(
    toolset: Toolset, tool: str, data: st.DataObject
) -> None:
    properties = next(spec for spec in toolset.specs() if spec.name == tool).parameters["properties"]
    names = st.sampled_from([*properties]) | st.sampled_from(ARGUMENT_NAMES)
    arguments = data.draw(st.dictionaries(names, JSON_VALUES, max_size=4))
    value = parsed(await toolset.call(tool, arguments))
    assert value.get("error", {}).get("code") != "internal_error", value


@given(st.text(max_size=60) | st.binary(max_size=60))
@settings(max_examples=200)
async def test_any_text_gives_strict_json(toolset: Toolset, arguments: str | bytes) -> None:
    value = parsed(await toolset.call("search", arguments))
    assert value.get("error", {}).get("code") != "internal_error", value
