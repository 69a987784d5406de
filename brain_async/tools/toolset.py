"""Toolset: the tools of one conversation over an engine."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

import anyio
import msgspec

from brain_async.engine import Engine
from brain_async.errors import InvalidInputError
from brain_async.session import SearchContext
from brain_async.tools.expand import expand_tool
from brain_async.tools.failure import Failure
from brain_async.tools.find_links import find_links_tool
from brain_async.tools.find_objects import find_objects_tool
from brain_async.tools.link import link_tool
from brain_async.tools.parameters import shown
from brain_async.tools.read import read_tool
from brain_async.tools.resume import continue_tool
from brain_async.tools.save import WriteKinds, save_tools
from brain_async.tools.schema import schema_tool
from brain_async.tools.search import find_exact_tool, search_tool
from brain_async.tools.spec import ToolSpec
from brain_async.tools.tool import Answer, Tool

__all__ = ["Toolset"]

logger = logging.getLogger("brain_async")

MAX_ARGUMENTS_CHARS = 4_000_000


class Toolset:
    """The engine's verbs as tools for a model, in the scope that ``context`` has at the time of each call.

    A tool whose ability the engine lacks is absent: search and find_exact need a store with search channels, find_objects
    and find_links a graph that searches, link a graph that writes, and the save tools a store that writes and a kind to
    write. Arguments cannot reach the scope. One toolset serves one conversation; its calls are best awaited one by one,
    since each search replaces the result set of the one before.
    """

    def __init__(
        self,
        engine: Engine,
        context: SearchContext,
        *,
        write_kinds: WriteKinds = WriteKinds(),
        timeout: float = 30.0,
        read_only: bool = False,
    ) -> None:
        """Build the tools; no I/O.

        Args:
            context: holds the scope, and the result set that the tool continue pages through.
            write_kinds: which kind each save tool writes.
            timeout: seconds a call may take.
            read_only: leave out every tool that writes.

        Raises InvalidKindError for a mapped kind that is not registered, InvalidInputError for a timeout that is not above 0.
        """
        if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or not 0 < timeout < math.inf:
            raise InvalidInputError(f"timeout must be a number of seconds above 0, not {timeout!r}", field="timeout")
        self._engine = engine
        self._session = engine.session(context=context)
        self._write_kinds = write_kinds
        self._timeout = timeout
        self._read_only = read_only
        self._tools()

    @property
    def timeout(self) -> float:
        """Seconds a call may take."""
        return self._timeout

    @property
    def context(self) -> SearchContext:
        """The context of the calls."""
        return self._session.context

    def specs(self) -> list[ToolSpec]:
        """What a model is told of each tool, always in the same order; the schemas name the kinds registered now."""
        return [tool.spec for tool in self._tools().values()]

    async def call(self, name: str, arguments: Mapping[str, object] | str | bytes | None = None) -> str:
        """Call a tool; the answer is JSON text for the model, also when the call did not work. See ``answer``."""
        return (await self.answer(name, arguments)).text

    async def answer(self, name: str, arguments: Mapping[str, object] | str | bytes | None = None) -> Answer:
        """Call a tool with arguments as a mapping or as JSON text; none, blank text and null are no arguments.

        What goes wrong is an answer with ``is_error``: ``{"error": {"code", "message", "argument", "hint"}}``, where
        argument and hint are left out when there is none. It holds nothing that is internal to a backend; that is logged.
        Nothing is raised but cancellation, which reaches the engine.
        """
        tools = self._tools()
        tool = tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = f"the tools are {', '.join(tools)}"
            return Answer.failed(Failure(code="unknown_tool", message=f"there is no tool {shown(name)}", hint=known))
        given = _given(tool.name, arguments)
        if isinstance(given, Failure):
            return Answer.failed(given)
        answer: Answer | None = None
        try:
            with anyio.move_on_after(self._timeout):
                answer = await tool.answer(self._session, given)
        except Exception:
            # The engine raises its own errors only; whatever else this is, the conversation has to go on.
            logger.exception("the tool %s failed", tool.name)
            return Answer.failed(Failure(code="internal_error", message=f"{tool.name}: something went wrong inside"))
        return Answer.failed(_timed_out(tool, self._timeout)) if answer is None else answer

    def _tools(self) -> dict[str, Tool]:
        engine = self._engine
        tools = [read_tool(), schema_tool(engine)]
        if engine.has_part_search:
            tools += [search_tool(engine), find_exact_tool(engine)]
        if engine.has_object_search:
            tools.append(find_objects_tool(engine))
        if engine.has_edge_search:
            tools.append(find_links_tool(engine))
        tools += [continue_tool(engine), expand_tool(engine)]
        if engine.has_object_writer and not self._read_only:
            tools += save_tools(engine, self._write_kinds)
        if engine.has_graph_writer and not self._read_only:
            tools.append(link_tool())
        return {tool.name: tool for tool in tools}


def _given(tool: str, arguments: object) -> Mapping[str, object] | Failure:
    if isinstance(arguments, (str, bytes)):
        if len(arguments) > MAX_ARGUMENTS_CHARS:
            return Failure(
                code="too_long",
                message=f"{tool}: the arguments have {len(arguments):,} characters, "
                f"at most {MAX_ARGUMENTS_CHARS:,} are taken",
                hint="send less text, or save it in several objects",
            )
        try:
            arguments = msgspec.json.decode(arguments) if arguments.strip() else None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return Failure(
                code="invalid_json",
                message=f"{tool}: the arguments are not JSON",
                hint='send one JSON object, such as {"query": "renewal risk"}, with every quote and bracket closed',
            )
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        return Failure(
            code="wrong_type",
            message=f"{tool}: the arguments must be one JSON object",
            hint="name each argument: an object with argument names as keys",
        )
    return arguments


def _timed_out(tool: Tool, timeout: float) -> Failure:
    hint = (
        "it may have happened all the same: look before you do it again"
        if tool.access == "write"
        else "narrow it with filters or a smaller limit, or try again in a moment"
    )
    return Failure(code="timeout", message=f"{tool.name}: no answer within {timeout:g} seconds", hint=hint)
