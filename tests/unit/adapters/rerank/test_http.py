"""HttpReranker against a real server on the loopback interface, in each shape of request and reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest

from brain_async.adapters.rerank import HttpReranker, RerankApi, open_http_reranker
from brain_async.errors import BackendTimeoutError, ClosedError, InvalidInputError, RerankerError
from brain_async.model.object import Object
from brain_async.model.results import Evidence, RichObject
from brain_async.ports.host import PassageReranker
from brain_async.testing import RERANKER_CHECKS
from tests.unit.adapters.loopback import Listener, Reply, ScriptedServer, listening, raw

APIS: tuple[RerankApi, ...] = ("cohere", "jina", "tei")
_KEY = "sk-secret-123"

# Longer titles score higher.
OBJECTS = [RichObject(id=UUID(int=length), kind="thing", title="x" * length) for length in (3, 9, 5, 7)]
BEST_FIRST = [OBJECTS[1], OBJECTS[3], OBJECTS[2], OBJECTS[0]]


def texts_of(body: Mapping[str, Any]) -> list[str]:
    found: list[str] = body.get("documents") or body["texts"]
    return found


def scores(body: Mapping[str, Any]) -> Reply:
    """Scores by length, best first as the real servers send them, in the shape that the request is in."""
    scored = sorted(((len(text) / 100, index) for index, text in enumerate(texts_of(body))), reverse=True)
    if "texts" in body:
        return 200, {}, json.dumps([{"index": index, "score": score} for score, index in scored]).encode()
    results = [{"index": index, "relevance_score": score} for score, index in scored]
    return 200, {}, json.dumps({"id": "1", "results": results, "meta": {"billed_units": {}}}).encode()


@pytest.fixture(scope="module")
async def listener() -> AsyncIterator[Listener]:
    async with listening() as found:
        yield found


@pytest.fixture
def server(listener: Listener) -> ScriptedServer:
    return listener.serve(scores)


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> RerankApi:
    found: RerankApi = request.param
    return found


@pytest.fixture
async def reranker(server: ScriptedServer, api: RerankApi) -> AsyncIterator[HttpReranker]:
    async with open_http_reranker(server.url, api=api, model="tiny", api_key=_KEY, timeout=2.0) as opened:
        yield opened


@pytest.mark.parametrize("check", RERANKER_CHECKS, ids=lambda check: check.__name__)
async def test_contract(reranker: HttpReranker, check: Any) -> None:
    await check(reranker)


async def test_the_order_is_the_servers(reranker: HttpReranker, server: ScriptedServer, api: RerankApi) -> None:
    assert isinstance(reranker, PassageReranker)
    assert await reranker.rerank("which", OBJECTS) == BEST_FIRST
    documents = [obj.title for obj in OBJECTS]
    assert server.bodies == [
        {
            "cohere": {"model": "tiny", "query": "which", "documents": documents, "top_n": 4},
            "jina": {
                "model": "tiny",
                "query": "which",
                "documents": documents,
                "top_n": 4,
                "return_documents": False,
            },
            "tei": {"query": "which", "texts": documents, "truncate": True},
        }[api]
    ]
    assert server.paths == [{"cohere": "/v2/rerank", "jina": "/v1/rerank", "tei": "/rerank"}[api]]
    assert server.headers[0]["authorization"] == f"Bearer {_KEY}"


async def test_nothing_is_asked_about_nothing(reranker: HttpReranker, server: ScriptedServer) -> None:
    assert await reranker.rerank("which", []) == []
    assert server.bodies == []


async def test_equal_scores_keep_the_order(reranker: HttpReranker) -> None:
    equals = [RichObject(id=UUID(int=number), kind="thing", title="same") for number in (4, 2, 3)]
    assert await reranker.rerank("which", equals) == equals


async def test_batches_are_ordered_together(server: ScriptedServer, api: RerankApi) -> None:
    async with open_http_reranker(server.url, api=api, model="tiny", batch_size=3) as reranker:
        assert await reranker.rerank("which", OBJECTS) == BEST_FIRST
    assert [len(texts_of(body)) for body in server.bodies] == [3, 1]


async def test_what_is_judged(reranker: HttpReranker, server: ScriptedServer) -> None:
    part, gone = UUID(int=11), UUID(int=12)
    found = RichObject(
        id=UUID(int=1),
        kind="document",
        title="Contract",
        summary="Terms",
        evidence=(
            Evidence(part_id=part, title="Contract", snippet="renewal in…"),
            Evidence(part_id=gone, title="Annex", snippet="a snippet"),
        ),
    )
    lone, bare = RichObject(id=UUID(int=2), kind="person"), RichObject(id=UUID(int=3), kind="deal")
    passages = {
        part: Object(id=part, content="renewal in March\nby letter"),
        lone.id: Object(id=lone.id, content="c" * 5_000),
    }
    await reranker.rerank_passages("when", [found, lone, bare], passages)
    await reranker.rerank("when", [found])
    whole, beginning, kind = texts_of(server.bodies[0])
    assert whole == "Contract\nTerms\nrenewal in March\nby letter\nAnnex\na snippet"
    assert (beginning, kind) == ("c" * 2_000, "deal")
    assert texts_of(server.bodies[1]) == ["Contract\nTerms\nrenewal in…\nAnnex\na snippet"]


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again_after_what_it_says(
    reranker: HttpReranker, server: ScriptedServer, status: int
) -> None:
    server.script = [raw("busy", status, Retry_After="0.3")]
    with anyio.fail_after(10):
        assert await reranker.rerank("which", OBJECTS) == BEST_FIRST
    assert len(server.bodies) == 2


async def test_retries_are_bounded(reranker: HttpReranker, server: ScriptedServer) -> None:
    server.script = [raw("down", 503)] * 3
    with pytest.raises(RerankerError, match=r"the reranking server at .* answered 503: down"):
        await reranker.rerank("which", OBJECTS)
    assert len(server.bodies) == 2


async def test_a_refusal_is_final_and_hides_the_key(reranker: HttpReranker, server: ScriptedServer) -> None:
    server.script = [raw(f"no such key: {_KEY}", 401)]
    with pytest.raises(RerankerError, match=r"answered 401: no such key: \*\*\*"):
        await reranker.rerank("which", OBJECTS)
    assert len(server.bodies) == 1


async def test_a_slow_server_times_out(server: ScriptedServer, api: RerankApi) -> None:
    server.delay = 3.0
    async with open_http_reranker(server.url, api=api, model="tiny", timeout=0.1, retries=0) as reranker:
        with pytest.raises(BackendTimeoutError, match=r"within 0.1 s \(attempts: 1\)"):
            await reranker.rerank("which", OBJECTS)


def reply(api: RerankApi, *scored: tuple[object, object]) -> bytes:
    """The reply of a server that gives these (index, score) as they are."""
    items = ", ".join(f'{{"index": {index}, "{_SCORE[api]}": {score}}}' for index, score in scored)
    return (f"[{items}]" if api == "tei" else f'{{"results": [{items}]}}').encode()


_SCORE: Mapping[RerankApi, str] = {"cohere": "relevance_score", "jina": "relevance_score", "tei": "score"}
_MALFORMED = {
    "nothing": b"",
    "no JSON": b"<html>",
    "no UTF-8": b"\xff\xfe",
    "an error": b'{"error": "overloaded"}',
    "another shape": b'{"data": [1, 2]}',
}
_WRONG: Mapping[str, tuple[tuple[object, object], ...]] = {
    "too few": ((0, 0.5),),
    "none": (),
    "too many": ((0, 0.5), (1, 0.4), (1, 0.4)),
    "twice the same": ((0, 0.5), (0, 0.4)),
    "out of range": ((0, 0.5), (2, 0.4)),
    "negative": ((0, 0.5), (-1, 0.4)),
    "NaN": ((0, 0.5), (1, "NaN")),
    "infinite": ((0, 0.5), (1, "1e999")),
    "null": ((0, 0.5), (1, "null")),
    "text": ((0, 0.5), (1, '"high"')),
    "no index": (("null", 0.5), (1, 0.4)),
}


@pytest.mark.parametrize("what", [*_MALFORMED, *_WRONG])
async def test_what_is_no_ranking(reranker: HttpReranker, server: ScriptedServer, api: RerankApi, what: str) -> None:
    server.script = [raw(_MALFORMED[what] if what in _MALFORMED else reply(api, *_WRONG[what]))]
    with pytest.raises(RerankerError, match="the reranking server"):
        await reranker.rerank("which", OBJECTS[:2])
    assert await reranker.rerank("which", OBJECTS[:2]) == [OBJECTS[1], OBJECTS[0]]


@pytest.mark.parametrize(
    ("suffix", "path"),
    [("/rerank", "/rerank"), ("/v1/", "/v1/rerank"), ("/proxy/rerank?version=2", "/proxy/rerank"), ("/", "/v1/rerank")],
)
async def test_address(server: ScriptedServer, suffix: str, path: str) -> None:
    async with open_http_reranker(server.url + suffix, api="jina", model="tiny") as reranker:
        await reranker.rerank("which", OBJECTS)
    assert server.paths == [path]
    assert "authorization" not in server.headers[0]


async def test_cancelling_leaves_the_client_usable(reranker: HttpReranker, server: ScriptedServer) -> None:
    server.delay = 0.5
    with anyio.move_on_after(0.05) as scope:
        await reranker.rerank("which", OBJECTS)
    assert scope.cancelled_caught
    server.delay = 0.0
    assert await reranker.rerank("which", OBJECTS) == BEST_FIRST


async def test_the_hosts_client_is_left_open(server: ScriptedServer) -> None:
    async with httpx.AsyncClient() as client:
        reranker = HttpReranker(client, server.url, api="tei")
        assert await reranker.rerank("which", OBJECTS) == BEST_FIRST
        assert not client.is_closed
    with pytest.raises(ClosedError, match="the reranking server"):
        await reranker.rerank("which", OBJECTS)


async def test_text_that_is_no_unicode(reranker: HttpReranker) -> None:
    with pytest.raises(RerankerError, match="surrogate"):
        await reranker.rerank("\ud800", OBJECTS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("api", "voyage"),
        ("model", ""),
        ("url", "ftp://host"),
        ("batch_size", 0),
        ("document_chars", 0),
        ("retries", -1),
        ("timeout", 0.0),
        ("api_key", "line\nbreak"),
    ],
)
async def test_wrong_arguments_name_the_field(field: str, value: Any) -> None:
    arguments: dict[str, Any] = {"url": "http://host", "api": "jina", "model": "tiny", field: value}
    async with httpx.AsyncClient() as client:
        with pytest.raises(InvalidInputError) as caught:
            HttpReranker(client, **arguments)
    assert caught.value.field == field
