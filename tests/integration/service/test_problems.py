"""Errors as problems: status, code and field; nothing of a backend's own words."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI, HTTPException, Query

from brain_async import BrainError, Engine, EngineConfig, InvalidInputError, KindSpec, Scope, errors
from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.fastapi import header_scope, router
from brain_async.fastapi.problems import problem_of, status_of
from tests.integration.engine.world import DIMENSION, FaultyGraph, FaultyStore, down, hang
from tests.integration.service.served import Client, application, engine_in_memory, in_process

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, BrainError)]
EXPECTED = {
    "invalid_input": 422,
    "query_required": 422,
    "dimension_mismatch": 422,
    "not_found": 404,
    "result_set_not_found": 404,
    "unavailable": 501,
    "graph_required": 501,
    "writes_unsupported": 501,
    "catalog_frozen": 409,
    "closed": 503,
    "event_loop_mismatch": 503,
    "backend_error": 503,
    "embedder_error": 503,
    "graph_ensure": 503,
    "search_index_not_ready": 503,
    "pool_exhausted": 503,
    "backend_timeout": 504,
}


@pytest.mark.parametrize("code", EXPECTED)
def test_the_class_of_an_error_decides_the_status(code: str) -> None:
    (kind,) = [each for each in CLASSES if each.code == code]
    assert status_of(kind.__new__(kind)) == EXPECTED[code]


def test_every_error_has_a_status_of_its_own_choosing() -> None:
    undecided = [kind.__name__ for kind in CLASSES if kind is not BrainError and status_of(kind.__new__(kind)) == 500]
    assert undecided == []


def test_what_a_backend_said_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(errors.BackendError("could not connect to db.internal:5432"))
    assert "db.internal" not in problem.detail
    assert "db.internal" in caplog.text


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        ("/search", {"query": " "}, "query_required", "query"),
        ("/search", {"query": 1}, "invalid_input", "query"),
        ("/search", {}, "invalid_input", "query"),
        ("/search", {"query": "x", "colour": 1}, "invalid_input", "colour"),
        ("/search", {"query": "x", "scope_ids": ["x"]}, "invalid_input", "scope_ids[0]"),
        ("/search", {"query": "x", "channels": ["smell"]}, "invalid_input", "channels[0]"),
        ("/search", {"query": "x", "limit": 1.5}, "invalid_input", "limit"),
        ("/search", {"query": "x", "filters": {"kind": "ghost"}}, "invalid_kind", "kind"),
        ("/objects", {"kind": "thing", "namespace": "x"}, "invalid_input", "namespace"),
        ("/objects", {"kind": "thing", "title": "a\0b"}, "invalid_value", "title"),
        ("/objects", {"kind": "thing", "namespace_id": str(uuid4())}, "namespace_mismatch", "namespace_id"),
        ("/objects/batch", {"objects": [{"kind": "thing"}, {"id": 1}]}, "invalid_input", "objects[1].id"),
        ("/objects/batch", {"objects": {}}, "invalid_input", "objects"),
        ("/objects/batch", {"objects": [], "more": 1}, "invalid_input", "more"),
        ("/objects/batch", {}, "invalid_input", "objects"),
        ("/objects/batch", [], "invalid_input", ""),
        (
            "/links",
            {"from_id": str(uuid4()), "to_id": str(uuid4()), "relation_type": " "},
            "link_arguments",
            "relation_type",
        ),
        ("/links/batch", {"edges": [{"from_id": str(uuid4())}]}, "invalid_input", "edges[0].to_id"),
        ("/continue", {"cursor": "zzz"}, "invalid_session_state", "cursor"),
        ("/expand", {"object_id": None}, "object_id_required", "object_id"),
        ("/kinds", {"kinds": [{"kind": " "}]}, "invalid_kind", "kind"),
    ],
)
async def test_a_wrong_argument_is_named(client: Client, path: str, body: Any, code: str, field: str) -> None:
    response = await client("POST", path, body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["type"], problem["status"], problem["title"]) == ("about:blank", 422, "Unprocessable Entity")
    assert (problem["code"], problem.get("field", "")) == (code, field)
    assert problem["detail"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b'{"query": "\xff"}', b'{"query": "\\ud800"}', b'{"query": NaN}', b'"' * 3,
        b'{"query":"x","filters":{"a":1e999}}',
        b'{"query":"x","filters":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    ],
    ids=range(10),
)  # fmt: skip
async def test_what_is_no_json_of_ours_is_refused(client: Client, content: bytes) -> None:
    headers = {"Content-Type": "application/json", "X-Namespace": str(client.namespace)}
    response = await client.http.post("/v1/search", content=content, headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_input")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
async def test_a_body_that_a_page_could_send_unasked_is_refused(client: Client, media_type: str | None) -> None:
    headers = {"X-Namespace": str(client.namespace), **({"Content-Type": media_type} if media_type else {})}
    response = await client.http.post("/v1/search", content=b'{"query": "x"}', headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "application/vnd.brain+json"])
async def test_json_by_another_name_is_taken(client: Client, media_type: str) -> None:
    response = await client("POST", "/search", {"query": "x"}, headers={"Content-Type": media_type})
    assert response.status_code == 200


async def test_a_path_that_is_no_uuid_is_a_problem_too(client: Client) -> None:
    response = await client("GET", "/objects/zzz")
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (
        422,
        "invalid_input",
        "object_id",
    )


async def test_what_the_engine_lacks_is_501_and_what_failed_503_or_504() -> None:
    store, graph = FaultyStore(MemoryStore(dimension=DIMENSION)), FaultyGraph(MemoryGraph())
    config = EngineConfig(channel_timeout=0.05, fail_on_graph_error=True)
    async with in_process(application(engine_in_memory(store=store, graph=graph, config=config))) as http:
        client = Client(http)
        graph.faults["search_objects_text"] = down("graph at 10.0.0.7")
        failed = await client("POST", "/search", {"query": "x"})
        assert (failed.status_code, failed.json()["code"]) == (503, "backend_error")
        assert "10.0.0.7" not in failed.text
        store.faults["search_lexical"] = hang
        late = await client("POST", "/search", {"query": "x", "channels": ["lexical"]})
        assert (late.status_code, late.json()["code"]) == (504, "backend_timeout")
        store.faults["get"] = errors.PoolExhaustedError("none free")
        busy = await client("GET", f"/objects/{uuid4()}")
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
    async with in_process(application(engine_in_memory(graph=None))) as http:
        lacking = await Client(http)("POST", "/find_objects", {"query": "x"})
        assert (lacking.status_code, lacking.json()["code"]) == (501, "object_search_unavailable")


async def test_a_channel_that_failed_does_not_quote_its_backend() -> None:
    graph = FaultyGraph(MemoryGraph())
    graph.faults["search_objects_text"] = down("graph at 10.0.0.7")
    async with in_process(application(engine_in_memory(graph=graph))) as http:
        got = await Client(http).ok("POST", "/search", {"query": "x"})
    assert got["degraded"] == ["graph_text"]
    assert "10.0.0.7" not in json.dumps(got)


async def test_a_bulk_write_does_not_quote_a_backend_either() -> None:
    graph = FaultyGraph(MemoryGraph())
    graph.faults["ensure_objects"] = down("graph at 10.0.0.7")
    async with in_process(application(engine_in_memory(graph=graph))) as http:
        got = await Client(http).ok("POST", "/objects/batch", {"objects": [{"kind": "thing"}]})
    assert [(failure["code"], failure["stored"]) for failure in got["failures"]] == [("graph_ensure", True)]
    assert "10.0.0.7" not in json.dumps(got)


async def test_a_hosts_own_refusals_pass_and_its_wrong_parameters_are_problems() -> None:
    async def scope(team: int = Query()) -> Scope:
        if team == 13:
            raise HTTPException(status_code=403, detail="not yours")
        if team == 14:
            raise InvalidInputError("no such team", field="team")
        return Scope(uuid4())

    app = FastAPI()
    app.include_router(router(Engine(MemoryStore()), scope=scope))
    async with in_process(app) as http:
        answers = [await http.get(f"/schema?team={team}") for team in (1, 13, 14, "x")]
        searches = [await http.get(f"/objects/{uuid4()}?team={team}") for team in (13, 14, "x")]
    assert answers[0].status_code == 200
    assert [answer.status_code for answer in searches] == [403, 422, 422]
    assert searches[0].json() == {"detail": "not yours"}
    assert [answer.json()["field"] for answer in searches[1:]] == ["team", "team"]


async def test_the_catalog_that_is_frozen_is_a_conflict() -> None:
    engine = Engine(MemoryStore(), graph=MemoryGraph(), ledger=MemoryEdgeLedger(), kinds=[KindSpec(kind="thing")])
    async with in_process(application(engine, scope=header_scope)) as http:
        client = Client(http)
        await client.ok("POST", "/search", {"query": "x"})
        response = await client("POST", "/kinds", {"kinds": []})
    assert (response.status_code, response.json()["code"]) == (409, "catalog_frozen")
