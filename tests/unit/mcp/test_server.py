"""The server, called in this process by the SDK's own client."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from brain_async import Engine, SearchContext
from brain_async.adapters.memory import MemoryStore
from brain_async.mcp import create_server
from brain_async.mcp.resources import resource_uri
from brain_async.tools import Toolset, WriteKinds
from tests.unit.tools.office import (
    ADA,
    BEN,
    LOOM,
    NAMESPACE,
    STRANGER,
    WRITE_KINDS,
    filled_engine,
    parsed,
)

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def client_of(mode: str, **options: Any) -> Client:
    engine = options.pop("engine", None) or await filled_engine()
    return Client(create_server(engine, **{"namespace": NAMESPACE, "write_kinds": WRITE_KINDS, **options}), mode=mode)


@MODES
async def test_the_tools_are_the_toolsets(mode: str) -> None:
    engine = await filled_engine()
    specs = Toolset(engine, SearchContext(NAMESPACE), write_kinds=WRITE_KINDS).specs()
    async with await client_of(mode, engine=engine) as client:
        tools = (await client.list_tools()).tools
    assert [(tool.name, tool.description, tool.input_schema) for tool in tools] == [
        (spec.name, spec.description, spec.parameters) for spec in specs
    ]
    for tool, spec in zip(tools, specs, strict=True):
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (spec.access == "read")
        assert tool.annotations.open_world_hint is False


@MODES
async def test_an_answer_is_text_and_structure_at_once(mode: str) -> None:
    engine = await filled_engine()
    expected = await Toolset(engine, SearchContext(NAMESPACE)).call("read", {"object_id": str(ADA)})
    async with await client_of(mode, engine=engine) as client:
        result = await client.call_tool("read", {"object_id": str(ADA)})
    assert isinstance(result.content[0], types.TextContent)
    assert (result.content[0].text, result.structured_content, result.is_error) == (expected, parsed(expected), False)


@MODES
async def test_a_refused_call_is_an_error_a_model_can_act_on(mode: str) -> None:
    async with await client_of(mode) as client:
        for name, arguments, code in (
            ("search", {"query": "x", "namespace": str(UUID(int=2))}, "unknown_argument"),
            ("search", None, "missing_argument"),
            ("nope", {}, "unknown_tool"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error is True
            assert result.structured_content["error"]["code"] == code


@MODES
async def test_two_conversations_page_through_their_own_results(mode: str) -> None:
    engine = await filled_engine()
    server = create_server(engine, namespace=NAMESPACE)
    async with Client(server, mode=mode) as one, Client(server, mode=mode) as other:
        pages = [(await client.call_tool("search", {"query": "loom", "limit": 1})) for client in (one, other)]
        for client, page in zip((one, other), pages, strict=True):
            first = page.structured_content
            then = await client.call_tool("continue", {"result_set_id": first["result_set_id"], "limit": 1})
            found = {first["objects"][0]["id"], then.structured_content["objects"][0]["id"]}
            assert found == {str(ADA), str(LOOM)}
            past = await client.call_tool("continue", {"result_set_id": first["result_set_id"]})
            assert past.structured_content["objects"] == []


@MODES
async def test_a_read_only_server_has_no_tool_that_writes(mode: str) -> None:
    async with await client_of(mode, read_only=True) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert not {name for name in names if name.startswith("save_") or name == "link"}
        link = {"from_id": str(ADA), "to_id": str(BEN), "relation_type": "knows"}
        result = await client.call_tool("link", link)
        assert result.structured_content["error"]["code"] == "unknown_tool"


@MODES
async def test_a_resource_is_the_object_as_read_returns_it(mode: str) -> None:
    engine = await filled_engine()
    async with await client_of(mode, engine=engine) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [(each.uri_template, each.mime_type) for each in templates] == [
            ("brain://{kind}/{id}", "application/json")
        ]
        assert (await client.list_resources()).resources == []
        contents = (await client.read_resource(resource_uri("person", ADA))).contents[0]
        read = await client.call_tool("read", {"object_id": str(ADA)})
    assert isinstance(contents, types.TextResourceContents)
    assert isinstance(read.content[0], types.TextContent)
    assert (contents.text, contents.mime_type) == (read.content[0].text, "application/json")
    assert str(contents.uri) == resource_uri("person", ADA)


@MODES
@pytest.mark.parametrize(
    "uri",
    [
        resource_uri("person", STRANGER),
        resource_uri("person", UUID(int=999)),
        resource_uri("project", ADA),
        resource_uri("person", UUID(int=0)),
        "brain://person/ada",
        "brain://person",
        "https://person/x",
    ],
)
async def test_whatever_is_not_there_is_not_found(mode: str, uri: str) -> None:
    async with await client_of(mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
    assert raised.value.code == types.INVALID_PARAMS


SECRET = "select 1 from postgres://root:hunter2@/srv"


class BrokenStore(MemoryStore):
    async def get(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError(SECRET)


@MODES
async def test_a_failing_backend_leaks_nothing_through_a_resource(mode: str) -> None:
    async with await client_of(mode, engine=Engine(BrokenStore()), write_kinds=WriteKinds()) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(resource_uri("person", ADA))
    assert raised.value.code == types.INTERNAL_ERROR
    assert "hunter2" not in repr(raised.value)


class SlowStore(MemoryStore):
    """Reads end when ``go`` is set; ``cancelled`` is set when one is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.go, self.cancelled = anyio.Event(), anyio.Event(), anyio.Event()

    async def get(self, *arguments: Any, **options: Any) -> Any:
        self.started.set()
        try:
            await self.go.wait()
        except BaseException:
            self.cancelled.set()
            raise


@MODES
async def test_a_call_that_takes_long_says_how_it_goes(mode: str) -> None:
    store = SlowStore()
    told: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        if len(told) == 3:
            store.go.set()

    slow = {"engine": Engine(store), "write_kinds": WriteKinds(), "progress_seconds": 0.01}
    async with await client_of(mode, **slow) as client:
        result = await client.call_tool("read", {"object_id": str(ADA)}, progress_callback=on_progress)
    assert result.structured_content["error"]["code"] == "object_not_found"
    assert len(told) >= 3
    assert [progress for progress, _, _ in told] == sorted({progress for progress, _, _ in told}), "it only grows"
    assert {total for _, total, _ in told} == {30.0}
    assert all(message is not None and message.startswith("read: ") for _, _, message in told)


@MODES
async def test_cancelling_a_call_reaches_the_engine(mode: str) -> None:
    store = SlowStore()
    async with await client_of(mode, engine=Engine(store), write_kinds=WriteKinds()) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "read", {"object_id": str(ADA)})
            await store.started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await store.cancelled.wait()
        assert (await client.call_tool("schema")).is_error is False, "the connection goes on"


def test_a_server_takes_a_timeout_above_0() -> None:
    with pytest.raises(ValueError, match="seconds above 0"):
        create_server(Engine(MemoryStore()), timeout=0)
