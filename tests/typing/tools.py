"""What the tools return is known to a type checker: checked by mypy, never run."""

from __future__ import annotations

from typing import Any, assert_type

from mcp.server.lowlevel.server import Server

from brain_async import Engine, SearchContext
from brain_async.mcp import create_server, serve_stdio
from brain_async.tools import (
    Answer,
    Toolset,
    ToolSpec,
    WriteKinds,
    run_anthropic_tool_use,
    run_openai_function_calls,
    run_openai_tool_calls,
    to_anthropic,
    to_openai,
)


async def of_a_toolset(engine: Engine, context: SearchContext, sdk_object: object) -> None:
    toolset = Toolset(engine, context, write_kinds=WriteKinds(fact="fact"), timeout=5)
    assert_type(toolset.specs(), list[ToolSpec])
    assert_type(await toolset.call("search", {"query": "x"}), str)
    assert_type(await toolset.answer("search", '{"query": "x"}'), Answer)
    assert_type(to_openai(toolset.specs(), api="responses"), list[dict[str, Any]])
    assert_type(to_anthropic(toolset.specs()), list[dict[str, Any]])
    assert_type(await run_openai_tool_calls(toolset, [sdk_object]), list[dict[str, Any]])
    assert_type(await run_openai_function_calls(toolset, [sdk_object]), list[dict[str, Any]])
    assert_type(await run_anthropic_tool_use(toolset, [sdk_object]), list[dict[str, Any]])


async def of_a_server(engine: Engine) -> None:
    server = create_server(engine, read_only=True)
    assert_type(server, Server[Any])
    assert_type(await serve_stdio(server), int)
