"""Tool: one verb of the engine, as a model calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from brain_async.errors import BrainError
from brain_async.session import Session
from brain_async.tools.failure import Failure, RefusalError, failure_of
from brain_async.tools.parameters import Parameter, object_schema, read_arguments
from brain_async.tools.spec import Access, ToolSpec

__all__ = ["Answer", "Tool"]

MAX_TOLD_CHARS = 1_000
"""Of a message or hint."""


class Answer(msgspec.Struct, frozen=True):
    """What a call gave: the value for the model, JSON types only, and whether it says that the call did not work."""

    value: dict[str, Any]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The value as strict JSON, indented by two blanks."""
        return msgspec.json.format(msgspec.json.encode(self.value), indent=2).decode()

    @classmethod
    def failed(cls, failure: Failure) -> Answer:
        """The answer that tells of a failure, below ``error``."""
        told = {name: _tellable(value) for name, value in msgspec.to_builtins(failure).items()}
        return cls({"error": told}, is_error=True)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. ``run`` takes a session and, by name, the arguments that were given, as their shapes read them."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    access: Access = "read"
    run: Callable[..., Awaitable[dict[str, Any]]]

    @property
    def spec(self) -> ToolSpec:
        """What a model is told."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=object_schema(self.parameters),
            access=self.access,
        )

    async def answer(self, session: Session, arguments: Mapping[str, object]) -> Answer:
        """Call it. What the engine or the reading of arguments raises becomes a failed answer."""
        values: dict[str, Any] = {}
        try:
            values = read_arguments(self.parameters, arguments)
            return Answer(await self.run(session, **values))
        except RefusalError as refusal:
            return Answer.failed(
                Failure(
                    code=refusal.code,
                    message=f"{self.name}: {refusal.message}",
                    argument=refusal.argument,
                    hint=refusal.hint,
                )
            )
        except BrainError as error:
            takes = [parameter.name for parameter in self.parameters]
            return Answer.failed(failure_of(error, tool=self.name, takes=takes, given=values))


def _tellable(told: str) -> str:
    # An error may quote what was sent: any length of it, and JSON escapes can spell half of a surrogate pair.
    cut = told if len(told) <= MAX_TOLD_CHARS else f"{told[:MAX_TOLD_CHARS]}..."
    return cut.encode("utf-8", "backslashreplace").decode()
