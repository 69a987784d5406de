"""Bodies that are too large are refused while they arrive, whatever they claim to be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import anyio
import httpx
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.fastapi import fixed_scope, service
from tests.integration.engine.world import DIMENSION, FaultyStore
from tests.integration.service.served import application, engine_in_memory, in_process, over_http

LIMIT = 10_000


async def test_a_body_of_just_the_limit_is_read() -> None:
    start, end = b'{"query": "', b'"}'
    body = start + b"x" * (LIMIT - len(start + end)) + end
    async with in_process(application(engine_in_memory(), max_body=LIMIT)) as http:
        headers = {"Content-Type": "application/json", "X-Namespace": str(uuid4())}
        fits = await http.post("/v1/search", content=body, headers=headers)
        over = await http.post("/v1/search", content=body + b" ", headers=headers)
    assert fits.status_code == 200
    assert (over.status_code, over.json()["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("path", ["/v1/objects/batch", "/v1/links/batch"])
async def test_bulk_writes_have_a_limit_of_their_own(path: str) -> None:
    async with in_process(application(engine_in_memory(), max_body=10, max_bulk_body=LIMIT)) as http:
        headers = {"Content-Type": "application/json", "X-Namespace": str(uuid4())}
        field = b"objects" if "objects" in path else b"edges"
        fits = await http.post(path, content=b'{"' + field + b'": []}' + b" " * 5_000, headers=headers)
        over = await http.post(path, content=b" " * (LIMIT + 1), headers=headers)
    assert (fits.status_code, over.status_code) == (200, 413)


async def test_a_claim_is_enough_to_be_refused_and_the_connection_is_closed() -> None:
    async with over_http(application(engine_in_memory(), max_body=LIMIT)) as url:
        port = int(url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            head = f"Host: x\r\nX-Namespace: {uuid4()}\r\nContent-Type: application/json\r\n"
            await stream.send(f"POST /v1/search HTTP/1.1\r\n{head}Content-Length: 99999999\r\n\r\n".encode())
            answer = await _until_closed(stream)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()
    assert b"payload_too_large" in answer


async def test_an_endless_body_is_refused_while_it_arrives() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1_000
            yield b" " * 1_000

    async with over_http(application(engine_in_memory(), max_body=LIMIT)) as url, httpx.AsyncClient() as http:
        headers = {"Content-Type": "application/json", "X-Namespace": str(uuid4())}
        with anyio.fail_after(30):
            try:
                response = await http.post(f"{url}/v1/search", content=endless(), headers=headers)
            except httpx.TransportError:
                pass  # closed before the client had stopped sending, which some systems report as an error
            else:
                assert response.status_code == 413
    assert sent < 50_000_000


async def _until_closed(stream: anyio.abc.SocketStream) -> bytes:
    received = b""
    with anyio.fail_after(10):
        try:
            while True:
                received += await stream.receive()
        except anyio.EndOfStream:
            return received


async def test_reads_beyond_the_limit_wait_and_writes_and_health_do_not() -> None:
    store = FaultyStore(MemoryStore(dimension=DIMENSION))
    opened, waiting = anyio.Event(), 0

    async def wait() -> None:
        nonlocal waiting
        waiting += 1
        await opened.wait()

    store.faults["search_lexical"] = wait
    app = service(engine_in_memory(store=store), scope=fixed_scope(uuid4()), max_reads=2)
    statuses: list[int] = []
    async with in_process(app) as http:

        async def search() -> None:
            statuses.append((await http.post("/v1/search", json={"query": "lemon"})).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(search)
            await anyio.wait_all_tasks_blocked()
            assert waiting == 2
            assert (await http.post("/v1/objects", json={"kind": "thing"})).status_code == 200
            assert (await http.get("/readyz")).status_code == 200
            opened.set()
    assert statuses == [200] * 5
    assert waiting == 5
