"""Every verb over HTTP gives what the engine gives."""

from __future__ import annotations

import inspect
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest

from brain_async import Engine, EngineConfig, Scope, SearchContext, SearchPage, SearchRequest
from brain_async.fastapi import router
from tests.integration.service.served import Client, application, engine_in_memory, in_process

NOT_SERVED = {"project", "sync_kinds_to_store", "load_kinds_from_store", "health"}


async def family(client: Client, title: str = "lemon grove") -> tuple[str, str]:
    """A parent and its part."""
    parent = await client.ok("POST", "/objects", {"kind": "thing", "title": title, "properties": {"n": 1}})
    part = await client.ok(
        "POST", "/objects", {"kind": "section", "parent_id": parent["id"], "content": title, "position": 1}
    )
    return parent["id"], part["id"]


def test_every_verb_has_an_endpoint() -> None:
    app = application(engine_in_memory())
    operations = {op["operationId"] for path in app.openapi()["paths"].values() for op in path.values()}
    verbs = {name.rstrip("_") for name, _ in inspect.getmembers(Engine, inspect.iscoroutinefunction)}
    assert operations == verbs - NOT_SERVED


async def test_search_over_http_is_the_engines_search() -> None:
    engine = engine_in_memory(config=EngineConfig(decay_lambda=0))
    async with in_process(application(engine)) as http:
        client = Client(http)
        await family(client)
        got = await client.ok(
            "POST", "/search", {"query": "lemon", "explain": True, "filters": {"kind": "thing", "n": 1}}
        )
        request = SearchRequest(query="lemon", explain=True, filters={"kind": "thing", "n": 1})
        page = await engine.search(Scope(client.namespace), request, SearchContext())
    expected = msgspec.to_builtins(page)
    assert got["objects"][0]["evidence"] == list(expected["objects"][0]["evidence"])
    assert [obj["id"] for obj in got["objects"]] == [obj["id"] for obj in expected["objects"]]
    assert {each["channel"] for each in got["outcomes"]} == {each["channel"] for each in expected["outcomes"]}
    assert got["explanation"]["fusion"] == "relative"
    assert msgspec.convert({k: v for k, v in got.items() if k != "next"}, SearchPage).total == page.total


async def test_what_was_respelt_is_said_on_every_page(client: Client) -> None:
    for _ in range(2):
        await family(client)
    first = await client.ok("POST", "/search", {"query": "lmeon", "limit": 1})
    assert first["respelled"] == {"lmeon": "lemon"}
    assert (await client.ok("POST", "/continue", {"cursor": first["next"]}))["respelled"] == {"lmeon": "lemon"}
    typed = await client.ok("POST", "/search", {"query": "lmeon", "respell": False})
    assert "respelled" not in typed


async def test_objects_are_put_read_listed_and_deleted(client: Client) -> None:
    parent, part = await family(client)
    assert (await client.ok("GET", f"/objects/{part}"))["content"] == "lemon grove"
    children = await client.ok("GET", f"/objects/{parent}/children")
    assert [child["id"] for child in children["objects"]] == [part]
    assert (await client("DELETE", f"/objects/{parent}")).status_code == 204
    assert (await client("GET", f"/objects/{parent}")).status_code == 404


async def test_finding_answers_with_an_empty_list_rather_than_nothing(client: Client) -> None:
    for path in ("/search", "/find_exact", "/find_objects"):
        got = await client.ok("POST", path, {"query": "nowhere"})
        assert (got["objects"], got["has_more"], got["total"]) == ([], False, 0)
        assert "next" not in got


async def test_links_are_made_walked_found_and_removed(client: Client) -> None:
    (one, _), (two, _) = await family(client, "one"), await family(client, "two")
    edge = await client.ok(
        "POST", "/links", {"from_id": one, "to_id": two, "relation_type": "About", "meta": {"note": "lemon trade"}}
    )
    assert edge["relation_type"] == "about"
    walked = await client.ok("POST", "/expand", {"object_id": one, "relation_types": ["about"]})
    assert [(obj["id"], obj["relation"]["meta"]["note"]) for obj in walked["objects"]] == [(two, "lemon trade")]
    many = await client.ok("POST", "/expand_many", {"seed_ids": [one], "relation_types": ["about"]})
    assert [obj["id"] for obj in many["objects"]] == [two]
    by_recipe = await client.ok("POST", "/expand_by_recipe", {"name": "around", "object_id": one})
    assert two in [obj["id"] for obj in by_recipe["objects"]]
    found = await client.ok("POST", "/find_links", {"relation_type": "about", "query": "trade"})
    assert [(hit["source"]["id"], hit["target"]["id"]) for hit in found["links"]] == [(one, two)]
    done = await client("DELETE", f"/links?from_id={one}&to_id={two}&relation_type=about")
    assert done.status_code == 204
    assert (await client.ok("POST", "/expand", {"object_id": one, "relation_types": ["about"]}))["objects"] == []


