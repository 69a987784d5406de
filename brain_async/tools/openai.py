"""OpenAI's shapes, without its SDK: tools for both of its APIs, and the answers to the calls that a model makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from brain_async.tools.calls import field, required_text
from brain_async.tools.spec import ToolSpec
from brain_async.tools.toolset import Toolset

__all__ = ["run_openai_function_calls", "run_openai_tool_calls", "to_openai"]


def to_openai(
    specs: Sequence[ToolSpec], *, api: Literal["chat", "responses"] = "chat", strict: bool = True
) -> list[dict[str, Any]]:
    """The ``tools`` of a request to chat completions or to Responses.

    With ``strict`` the model is held to the schema, which then lists every argument as required and lets optional ones be
    null, as strict mode wants; the toolset reads null as left out.
    """
    functions = [
        {
            "name": spec.name,
            "description": spec.description,
            "parameters": strict_schema(spec.parameters) if strict else spec.parameters,
            "strict": strict,
        }
        for spec in specs
    ]
    if api == "responses":
        return [{"type": "function", **function} for function in functions]
    return [{"type": "function", "function": function} for function in functions]


async def run_openai_tool_calls(toolset: Toolset, tool_calls: Iterable[object] | None) -> list[dict[str, Any]]:
    """Answer the ``tool_calls`` of a chat completions message, one after another: messages of role tool, in their order.

    Calls may be mappings or the SDK's objects. Raises InvalidInputError for what is neither, or lacks an id.
    """
    messages = []
    for index, call in enumerate(tool_calls or ()):
        call_id = required_text(call, "id", f"tool_calls[{index}]")
        function = field(call, "function")
        content = await toolset.call(field(function, "name"), field(function, "arguments"))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return messages


async def run_openai_function_calls(toolset: Toolset, items: Iterable[object] | None) -> list[dict[str, Any]]:
    """Answer the function_call items of a Responses output, one after another: function_call_output items in their order.

    Items of other types are passed over. Items may be mappings or the SDK's objects. Raises InvalidInputError for a call
    without a call_id.
    """
    outputs = []
    for index, item in enumerate(items or ()):
        if field(item, "type") == "function_call":
            call_id = required_text(item, "call_id", f"items[{index}]")
            output = await toolset.call(field(item, "name"), field(item, "arguments"))
            outputs.append({"type": "function_call_output", "call_id": call_id, "output": output})
    return outputs


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` with every property required, and those that were not allowed to be null."""
    strict = dict(schema)
    if "anyOf" in strict:
        strict["anyOf"] = [strict_schema(each) for each in strict["anyOf"]]
    if "items" in strict:
        strict["items"] = strict_schema(strict["items"])
    if "properties" in strict:
        required = set(strict.get("required", ()))
        strict["properties"] = {
            name: strict_schema(each) if name in required else _nullable(strict_schema(each))
            for name, each in strict["properties"].items()
        }
        strict["required"] = list(strict["properties"])
    return strict


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable
