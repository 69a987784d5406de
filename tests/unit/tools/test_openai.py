"""OpenAI's shapes: strict tools for both APIs, and answers that carry the id of their call."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from brain_async import InvalidInputError
from brain_async.tools import run_openai_function_calls, run_openai_tool_calls, to_openai
from tests.unit.tools.office import ADA, LOOM, filled_toolset, parsed


def check_strict(schema: dict[str, Any]) -> None:
    """Every object is closed and requires all it has, at any depth."""
    kinds = schema.get("type", [])
    if "object" in ([kinds] if isinstance(kinds, str) else kinds):
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    for each in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
        check_strict(each)
    if "items" in schema:
        check_strict(schema["items"])


async def test_strict_schemas_require_everything_and_let_the_optional_be_null() -> None:
    specs = (await filled_toolset()).specs()
    tools = to_openai(specs)
    assert [tool["function"]["name"] for tool in tools] == [spec.name for spec in specs]
    for tool in tools:
        assert set(tool) == {"type", "function"}
        assert tool["function"]["strict"] is True
        Draft202012Validator.check_schema(tool["function"]["parameters"])
        check_strict(tool["function"]["parameters"])
    search = next(tool["function"]["parameters"] for tool in tools if tool["function"]["name"] == "search")
    assert search["properties"]["query"]["type"] == "string"
    assert search["properties"]["limit"]["type"] == ["integer", "null"]
    expand = next(tool["function"]["parameters"] for tool in tools if tool["function"]["name"] == "expand")
    assert expand["properties"]["direction"]["enum"] == ["out", "in", "both", None]
    memory = next(tool["function"]["parameters"] for tool in tools if tool["function"]["name"] == "save_memory")
    fields = memory["properties"]["properties"]["properties"]
    assert (fields["since"]["type"], fields["team"]["type"]) == ("string", ["string", "null"])


async def test_making_a_schema_strict_leaves_the_spec_as_it_was() -> None:
    toolset = await filled_toolset()
    specs = toolset.specs()
    to_openai(specs)
    assert specs == toolset.specs()


async def test_without_strict_the_schema_is_the_specs() -> None:
    specs = (await filled_toolset()).specs()
    for tool, spec in zip(to_openai(specs, api="responses", strict=False), specs, strict=True):
        assert tool == {
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "strict": False,
        }


async def test_every_argument_given_as_null_is_read_as_left_out() -> None:
    toolset = await filled_toolset()
    search = next(tool for tool in to_openai(toolset.specs(), api="responses") if tool["name"] == "search")
    arguments = {**dict.fromkeys(search["parameters"]["required"]), "query": "loom"}
    Draft202012Validator(search["parameters"]).validate(arguments)
    assert len(parsed(await toolset.call("search", json.dumps(arguments)))["objects"]) == 2


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


async def test_tool_calls_are_answered_in_their_order_with_their_ids() -> None:
    toolset = await filled_toolset()
    read = json.dumps({"object_id": str(ADA)})
    message = {
        "role": "assistant",
        "tool_calls": [chat_call("c1", "read", read), chat_call("c2", "search", "{"), chat_call("c3", "schema", "")],
    }
    answers = await run_openai_tool_calls(toolset, message["tool_calls"])  # type: ignore[arg-type]
    assert [(answer["role"], answer["tool_call_id"]) for answer in answers] == [
        ("tool", "c1"),
        ("tool", "c2"),
        ("tool", "c3"),
    ]
    assert answers[0]["content"] == await toolset.call("read", read)
    assert parsed(answers[1]["content"])["error"]["code"] == "invalid_json"
    assert "kinds" in parsed(answers[2]["content"])


async def test_the_sdks_objects_are_read_as_well() -> None:
    toolset = await filled_toolset()
    arguments = json.dumps({"object_id": str(LOOM)})
    function = SimpleNamespace(name="read", arguments=arguments)
    call = SimpleNamespace(id="c1", type="function", function=function)
    item = SimpleNamespace(type="function_call", call_id="c2", name="read", arguments=arguments)
    expected = await toolset.call("read", arguments)
    assert (await run_openai_tool_calls(toolset, [call]))[0]["content"] == expected
    assert await run_openai_function_calls(toolset, [item]) == [
        {"type": "function_call_output", "call_id": "c2", "output": expected}
    ]


async def test_of_a_response_only_the_function_calls_are_answered() -> None:
    toolset = await filled_toolset()
    output = [
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "schema", "arguments": "{}"},
        {"type": "message", "id": "m1", "content": []},
        {"type": "function_call", "id": "f2", "call_id": "c2", "name": "nope", "arguments": "{}"},
    ]
    answers = await run_openai_function_calls(toolset, output)
    assert [answer["call_id"] for answer in answers] == ["c1", "c2"]
    assert parsed(answers[1]["output"])["error"]["code"] == "unknown_tool"


async def test_a_call_of_another_type_is_an_unknown_tool() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    answers = await run_openai_tool_calls(await filled_toolset(), [custom])
    assert parsed(answers[0]["content"])["error"]["code"] == "unknown_tool"


async def test_no_calls_have_no_answers() -> None:
    toolset = await filled_toolset()
    assert await run_openai_tool_calls(toolset, None) == await run_openai_function_calls(toolset, []) == []


@pytest.mark.parametrize("call", [{}, {"id": ""}, {"id": 3}, None, "x"])
async def test_a_call_that_cannot_be_answered_is_the_hosts_mistake(call: Any) -> None:
    toolset = await filled_toolset()
    with pytest.raises(InvalidInputError, match=r"tool_calls\[0\] is no tool call: it has no id"):
        await run_openai_tool_calls(toolset, [call])
    with pytest.raises(InvalidInputError, match=r"items\[0\] is no tool call: it has no call_id"):
        await run_openai_function_calls(toolset, [{"type": "function_call"}])
