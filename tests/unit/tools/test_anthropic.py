"""Anthropic's shapes: tools, and a tool_result for each tool_use."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from brain_async import InvalidInputError
from brain_async.tools import run_anthropic_tool_use, to_anthropic
from tests.unit.tools.office import ADA, filled_toolset, parsed


async def test_tools_carry_the_specs_schema() -> None:
    specs = (await filled_toolset()).specs()
    for tool, spec in zip(to_anthropic(specs), specs, strict=True):
        assert tool == {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
        Draft202012Validator.check_schema(tool["input_schema"])
    assert all(tool["strict"] is True for tool in to_anthropic(specs, strict=True))


async def test_each_tool_use_has_its_result_and_a_failed_one_says_so() -> None:
    toolset = await filled_toolset()
    content = [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"object_id": str(ADA)}},
        {"type": "tool_use", "id": "t2", "name": "read", "input": {"object_id": "Ada"}},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    ]
    results = await run_anthropic_tool_use(toolset, content)
    assert results[0] == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": await toolset.call("read", {"object_id": str(ADA)}),
    }
    assert (results[1]["tool_use_id"], results[1]["is_error"]) == ("t2", True)
    assert parsed(results[1]["content"])["error"]["code"] == "invalid_id"
    assert len(results) == 2


async def test_the_sdks_blocks_are_read_as_well() -> None:
    toolset = await filled_toolset()
    block = SimpleNamespace(type="tool_use", id="t1", name="schema", input={})
    assert (await run_anthropic_tool_use(toolset, [block]))[0]["content"] == await toolset.call("schema")


async def test_a_tool_use_without_an_id_is_the_hosts_mistake() -> None:
    with pytest.raises(InvalidInputError, match=r"blocks\[1\] is no tool call: it has no id"):
        await run_anthropic_tool_use(await filled_toolset(), [{"type": "text"}, {"type": "tool_use"}])
    assert await run_anthropic_tool_use(await filled_toolset(), None) == []
