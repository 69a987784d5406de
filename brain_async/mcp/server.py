"""The MCP server: the toolset's tools, and objects as resources."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any
from uuid import UUID

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from brain_async.engine import Engine
from brain_async.mcp.conversations import Conversations
from brain_async.mcp.resources import URI_TEMPLATE, parse_uri
from brain_async.tools import Answer, Toolset, ToolSpec, WriteKinds

__all__ = ["create_server"]

PROGRESS_SECONDS = 1.0
"""Between two words of progress on a call that takes long."""

_INSTRUCTIONS = (
    "A knowledge base of objects (documents, people, deals and the like), their parts, and links between them. Start with "
    "search for a question, or find_exact for something you can name; read and expand go on from the ids they return. "
    "Call schema before you filter on anything but kind, title and dates."
)

_VERSION = version("brain-async")

Context = ServerRequestContext[Any, Any]


def create_server(
    engine: Engine,
    *,
    namespace: UUID | None = None,
    write_kinds: WriteKinds = WriteKinds(),
    timeout: float = 30.0,
    read_only: bool = False,
    progress_seconds: float = PROGRESS_SECONDS,
) -> Server[Any]:
    """A server over ``engine``, for any number of clients, all in one namespace.

    Tools are those of ``Toolset``, with the same answers, as JSON text and as structured content. A client that asks for
    progress hears every ``progress_seconds`` how long a call has been running, and a call that it cancels is cancelled in
    the engine. Objects are resources, ``brain://<kind>/<id>``.

    Raises as ``Toolset``, and NamespaceRequiredError when ``namespace`` is the nil UUID.
    """
    served = _Served(
        engine,
        namespace,
        progress_seconds=progress_seconds,
        write_kinds=write_kinds,
        timeout=timeout,
        read_only=read_only,
    )
    return Server(
        "brain",
        title="Knowledge base",
        version=_VERSION,
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=served.input_schema,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_list_resource_templates=served.list_resource_templates,
        on_read_resource=served.read_resource,
    )


class _Served:
    """What the server's requests are answered from."""

    def __init__(self, engine: Engine, namespace: UUID | None, *, progress_seconds: float, **options: Any) -> None:
        self._engine = engine
        self._options = options
        self._progress_seconds = progress_seconds
        self._conversations = Conversations(namespace)
        self._toolset({})

    def _toolset(self, arguments: Mapping[str, object]) -> Toolset:
        return Toolset(self._engine, self._conversations.context_of(arguments), **self._options)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema of a tool's arguments."""
        return next((spec.parameters for spec in self._toolset({}).specs() if spec.name == name), None)

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools, on one page."""
        return types.ListToolsResult(tools=[_tool(spec) for spec in self._toolset({}).specs()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call one."""
        arguments = params.arguments or {}
        toolset = self._toolset(arguments)
        answer = await self._answered(context, toolset, params.name, arguments)
        self._conversations.keep(toolset.context)
        return types.CallToolResult(
            content=[types.TextContent(text=answer.text)], structured_content=answer.value, is_error=answer.is_error
        )

    async def _answered(self, context: Context, toolset: Toolset, name: str, arguments: Mapping[str, object]) -> Answer:
        async def tell_progress() -> None:
            began = time.monotonic()
            while True:
                await anyio.sleep(self._progress_seconds)
                seconds = time.monotonic() - began
                await context.session.report_progress(seconds, toolset.timeout, f"{name}: {seconds:.0f} s")

        async with anyio.create_task_group() as group:
            group.start_soon(tell_progress)
            answer = await toolset.answer(name, arguments)
            group.cancel_scope.cancel()
        return answer

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """None by name: there may be any number of objects, and search finds them."""
        return types.ListResourcesResult(resources=[])

    async def list_resource_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The one form of an address."""
        template = types.ResourceTemplate(
            name="object",
            title="Object of the knowledge base",
            uri_template=URI_TEMPLATE,
            description="One object with its content and properties, by the kind and id that a tool returned.",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """One object as the tool read returns it, if it is of the kind in its address."""
        uri = str(params.uri)
        parsed = parse_uri(uri)
        if parsed is None:
            raise MCPError(types.INVALID_PARAMS, f"a resource is addressed as {URI_TEMPLATE}")
        kind, object_id = parsed
        answer = await self._toolset({}).answer("read", {"object_id": object_id})
        error = answer.value.get("error")
        if error is not None and error["code"] not in ("object_not_found", "invalid_id", "missing_argument"):
            raise MCPError(types.INTERNAL_ERROR, error["message"], data=error)
        if error is not None or answer.value["kind"] != kind:
            raise MCPError(types.INVALID_PARAMS, "resource not found", data={"uri": uri})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=answer.text)
        return types.ReadResourceResult(contents=[contents])


def _tool(spec: ToolSpec) -> types.Tool:
    reads = spec.access == "read"
    # Saving with an object_id, and linking again, replace what was there.
    hints = types.ToolAnnotations(read_only_hint=reads, destructive_hint=not reads, open_world_hint=False)
    return types.Tool(name=spec.name, description=spec.description, input_schema=spec.parameters, annotations=hints)
