"""`brain mcp` in processes of its own, over stdio and HTTP, spoken to by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import httpx
import pytest
from mcp import Client, MCPError

from brain_async.mcp.resources import resource_uri
from tests.integration.mcp_server.servers import (
    COMMAND,
    client_of,
    filled_database,
    http_server,
    options_of,
    structured,
)
from tests.unit.tools.office import ADA, BEN, KINDS, LOOM, NAMESPACE, STRANGER, fill

WAYS = [(transport, mode) for transport in ("stdio", "http") for mode in ("auto", "legacy")]


@pytest.fixture(scope="module")
async def dsn(postgres_dsn: str) -> AsyncIterator[str]:
    async with filled_database(postgres_dsn, "mcp_office", KINDS, fill) as dsn:
        yield dsn


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: "-".join(way))
async def client(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[Client]:
    transport, mode = request.param
    options = options_of(dsn, NAMESPACE, "--save", "fact=fact", "--save", "memory=person")
    connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with client_of(transport, options, mode) as client:
                connected.set_result(client)
                await over.wait()
        except BaseException as error:
            if not connected.done():
                connected.set_exception(error)
            raise

    # A task of its own: pytest sets a fixture up in one task and tears it down in another, which cancel scopes forbid.
    holder = asyncio.create_task(hold())
    yield await connected
    over.set()
    await holder


async def test_the_tools_are_there(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "read", "schema", "search", "find_exact", "find_objects", "find_links", "continue", "expand", "save_fact",
        "save_memory", "link",
    ]  # fmt: skip
    assert client.instructions is not None
    assert client.instructions.startswith("A knowledge base")


async def test_a_result_is_continued(client: Client) -> None:
    first = await structured(client, "search", {"query": "loom cards", "limit": 1})
    rest = await structured(client, "continue", {"result_set_id": first["result_set_id"]})
    found = [hit["id"] for page in (first, rest) for hit in page["objects"]]
    assert set(found[:2]) == {str(ADA), str(LOOM)}
    assert len(found) == len(set(found)) == first["total"]
    assert rest["has_more"] is False


async def test_errors_are_answers(client: Client) -> None:
    error = (await structured(client, "read", {"object_id": "Ada"}))["error"]
    assert (error["code"], error["argument"]) == ("invalid_id", "object_id")
    assert (await structured(client, "search", {"query": "x", "namespace": "y"}))["error"]["code"] == "unknown_argument"


async def test_what_is_saved_and_linked_is_found(client: Client) -> None:
    saved = await structured(client, "save_fact", {"title": "Paper tears", "summary": "When it is damp."})
    assert (await structured(client, "read", {"object_id": saved["id"]}))["summary"] == "When it is damp."
    link = {"from_id": saved["id"], "to_id": str(LOOM), "relation_type": "about", "note": "paper again"}
    assert (await structured(client, "link", link))["linked"] is True
    around = await structured(client, "expand", {"object_id": saved["id"], "relation_types": ["about"]})
    assert [hit["id"] for hit in around["objects"]] == [str(LOOM)]


async def test_an_object_is_a_resource_of_its_own_namespace(client: Client) -> None:
    contents = (await client.read_resource(resource_uri("person", ADA))).contents[0]
    assert contents.mime_type == "application/json"
    assert '"title": "Ada"' in contents.text  # type: ignore[union-attr]
    for there in (resource_uri("person", STRANGER), resource_uri("project", ADA)):
        with pytest.raises(MCPError, match="resource not found"):
            await client.read_resource(there)


@asynccontextmanager
async def locked_objects(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """Nobody else can read the objects meanwhile; yields a connection to look at those who wait."""
    holder, watcher = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    try:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute("lock table brain_objects in access exclusive mode")
        yield watcher
        await transaction.rollback()
    finally:
        await holder.close()
        await watcher.close()


async def until_waiting(watcher: asyncpg.Connection, expected: bool) -> None:
    """Until somebody (or nobody) waits for a lock."""
    query = (
        "select exists(select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"
    )
    with anyio.fail_after(20):
        while await watcher.fetchval(query) is not expected:  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def test_a_cancelled_call_is_cancelled_in_postgres(client: Client, dsn: str) -> None:
    async with locked_objects(dsn) as watcher:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "read", {"object_id": str(BEN)})
            await until_waiting(watcher, True)
            group.cancel_scope.cancel()
        # The lock is still held: only a cancelled statement waits no more.
        await until_waiting(watcher, False)
    assert (await structured(client, "read", {"object_id": str(BEN)}))["title"] == "Ben", "the server goes on"


async def test_a_call_that_takes_long_says_so(client: Client, dsn: str) -> None:
    told: list[float] = []
    twice = anyio.Event()
    answers: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        assert total == 30.0
        assert message is not None
        assert message.startswith("read: ")
        if len(told) == 2:
            twice.set()

    async def read() -> None:
        answers.append(await client.call_tool("read", {"object_id": str(BEN)}, progress_callback=on_progress))

    async with anyio.create_task_group() as group, locked_objects(dsn):
        group.start_soon(read)
        with anyio.fail_after(20):
            await twice.wait()
    assert told == sorted(set(told))
    assert answers[0].structured_content["title"] == "Ben"


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_read_only_hides_and_refuses_the_tools_that_write(dsn: str, transport: str) -> None:
    options = options_of(dsn, NAMESPACE, "--save", "fact=fact", "--read-only")
    async with client_of(transport, options, "auto") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["read", "schema", "search", "find_exact", "find_objects", "find_links", "continue", "expand"]
        for name, arguments in (
            ("save_fact", {"title": "x"}),
            ("link", {"from_id": str(ADA), "to_id": str(BEN), "relation_type": "x"}),
        ):
            assert (await structured(client, name, arguments))["error"]["code"] == "unknown_tool"


async def test_a_home_is_served_as_well() -> None:
    example = Path(__file__).parents[3] / "examples" / "agent_loop.py"
    async with anyio.TemporaryDirectory(prefix="brain-mcp-", dir="/tmp") as folder:
        await anyio.run_process([sys.executable, str(example), "1"], cwd=folder)
        async with client_of("stdio", ["--home", f"{folder}/my-brain"], "auto") as client:
            found = await structured(client, "search", {"query": "renewal at risk", "limit": 2})
            assert len(found["objects"]) == 2
            deal = found["objects"][0]
            assert (await client.read_resource(resource_uri("deal", deal["id"]))).contents


async def test_http_answers_only_who_has_the_token_and_comes_from_here(dsn: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    token = {"Authorization": "Bearer sesame"}
    async with http_server(options_of(dsn, NAMESPACE, "--token", "sesame")) as address, httpx.AsyncClient() as http:
        for headers in ({}, {"Authorization": "Bearer open"}, {"Authorization": "sesame"}):
            refused = await http.post(address, json=ping, headers={**accept, **headers})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        rebound = await http.post(address, json=ping, headers={**accept, **token, "Host": "evil.example"})
        assert rebound.status_code == 421
        foreign = await http.post(address, json=ping, headers={**accept, **token, "Origin": "http://evil.example"})
        assert foreign.status_code == 403
        large = await http.post(address, content=b"x" * 5_000_000, headers={**accept, **token})
        assert large.status_code == 413


def served(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )


def test_listening_beyond_this_machine_needs_a_token(dsn: str) -> None:
    done = served(*options_of(dsn, NAMESPACE), "--http", "0.0.0.0:0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: a token is needed to listen on 0.0.0.0: whoever reaches it could read\n"


def test_a_port_that_is_taken_is_said_in_one_line(dsn: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = served(*options_of(dsn, NAMESPACE), "--http", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_what_cannot_be_opened_is_said_in_one_line(tmp_path: Path) -> None:
    done = served("--home", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: no knowledge base in {tmp_path}: make one with `brain ingest PATH` or `brain demo`\n"
    done = served("--dsn", "postgres://nobody@127.0.0.1:1/none")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("error: ")


def test_the_end_of_stdin_is_the_end(dsn: str) -> None:
    done = served(*options_of(dsn, NAMESPACE))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_a_server_that_waits_for_input(dsn: str, signum: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        [*COMMAND, *options_of(dsn, NAMESPACE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert b'"result":{}' in process.stdout.readline()
        process.send_signal(signum)
        assert process.wait(timeout=20) == code
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX")
def test_a_client_that_is_gone_is_no_error(dsn: str) -> None:
    with subprocess.Popen(
        [*COMMAND, *options_of(dsn, NAMESPACE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
