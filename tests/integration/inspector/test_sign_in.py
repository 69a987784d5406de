"""Signing in to the pages of a service that needs a token."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from brain_async.errors import InvalidInputError
from brain_async.fastapi import fixed_scope, service
from brain_async.inspector import inspector
from tests.integration.inspector.world import inspected_engine
from tests.integration.service.served import in_process

TOKEN = "sesame+öffne dich"


@pytest.fixture
def app() -> FastAPI:
    source = fixed_scope(uuid4())
    engine = inspected_engine()
    page = inspector(engine, scope=source, token=TOKEN, admin=True)
    return service(engine, scope=source, token=TOKEN, page=page, page_asks=True)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with in_process(app) as client:
        yield client


async def sign_in(http: httpx.AsyncClient, token: str = TOKEN, **fields: str) -> httpx.Response:
    return await http.post("/sign-in", data={"token": token, **fields})


async def test_without_the_token_there_is_the_form_and_nothing_else(http: httpx.AsyncClient) -> None:
    for path in ("/", "/kinds", "/state", f"/object/{uuid4()}", "/edge", "/proof", "/nowhere", "/openapi.json"):
        answer = await http.get(path)
        assert answer.status_code == 401
        assert 'type="password"' in answer.text
        assert "State" not in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert (await http.get("/style.css")).status_code == 200
    assert (await http.get("/healthz")).status_code == 200


async def test_the_token_gives_a_cookie_that_opens_the_pages_and_not_the_api(http: httpx.AsyncClient) -> None:
    answer = await sign_in(http)
    assert (answer.status_code, answer.headers["location"]) == (303, "./")
    cookie = answer.headers["set-cookie"]
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert attribute in cookie
    assert "sesame" not in cookie
    assert "Secure" not in cookie
    assert (await http.get("/")).status_code == 200
    # A cookie is sent by the browser by itself: the API takes the header only.
    for path in ("/v1/schema", "/v1/openapi.json", "/readyz"):
        refused = await http.get(path)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    await http.post("/sign-out")
    assert (await http.get("/")).status_code == 401


async def test_over_https_the_cookie_is_secure(app: FastAPI) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://localhost") as http:
        assert "Secure" in (await sign_in(http)).headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "sesame", TOKEN + " ", "x" * 9000, "\udcff"])
async def test_another_token_is_refused(http: httpx.AsyncClient, token: str) -> None:
    body = "token=" + token.encode("utf-8", "surrogateescape").decode("latin-1")
    answer = await http.post(
        "/sign-in",
        content=body.encode("latin-1"),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code == 401
    assert "This is not the token" in answer.text
    assert "set-cookie" not in answer.headers


async def test_the_bearer_token_opens_the_pages_too(http: httpx.AsyncClient) -> None:
    page = inspector(inspected_engine(), scope=fixed_scope(uuid4()), token="sesame")
    async with in_process(page) as client:
        assert (await client.get("/", headers={"Authorization": "Bearer sesame"})).status_code == 200
        assert (await client.get("/", headers={"Authorization": "Bearer sesam"})).status_code == 401
        assert (await client.get("/", headers={"Authorization": "Basic sesame"})).status_code == 401


async def test_it_leads_back_to_the_page_asked_for_and_nowhere_else(http: httpx.AsyncClient) -> None:
    form = (await http.get("/?q=lemon+grove&kinds=deal%2Cnote")).text
    place = re.search(r'name="to" value="([^"]*)"', form)
    assert place
    back = await sign_in(http, to=place[1].replace("&amp;", "&"))
    assert back.headers["location"] == "./?q=lemon+grove&kinds=deal%2Cnote"
    for elsewhere in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "../..//evil",
        "javascript:x",
        "a\r\nb",
    ):
        assert (await sign_in(http, to=elsewhere)).headers["location"] == "./"


async def test_forms_of_other_sites_are_refused(http: httpx.AsyncClient) -> None:
    for site in ("cross-site", "same-site"):
        for path in ("/sign-in", "/sign-out"):
            answer = await http.post(path, data={"token": TOKEN}, headers={"Sec-Fetch-Site": site})
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers


async def test_below_a_path_the_cookie_is_of_that_path() -> None:
    page = inspector(inspected_engine(), scope=fixed_scope(uuid4()), token="sesame")
    host = FastAPI()
    host.mount("/brain", page)
    async with in_process(host) as http:
        assert 'action="./sign-in"' in (await http.get("/brain/")).text
        answer = await http.post("/brain/sign-in", data={"token": "sesame"})
        assert "Path=/brain/" in answer.headers["set-cookie"]
        assert (await http.get("/brain/kinds")).status_code == 200


@pytest.mark.parametrize("prefix", ["", "/kb"])
async def test_without_the_token_no_path_leads_to_the_api(app: FastAPI, prefix: str) -> None:
    host = FastAPI()
    host.mount(prefix, app)
    async with in_process(host) as http:
        for path in (
            "/v1/schema",
            "//v1/schema",
            "/./v1/schema",
            "/%2Fv1/schema",
            "/V1/schema",
            "/v1%2Fschema",
            "/readyz",
        ):
            answer = await http.get(f"{prefix}{path}")
            assert answer.status_code in (401, 404), path
            assert "kinds" not in answer.text


def test_an_empty_token_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        inspector(inspected_engine(), scope=fixed_scope(uuid4()), token="")
