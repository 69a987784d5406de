"""Another namespace's ids get the answer of ids that do not exist, byte for byte but for the id."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import open_postgres
from brain_async.fastapi import fixed_scope
from tests.integration.engine.world import DIMENSION
from tests.integration.service.served import Client, application, engine_in_memory, in_process

NEW = str(uuid4())
# Method, path and body, in which {id} is the id asked about and {mine} one of the caller's own.
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/objects/{id}", None),
    ("GET", "/objects/{id}/children", None),
    ("DELETE", "/objects/{id}", None),
    ("POST", "/search", {"query": "lemon", "scope_ids": ["{id}"]}),
    ("POST", "/search", {"query": "lemon", "explain": True, "explain_ids": ["{id}"]}),
    ("POST", "/find_exact", {"query": "{id}"}),
    ("POST", "/find_exact", {"query": "lemon", "scope_ids": ["{id}"]}),
    ("POST", "/expand", {"object_id": "{id}"}),
    ("POST", "/expand", {"object_id": "{id}", "relation_types": ["about"]}),
    ("POST", "/expand_many", {"seed_ids": ["{id}", "{mine}"], "relation_types": ["about", "contains"]}),
    ("POST", "/expand_by_recipe", {"name": "around", "object_id": "{id}"}),
    ("POST", "/links", {"from_id": "{mine}", "to_id": "{id}", "relation_type": "about"}),
    ("POST", "/links", {"from_id": "{id}", "to_id": "{mine}", "relation_type": "about"}),
    ("POST", "/links/batch", {"edges": [{"from_id": "{mine}", "to_id": "{id}", "relation_type": "about"}]}),
    ("DELETE", "/links?from_id={mine}&to_id={id}&relation_type=about", None),
    ("DELETE", "/links?from_id={id}&to_id={mine}&relation_type=about", None),
    ("POST", "/objects", {"kind": "section", "parent_id": "{id}", "content": "x"}),
    ("POST", "/objects/batch", {"objects": [{"id": NEW, "kind": "section", "parent_id": "{id}", "content": "x"}]}),
]
# Told by the clock, not by the id.
VARYING = ("seconds", "started")


@pytest.fixture(params=["memory", "postgres"])
async def tenants(
    request: pytest.FixtureRequest, postgres_dsn: str, fresh_schema: str
) -> AsyncIterator[tuple[Client, Client]]:
    if request.param == "memory":
        async with in_process(application(engine_in_memory(store=MemoryStore(dimension=DIMENSION)))) as http:
            client = Client(http)
            yield client, client.other()
        return
    async with (
        open_postgres(postgres_dsn, dimension=DIMENSION, search_path=f"{fresh_schema}, public") as store,
        in_process(application(engine_in_memory(store=store))) as http,
    ):
        client = Client(http)
        yield client, client.other()


async def test_another_tenants_ids_are_as_good_as_unknown(tenants: tuple[Client, Client]) -> None:
    mine, theirs = tenants
    own = (await mine.ok("POST", "/objects", {"kind": "thing", "title": "lemon mine"}))["id"]
    foreign = await theirs.ok("POST", "/objects/batch", {"objects": [{"kind": "thing", "title": "lemon theirs"}] * 2})
    parent, other = foreign["stored"]
    part = await theirs.ok("POST", "/objects", {"kind": "section", "content": "lemon", "parent_id": parent})
    await theirs.ok("POST", "/links", {"from_id": parent, "to_id": other, "relation_type": "about"})

    for request in REQUESTS:
        for known in (parent, part["id"]):
            unknown = str(uuid4())
            answers = [await ask(mine, request, own, asked) for asked in (known, unknown)]
            assert answers[0] == answers[1], request
    # Nothing happened to what is theirs.
    assert (await theirs.ok("GET", f"/objects/{parent}"))["title"] == "lemon theirs"
    walked = await theirs.ok("POST", "/expand", {"object_id": parent, "relation_types": ["about"]})
    assert [obj["id"] for obj in walked["objects"]] == [other]


async def ask(client: Client, request: tuple[str, str, Any], own: str, asked: str) -> tuple[int, dict[str, str], Any]:
    """(status, headers, body) of the answer, with the id that was asked about written as ID."""
    method, path, body = request
    response = await client(method, filled(path, own, asked), filled(body, own, asked))
    return response.status_code, headers(response), without_clock(response.text.replace(asked, "ID"))


def filled(value: Any, own: str, asked: str) -> Any:
    if isinstance(value, str):
        return value.replace("{mine}", own).replace("{id}", asked)
    if isinstance(value, list):
        return [filled(item, own, asked) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, own, asked) for key, item in value.items()}
    return value


def headers(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "content-length"}


def without_clock(text: str) -> str:
    return re.sub(rf'"({"|".join(VARYING)}|decay|score|share|fused)":[0-9.e+-]+', r'"\1":0', text)


async def test_an_unnamed_namespace_is_refused_and_a_header_counts_only_for_the_dependency_that_reads_it() -> None:
    engine = engine_in_memory()
    async with in_process(application(engine)) as http:
        for given in ({}, {"X-Namespace": "x"}, {"X-Namespace": "00000000-0000-0000-0000-000000000000"}):
            assert (await http.get(f"/v1/objects/{uuid4()}", headers=given)).status_code == 422
        twice = [("X-Namespace", str(uuid4())), ("X-Namespace", str(uuid4()))]
        assert (await http.get(f"/v1/objects/{uuid4()}", headers=twice)).status_code == 422
        theirs = Client(http)
        kept = (await theirs.ok("POST", "/objects", {"kind": "thing"}))["id"]
    async with in_process(application(engine, scope=fixed_scope(uuid4()))) as http:
        # The header names the owner, and is not looked at.
        assert (await Client(http, theirs.namespace)("GET", f"/objects/{kept}")).status_code == 404
