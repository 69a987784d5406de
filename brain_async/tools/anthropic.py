"""Anthropic's shapes, without its SDK: tools, and the tool_result blocks that answer a model's tool_use blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from brain_async.tools.calls import field, required_text
from brain_async.tools.spec import ToolSpec
from brain_async.tools.toolset import Toolset

__all__ = ["run_anthropic_tool_use", "to_anthropic"]


def to_anthropic(specs: Sequence[ToolSpec], *, strict: bool = False) -> list[dict[str, Any]]:
    """The ``tools`` of a request to the Messages API.

    With ``strict`` the model is held to the schemas; the API compiles those of all tools into one grammar, whose size is
    limited, so it is for a few tools at a time.
    """
    held = {"strict": True} if strict else {}
    return [
        {"name": spec.name, "description": spec.description, "input_schema": spec.parameters, **held} for spec in specs
    ]


async def run_anthropic_tool_use(toolset: Toolset, blocks: Iterable[object] | None) -> list[dict[str, Any]]:
    """Answer the tool_use blocks of a message's content, one after another: tool_result blocks, in their order.

    Blocks of other types are passed over. Blocks may be mappings or the SDK's objects. Raises InvalidInputError for a
    tool_use without an id.
    """
    results = []
    for index, block in enumerate(blocks or ()):
        if field(block, "type") == "tool_use":
            tool_use_id = required_text(block, "id", f"blocks[{index}]")
            answer = await toolset.answer(field(block, "name"), field(block, "input"))
            result = {"type": "tool_result", "tool_use_id": tool_use_id, "content": answer.text}
            results.append({**result, "is_error": True} if answer.is_error else result)
    return results
