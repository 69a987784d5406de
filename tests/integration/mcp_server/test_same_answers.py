"""One agent, whatever it calls its tools through: OpenAI's shapes, Anthropic's, or MCP over either transport in either era.

The agent is a script that decides from the answers, over packages like those of the demo.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from brain_async import Engine, Object, SearchContext
from brain_async.cli.engines import open_engine
from brain_async.cli.kinds import AUTHOR, KINDS, PACKAGE, REQUIRES, SECTION, WRITTEN_BY, object_id
from brain_async.tools import (
    Toolset,
    WriteKinds,
    run_anthropic_tool_use,
    run_openai_function_calls,
    run_openai_tool_calls,
)
from tests.integration.mcp_server.servers import client_of, filled_database, options_of, structured

NAMESPACE = UUID(int=77)
PACKAGES: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "anyio": (
        "MIT",
        ["idna", "sniffio"],
        {
            "Cancellation": "A cancel scope cancels every task in it, and shields what must not be cancelled.",
            "Streams": "Memory object streams carry items between tasks; a full one makes the sender wait.",
        },
    ),
    "httpx": (
        "BSD-3-Clause",
        ["anyio", "httpcore", "idna"],
        {
            "Timeouts": "Every request has a timeout of five seconds for connect, read, write and pool.",
            "Cancellation": "Cancelling the task closes its connection, and the pool stays usable.",
        },
    ),
    "httpcore": ("BSD-3-Clause", ["h11"], {"Pools": "A connection pool hands out idle connections first."}),
    "h11": ("MIT", [], {"State machine": "A pure HTTP/1.1 protocol without any I/O."}),
    "idna": ("BSD-3-Clause", [], {"Usage": "Encodes domain names that are not ASCII."}),
    "sniffio": ("MIT", [], {"Usage": "Says which async library is running; it knows of cancellation nothing."}),
}


def key(kind: str, name: str) -> UUID:
    return object_id(NAMESPACE, kind, name)


async def fill(engine: Engine) -> None:
    """Packages with the sections of their README, what they require, and an author."""
    session = engine.session(NAMESPACE)
    for name, (licence, _, sections) in PACKAGES.items():
        properties = {"license": licence, "sections": len(sections)}
        await session.put(Object(id=key(PACKAGE, name), kind=PACKAGE, title=name, properties=properties))
        for position, (heading, content) in enumerate(sections.items()):
            await session.put(
                Object(
                    id=key(SECTION, f"{name}/{heading}"),
                    kind=SECTION,
                    title=heading,
                    content=content,
                    parent_id=key(PACKAGE, name),
                    position=position,
                    properties={"heading": heading},
                )
            )
    for name, (_, requires, _) in PACKAGES.items():
        for other in requires:
            await session.link(key(PACKAGE, name), key(PACKAGE, other), REQUIRES, note=f"{name} needs {other} to run")
    await session.put(Object(id=key(AUTHOR, "Ada"), kind=AUTHOR, title="Ada", properties={"packages": 1}))
    await session.link(key(PACKAGE, "h11"), key(AUTHOR, "Ada"), WRITTEN_BY, note="the first release")


Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def agent(call: Call) -> list[dict[str, Any]]:
    """Ask about cancellation, page on, look around what it found, make every kind of mistake, and write down what it learned.

    Writes nothing but what was there already, so that every run finds the same.
    """
    answers: list[dict[str, Any]] = []

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        answers.append(await call(tool, arguments))
        return answers[-1]

    schema = await ask("schema", kind=PACKAGE)
    fields = [field["name"] for field in schema["kinds"][0]["fields"]]
    page = await ask("search", query="what happens to tasks on cancellation?", limit=1)
    titles = [hit["title"] for hit in page["objects"]]
    while page["has_more"]:
        page = await ask("continue", result_set_id=page["result_set_id"], limit=2)
        titles += [hit["title"] for hit in page["objects"]]
    assert titles[:2] == ["anyio", "httpx"]
    assert len(titles) == len(set(titles))

    mit = [{"key": "kind", "value": PACKAGE}, {"key": fields[fields.index("license")], "value": "MIT"}]
    entities = await ask("find_objects", query="anyio h11 sniffio httpx", filters=mit)
    assert {hit["title"] for hit in entities["objects"]} == {"anyio", "h11", "sniffio"}
    exact = await ask("find_exact", query="Timeouts")
    httpx = exact["objects"][0]
    await ask("read", object_id=httpx["evidence"][0]["part_id"])
    await ask("expand", object_id=httpx["id"])
    near = await ask("expand", object_id=httpx["id"], relation_types=[REQUIRES], max_hops=2, direction="out")
    assert {hit["title"]: hit["relation"]["depth"] for hit in near["objects"]} == {
        "anyio": 1, "httpcore": 1, "idna": 1, "sniffio": 2, "h11": 2,
    }  # fmt: skip
    await ask("search", query="idle connections", scope_ids=[hit["id"] for hit in near["objects"]])
    await ask("find_links", relation_type=REQUIRES, query="httpcore to run")

    await ask("search", query="x", namespace=str(UUID(int=1)))
    await ask("search", query="x", filters=[{"key": "kind", "value": PACKAGE}, {"key": "stars", "value": 5}])
    await ask("search")
    await ask("read", object_id="httpx")
    await ask("read", object_id=str(UUID(int=5)))
    await ask("continue", result_set_id=str(UUID(int=5)))
    await ask("ask", question="why?")

    ada, h11 = str(key(AUTHOR, "Ada")), str(key(PACKAGE, "h11"))
    await ask("save_fact", title="Ada", properties=[{"name": "packages", "value": 1}], object_id=ada)
    await ask("save_fact", title="h11", object_id=h11)
    await ask("link", from_id=h11, to_id=ada, relation_type=WRITTEN_BY, note="the first release")
    assert sum("error" in answer for answer in answers) == 8
    return answers


def comparable(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what differs from run to run: the ids of result sets, the time, and what it decays of a score."""
    known = {str(key(PACKAGE, name)) for name in PACKAGES} | {str(key(AUTHOR, "Ada"))}
    known |= {str(key(SECTION, f"{name}/{heading}")) for name in PACKAGES for heading in PACKAGES[name][2]}

    def cleaned(value: Any, name: str = "") -> Any:
        match value:
            case dict():
                return {name: cleaned(each, name) for name, each in value.items()}
            case list():
                return [cleaned(each, name) for each in value]
            case str() if name in ("id", "part_id", "parent_id"):
                assert value in known
        return name if name in ("result_set_id", "updated_at", "score") else value

    return [cleaned(answer) for answer in answers]


