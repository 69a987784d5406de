"""HttpEmbedder against a real server on the loopback interface."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import httpx
import numpy as np
import pytest

from brain_async.adapters.embed import HttpEmbedder, open_http_embedder
from brain_async.errors import (
    BackendTimeoutError,
    ClosedError,
    DimensionMismatchError,
    EmbedderError,
    InvalidInputError,
)
from brain_async.ports.host import QueryEmbedder
from tests.unit.adapters.loopback import Listener, Reply, ScriptedServer, listening, raw

_KEY = "sk-secret-123"


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, -0.5]


def embeddings(body: Mapping[str, Any]) -> Reply:
    data = [{"object": "embedding", "index": i, "embedding": vector_of(text)} for i, text in enumerate(body["input"])]
    return 200, {}, json.dumps({"object": "list", "data": data, "model": body["model"]}).encode()


@pytest.fixture(scope="module")
async def listener() -> AsyncIterator[Listener]:
    async with listening() as found:
        yield found


@pytest.fixture
def server(listener: Listener) -> ScriptedServer:
    return listener.serve(embeddings)


@pytest.fixture
async def embedder(server: ScriptedServer) -> AsyncIterator[HttpEmbedder]:
    async with open_http_embedder(server.url, model="tiny", dimension=3, api_key=_KEY, timeout=2.0) as embedder:
        yield embedder


async def test_a_query(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    vector = await embedder.embed("hello")
    assert vector.tolist() == vector_of("hello")
    assert vector.dtype == np.float32
    assert server.bodies == [{"model": "tiny", "input": ["hello"]}]
    assert server.paths == ["/v1/embeddings"]
    assert server.headers[0]["authorization"] == f"Bearer {_KEY}"
    assert isinstance(embedder, QueryEmbedder)
    assert (embedder.dimension, embedder.model) == (3, "tiny")


@pytest.mark.parametrize(
    ("suffix", "path"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/openai/v1/", "/openai/v1/embeddings"),
        ("/custom/embeddings", "/custom/embeddings"),
        ("/v1?version=2", "/v1/embeddings"),
    ],
)
async def test_address(server: ScriptedServer, suffix: str, path: str) -> None:
    async with open_http_embedder(server.url + suffix, model="tiny", dimension=3) as embedder:
        await embedder.embed("x")
    assert server.paths == [path]
    assert "authorization" not in server.headers[0]


async def test_batches_by_count_and_by_characters_keep_the_order(server: ScriptedServer) -> None:
    texts = ["x" * n for n in (1, 2, 3, 30, 4, 5)]
    async with open_http_embedder(server.url, model="tiny", dimension=3, batch_size=2, batch_chars=10) as embedder:
        vectors = await embedder.embed_many(texts)
        assert (await embedder.embed_many([])).shape == (0, 3)
    assert [body["input"] for body in server.bodies] == [texts[:2], texts[2:3], texts[3:4], texts[4:]]
    assert vectors.shape == (6, 3)
    assert vectors.dtype == np.float32
    assert vectors[:, 0].tolist() == [1, 2, 3, 30, 4, 5]


async def test_order_is_by_index_and_base64_is_read(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    def reversed_base64(body: Mapping[str, Any]) -> Reply:
        data = [
            {"index": i, "embedding": base64.b64encode(np.array(vector_of(text), "<f4").tobytes()).decode()}
            for i, text in enumerate(body["input"])
        ]
        return 200, {}, json.dumps({"data": data[::-1]}).encode()

    server.script = [reversed_base64]
    assert (await embedder.embed_many(["a", "bb", "ccc"]))[:, 0].tolist() == [1, 2, 3]


async def test_a_reply_without_indexes_is_taken_in_order(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    server.script = [raw(json.dumps({"data": [{"embedding": [1, 2, 3]}, {"embedding": [4, 5, 6]}]}))]
    assert (await embedder.embed_many(["a", "b"])).tolist() == [[1, 2, 3], [4, 5, 6]]


async def test_a_large_reply(server: ScriptedServer) -> None:
    row = np.linspace(-1, 1, 4096)
    server.script = [raw(json.dumps({"data": [{"index": i, "embedding": row.tolist()} for i in range(20)]}))]
    async with open_http_embedder(server.url, model="tiny", dimension=4096) as embedder:
        vectors = await embedder.embed_many(["x"] * 20)
    np.testing.assert_array_equal(vectors, np.tile(row.astype(np.float32), (20, 1)))


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_passing_failures_are_retried(server: ScriptedServer, embedder: HttpEmbedder, status: int) -> None:
    server.script = [raw("busy", status)]
    assert (await embedder.embed("hello"))[0] == 5
    assert len(server.bodies) == 2


async def test_retry_after_is_waited_for(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    server.script = [raw("slow down", 429, Retry_After="1")]
    before = time.monotonic()
    await embedder.embed("hello")
    assert 1.0 <= time.monotonic() - before < 5.0


async def test_retries_are_bounded(server: ScriptedServer) -> None:
    server.script = [raw("down", 500)] * 3
    async with open_http_embedder(server.url, model="tiny", dimension=3, retries=1) as embedder:
        with pytest.raises(EmbedderError, match="answered 500: down"):
            await embedder.embed("hello")
    assert len(server.bodies) == 2


async def test_a_refusal_is_final_and_hides_the_key(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    server.script = [raw(f"no such key: {_KEY}", 401)]
    with pytest.raises(EmbedderError, match=r"/v1/embeddings answered 401: no such key: \*\*\*") as caught:
        await embedder.embed("hello")
    assert _KEY not in repr(caught.value)
    assert len(server.bodies) == 1


async def test_a_secret_in_the_url_is_not_shown(server: ScriptedServer) -> None:
    server.script = [raw("no", 403)]
    url = server.url.replace("http://", "http://user:hidden@") + "/v1?key=hidden"
    async with open_http_embedder(url, model="tiny", dimension=3) as embedder:
        with pytest.raises(EmbedderError) as caught:
            await embedder.embed("hello")
    assert "hidden" not in str(caught.value)


async def test_a_hanging_server_times_out(server: ScriptedServer) -> None:
    server.delay = 3.0
    async with open_http_embedder(server.url, model="tiny", dimension=3, timeout=0.1, retries=1) as embedder:
        before = time.monotonic()
        with pytest.raises(BackendTimeoutError, match=r"within 0.1 s \(attempts: 2\)") as caught:
            await embedder.embed("hello")
        assert time.monotonic() - before < server.delay
        assert isinstance(caught.value.__cause__, TimeoutError)


async def test_cancelling_leaves_the_client_usable(server: ScriptedServer, embedder: HttpEmbedder) -> None:
    server.delay = 0.5
    with anyio.move_on_after(0.05) as scope:
        await embedder.embed("hello")
    assert scope.cancelled_caught
    server.delay = 0.0
    assert (await embedder.embed("again"))[0] == 5


async def test_a_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with open_http_embedder(f"http://127.0.0.1:{port}", model="tiny", dimension=3, retries=1) as embedder:
        with pytest.raises(EmbedderError, match="could not be asked") as caught:
            await embedder.embed("hello")
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


async def test_a_server_that_hangs_up_is_asked_again(server: ScriptedServer) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, open_http_embedder(f"http://127.0.0.1:{port}", model="m", dimension=3, retries=1) as embedder:
        with pytest.raises(EmbedderError, match="could not be asked") as caught:
            await embedder.embed("hello")
    assert isinstance(caught.value.__cause__, httpx.TransportError)


async def test_another_dimension(server: ScriptedServer) -> None:
    async with open_http_embedder(server.url, model="tiny", dimension=4) as embedder:
        with pytest.raises(DimensionMismatchError, match=r"3 dimensions.* 4") as caught:
            await embedder.embed("hello")
    assert (caught.value.expected, caught.value.got) == (4, 3)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"{}",
        b'{"error": "overloaded"}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1, 2, NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 1e999]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 1e300]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, null]}]}',
        b'{"data": [{"index": 0, "embedding": "%%%"}]}',
        b'{"data": [{"index": 0, "embedding": "AAA="}]}',
        b'{"data": [{"index": 0, "embedding": "AADAfwAAgD8AAIA/"}]}',
        b'{"data": [{"index": 1, "embedding": [1, 2, 3]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 3]}]}',
        b'{"data": [{"embedding": [1, 2, 3]}, {"embedding": [1, 2, 3]}]}',
    ],
)
async def test_what_is_no_embedding(server: ScriptedServer, embedder: HttpEmbedder, content: bytes) -> None:
    server.script = [raw(content)]
    with pytest.raises(EmbedderError):
        await embedder.embed("hello")
    assert (await embedder.embed("hello"))[0] == 5


async def test_the_hosts_client_is_used_and_left_open(server: ScriptedServer) -> None:
    async with httpx.AsyncClient(headers={"X-Host": "yes"}) as client:
        embedder = HttpEmbedder(client, server.url, model="tiny", dimension=3)
        await embedder.embed("hello")
        assert not client.is_closed
    assert server.headers[0]["x-host"] == "yes"
    with pytest.raises(ClosedError):
        await embedder.embed("hello")


async def test_text_that_is_no_unicode(embedder: HttpEmbedder) -> None:
    with pytest.raises(EmbedderError, match="surrogate"):
        await embedder.embed("\ud800")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "ftp://host/v1"),
        ("url", "host:8080"),
        ("url", "http://host:port"),
        ("url", "http://"),
        ("dimension", 0),
        ("batch_size", 0),
        ("batch_chars", 0),
        ("retries", -1),
        ("timeout", 0.0),
        ("timeout", float("nan")),
        ("api_key", "line\nbreak"),
        ("api_key", " "),
        ("api_key", "schlüssel"),
    ],
)
async def test_wrong_arguments_name_the_field(field: str, value: Any) -> None:
    arguments: dict[str, Any] = {"url": "http://host", "model": "tiny", "dimension": 3, field: value}
    async with httpx.AsyncClient() as client:
        with pytest.raises(InvalidInputError) as caught:
            HttpEmbedder(client, **arguments)
    assert caught.value.field == field
    if field == "api_key" and value.strip():
        assert value not in str(caught.value)
