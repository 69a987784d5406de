"""The whole application: its token, the hosts it answers to, health, and what is not there."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import anyio
import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from brain_async import Engine, InvalidInputError
from brain_async.adapters.memory import MemoryGraph, MemoryStore
from brain_async.fastapi import LoopWatch, fixed_scope, health_router, lifespan_engine, service
from tests.integration.engine.world import DIMENSION, FaultyGraph, FaultyStore, down, hang
from tests.integration.service.served import application, engine_in_memory, in_process, over_http

TOKEN = "open sesame, bitte: ä"
BEARER = {"Authorization": f"Bearer {TOKEN}".encode()}


def served(engine: Engine | None = None, **options: Any) -> FastAPI:
    return service(engine or engine_in_memory(), **{"scope": fixed_scope(uuid4()), **options})


async def test_with_a_token_every_route_but_one_needs_it() -> None:
    app = served(token=TOKEN)
    routes = [(path, method) for path, methods in app.openapi()["paths"].items() for method in methods]
    closed = [route for route in routes if route != ("/healthz", "get")]
    assert len(closed) > 20
    async with in_process(app) as http:
        for path, method in [*closed, ("/v1/openapi.json", "get"), ("/", "get"), ("/nowhere", "get")]:
            refused = await http.request(method, path.format(object_id=uuid4()))
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), path
            assert refused.headers["www-authenticate"] == "Bearer"
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz", headers=BEARER)).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer \xff",
    ],
)
async def test_what_is_not_the_token_opens_nothing(given: str) -> None:
    async with in_process(served(token=TOKEN)) as http:
        refused = await http.get("/readyz", headers={"Authorization": given.encode()})
    assert refused.status_code == 401


async def test_a_path_that_only_looks_open_is_closed() -> None:
    async with over_http(served(token=TOKEN)) as url:
        for path in ("/healthz/", "//healthz", "/healthz/../readyz", "/readyz?/healthz", "/%72eadyz", "/HEALTHZ"):
            async with await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2])) as stream:
                await stream.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                assert (await stream.receive()).startswith(b"HTTP/1.1 401 "), path


def test_an_empty_token_is_a_mistake() -> None:
    with pytest.raises(InvalidInputError, match="token"):
        served(token="").build_middleware_stack()


async def test_a_name_that_is_not_ours_is_refused() -> None:
    async with in_process(served(hosts=["localhost", "127.0.0.1", "::1"])) as http:
        for host in ("localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"):
            assert (await http.get("/healthz", headers={"Host": host})).status_code == 200, host
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "[::2]"):
            refused = await http.get("/healthz", headers={"Host": host})
            assert (refused.status_code, refused.json()["code"]) == (421, "bad_host"), host


async def test_no_other_origin_is_let_in() -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    async with in_process(served()) as http:
        for method, path in (("OPTIONS", "/v1/search"), ("GET", "/v1/schema")):
            response = await http.request(method, path, headers=headers)
            assert not [name for name in response.headers if name.lower().startswith("access-control")]


async def test_unknown_routes_and_methods_are_problems() -> None:
    async with in_process(served()) as http:
        unknown, wrong = await http.get("/v2/search"), await http.get("/v1/search")
        missing_page = await http.get("/")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "route_not_found")
    assert (wrong.status_code, wrong.json()["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "POST")
    assert missing_page.status_code == 404


async def test_a_defect_is_a_problem_without_its_words() -> None:
    async def broken() -> Engine:
        raise RuntimeError("secret")

    app = served(broken)  # type: ignore[arg-type]
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        response = await http.get("/v1/schema")
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "secret" not in response.text


async def test_a_page_gets_what_is_left_and_hides_nothing() -> None:
    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(f"page at {scope['path']}")(scope, receive, send)

    async with in_process(served(page=page)) as http:
        assert (await http.get("/")).text == "page at /"
        assert (await http.get("/objects/1")).text == "page at /objects/1"
        assert (await http.get("/v1/schema")).json()["kinds"]
        assert (await http.get("/healthz")).json()["status"] == "up"


async def test_readiness_follows_the_store_and_liveness_does_not() -> None:
    store, graph = FaultyStore(MemoryStore(dimension=DIMENSION)), FaultyGraph(MemoryGraph())
    engine = engine_in_memory(store=store, graph=graph)
    store.faults["get_many"] = graph.faults["neighbors"] = down("db.internal")
    async with in_process(served(engine)) as http:
        alive, ready = await http.get("/healthz"), await http.get("/readyz")
    assert alive.status_code == 200
    assert alive.json() == {"status": "down", "backends": {"store": "down", "graph": "down", "ledger": "up"}}
    assert ready.status_code == 503
    assert ready.json()["backends"]["store"]["problem"] == "db.internal is down"
    del store.faults["get_many"]
    async with in_process(served(engine)) as http:
        ready = await http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert ready.headers["cache-control"] == "no-store"


async def test_a_backend_that_hangs_is_waited_for_within_bounds() -> None:
    store = FaultyStore(MemoryStore(dimension=DIMENSION))
    store.faults["get_many"] = hang
    app = FastAPI()
    app.include_router(health_router(engine_in_memory(store=store), timeout=0.1))
    async with in_process(app) as http:
        with anyio.fail_after(5):
            assert (await http.get("/readyz")).status_code == 503


async def test_many_probes_at_once_ask_the_backends_once() -> None:
    store = FaultyStore(MemoryStore(dimension=DIMENSION))
    answers: list[int] = []
    async with in_process(served(engine_in_memory(store=store))) as http:

        async def probe() -> None:
            answers.append((await http.get("/healthz")).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(probe)
    assert answers == [200] * 20
    assert store.calls.count("get_many") == 1


async def test_an_application_without_a_lifespan_says_so() -> None:
    async with in_process(application(lifespan_engine)) as http:
        response = await http.get(f"/v1/objects/{uuid4()}", headers={"X-Namespace": str(uuid4())})
    assert (response.status_code, response.json()["code"]) == (503, "closed")


async def test_the_longest_hold_up_of_the_loop_is_told() -> None:
    watch = LoopWatch()
    async with anyio.create_task_group() as group:
        group.start_soon(watch.run)
        await anyio.sleep(0.05)
        time.sleep(0.3)  # noqa: ASYNC251
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    assert watch.worst > 0.2
    async with in_process(served(watch=watch)) as http:
        assert (await http.get("/readyz")).json()["loop_held_up"] == watch.worst