@pytest.fixture(scope="module")
async def dsn(postgres_dsn: str) -> AsyncIterator[str]:
    async with filled_database(postgres_dsn, "mcp_packages", KINDS, fill) as dsn:
        yield dsn


def openai_chat(toolset: Toolset) -> Call:
    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        messages = await run_openai_tool_calls(toolset, [{"id": "c", "type": "function", "function": function}])
        return dict(json.loads(messages[0]["content"]))

    return call


def openai_responses(toolset: Toolset) -> Call:
    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        item = SimpleNamespace(type="function_call", call_id="c", name=name, arguments=json.dumps(arguments))
        return dict(json.loads((await run_openai_function_calls(toolset, [item]))[0]["output"]))

    return call


def anthropic(toolset: Toolset) -> Call:
    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        block = {"type": "tool_use", "id": "t", "name": name, "input": arguments}
        result = (await run_anthropic_tool_use(toolset, [block]))[0]
        answer = dict(json.loads(result["content"]))
        assert result.get("is_error", False) is ("error" in answer)
        return answer

    return call


async def test_every_way_of_calling_gets_the_same_answers(dsn: str) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    async with open_engine(Path(), dsn=dsn) as engine:
        for way in (openai_chat, openai_responses, anthropic):
            toolset = Toolset(engine, SearchContext(NAMESPACE), write_kinds=WriteKinds(fact=AUTHOR))
            runs[way.__name__] = comparable(await agent(way(toolset)))
    options = options_of(dsn, NAMESPACE, "--save", f"fact={AUTHOR}")
    for transport in ("stdio", "http"):
        for mode in ("auto", "legacy"):
            async with client_of(transport, options, mode) as client:

                async def call(name: str, arguments: dict[str, Any], client: Any = client) -> dict[str, Any]:
                    return await structured(client, name, arguments)

                runs[f"mcp {transport} {mode}"] = comparable(await agent(call))
    expected = runs["openai_chat"]
    assert len(runs) == 7
    for way_name, answers in runs.items():
        assert answers == expected, way_name