async def test_many_are_written_at_once_and_bad_ones_are_named(client: Client) -> None:
    keys = [str(uuid4()) for _ in range(3)]
    objects = [{"id": key, "kind": "thing", "title": key} for key in keys] + [{"kind": "ghost"}]
    got = await client.ok("POST", "/objects/batch", {"objects": objects})
    assert got["stored"] == keys
    assert [(failure["index"], failure["code"]) for failure in got["failures"]] == [(3, "invalid_object")]
    edges = [{"from_id": keys[0], "to_id": key, "relation_type": "about"} for key in (*keys[1:], str(uuid4()))]
    linked = await client.ok("POST", "/links/batch", {"edges": edges})
    assert [edge["to_id"] for edge in linked["edges"]] == keys[1:]
    assert [(failure["index"], failure["code"]) for failure in linked["failures"]] == [(2, "object_not_found")]


async def test_the_schema_and_its_kinds(client: Client) -> None:
    assert [kind["kind"] for kind in (await client.ok("GET", "/schema"))["kinds"]] == ["section", "thing"]
    assert [kind["kind"] for kind in (await client.ok("GET", "/schema?kind=thing"))["kinds"]] == ["thing"]
    new = {"kinds": [{"kind": "deal", "fields": [{"name": "stage", "type": "string"}]}]}
    applied = await client.ok("POST", "/kinds", new)
    assert applied["kinds"] == [
        {"kind": "deal", "fields": [{"name": "stage", "type": "string", "operators": ["eq", "in"]}]}
    ]
    wrong = await client("POST", "/kinds", {"kinds": [{"kind": "deal", "fields": [{"name": "x", "type": "blob"}]}]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "kinds[0].fields[0].type")


async def test_the_graph_is_looked_after(client: Client) -> None:
    await family(client)
    assert (await client.ok("GET", "/drift"))["compared"] is True
    report = await client.ok("POST", "/reconcile", {"full": True})
    assert report["failures"] == []
    assert report["after"]["missing_nodes"] == 0


@pytest.mark.parametrize(("options", "absent"), [({"writes": False}, 8), ({"admin": False}, 3)])
def test_what_a_host_leaves_out_is_not_there(options: dict[str, Any], absent: int) -> None:
    def endpoints(**options: Any) -> set[tuple[str, str]]:
        paths = application(engine_in_memory(), **options).openapi()["paths"]
        return {(path, method) for path, methods in paths.items() for method in methods}

    left_out = endpoints() - endpoints(**options)
    assert len(left_out) == absent
    if options == {"admin": False}:
        assert left_out == {("/v1/drift", "get"), ("/v1/kinds", "post"), ("/v1/reconcile", "post")}


async def test_events_tell_of_the_progress_of_a_large_write(client: Client) -> None:
    objects = [{"kind": "thing", "title": f"t{n}"} for n in range(1_200)]
    response = await client("POST", "/objects/batch", {"objects": objects}, headers={"Accept": "text/event-stream"})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = read_events(response)
    assert [name for name, _ in events] == ["progress", "progress", "progress", "result"]
    assert [data["done"] for name, data in events if name == "progress"] == [500, 1_000, 1_200]
    assert len(events[-1][1]["stored"]) == 1_200


async def test_an_error_after_the_first_event_is_an_event() -> None:
    async with in_process(application(engine_in_memory(graph=None))) as http:
        client = Client(http)
        edge = {"from_id": str(uuid4()), "to_id": str(uuid4()), "relation_type": "about"}
        response = await client("POST", "/links/batch", {"edges": [edge]}, headers={"Accept": "text/event-stream"})
    ((name, problem),) = read_events(response)
    assert (name, problem["code"], problem["status"]) == ("error", "graph_writer_required", 501)


def read_events(response: httpx.Response) -> list[tuple[str, Any]]:
    blocks = [block.splitlines() for block in response.text.split("\n\n") if block]
    return [
        (block[0].removeprefix("event: "), msgspec.json.decode(block[1].removeprefix("data: "))) for block in blocks
    ]


def test_there_is_no_default_scope() -> None:
    with pytest.raises(TypeError, match="scope"):
        router(engine_in_memory())  # type: ignore[call-arg]
