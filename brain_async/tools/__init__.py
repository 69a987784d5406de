"""The engine as tools for a model: ``Toolset``, and the shapes of OpenAI's and Anthropic's APIs."""

from brain_async.tools.anthropic import run_anthropic_tool_use, to_anthropic
from brain_async.tools.openai import run_openai_function_calls, run_openai_tool_calls, to_openai
from brain_async.tools.save import WriteKinds
from brain_async.tools.spec import ToolSpec
from brain_async.tools.tool import Answer
from brain_async.tools.toolset import Toolset

__all__ = [
    "Answer",
    "ToolSpec",
    "Toolset",
    "WriteKinds",
    "run_anthropic_tool_use",
    "run_openai_function_calls",
    "run_openai_tool_calls",
    "to_anthropic",
    "to_openai",
]
