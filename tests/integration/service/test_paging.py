"""Paging without anything kept on the server."""

from __future__ import annotations

from typing import Any

from brain_async.fastapi import Cursors
from tests.integration.service.served import Client, application, engine_in_memory, in_process

SECRET = b"the secret of all workers"


async def put_things(client: Client, count: int) -> None:
    objects = [{"kind": "thing", "title": f"lemon {number}"} for number in range(count)]
    await client.ok("POST", "/objects/batch", {"objects": objects})


async def all_pages(client: Client, first: dict[str, Any], limit: int) -> list[str]:
    found = [obj["id"] for obj in first["objects"]]
    page = first
    while page["has_more"]:
        page = await client.ok("POST", "/continue", {"cursor": page["next"], "limit": limit})
        found += [obj["id"] for obj in page["objects"]]
    assert "next" not in page
    return found


async def test_the_pages_together_are_all_there_is_each_once(client: Client) -> None:
    await put_things(client, 23)
    first = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 5})
    assert (len(first["objects"]), first["total"]) == (5, 23)
    found = await all_pages(client, first, 4)
    assert len(found) == len(set(found)) == 23


async def test_a_page_can_be_asked_for_again_and_two_clients_page_beside_each_other(client: Client) -> None:
    await put_things(client, 12)
    first = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 5})
    again = [await client.ok("POST", "/continue", {"cursor": first["next"], "limit": 3}) for _ in range(2)]
    assert again[0]["objects"] == again[1]["objects"]
    newer = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 2})
    assert await all_pages(client, first, 3) == await all_pages(client, newer, 5)


async def test_another_worker_goes_on_where_it_has_the_secret() -> None:
    engine = engine_in_memory()
    workers = [application(engine, cursors=Cursors(SECRET)), application(engine, cursors=Cursors(SECRET))]
    async with in_process(workers[0]) as one, in_process(workers[1]) as two, in_process(application(engine)) as three:
        client = Client(one)
        await put_things(client, 8)
        first = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 5})
        second = await Client(two, client.namespace).ok("POST", "/continue", {"cursor": first["next"]})
        assert len(second["objects"]) == 3
        refused = await Client(three, client.namespace)("POST", "/continue", {"cursor": first["next"]})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_session_state")


async def test_another_namespaces_cursor_is_useless(client: Client) -> None:
    await put_things(client, 12)
    first = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 5})
    foreign = await client.other()("POST", "/continue", {"cursor": first["next"]})
    invented = await client.other()("POST", "/continue", {"cursor": "x" * len(first["next"])})
    assert foreign.status_code == 422
    assert foreign.content == invented.content


async def test_the_relations_of_a_walk_come_with_every_page(client: Client) -> None:
    stored = await client.ok("POST", "/objects/batch", {"objects": [{"kind": "thing", "title": "t"}] * 31})
    hub, *others = stored["stored"]
    edges = [{"from_id": hub, "to_id": to, "relation_type": "about", "meta": {"note": f"to {to}"}} for to in others]
    await client.ok("POST", "/links/batch", {"edges": edges})
    page = await client.ok("POST", "/expand", {"object_id": hub, "relation_types": ["about"], "limit": 7})
    seen: dict[str, str] = {}
    while True:
        seen |= {obj["id"]: obj["relation"]["meta"]["note"] for obj in page["objects"]}
        if not page["has_more"]:
            break
        page = await client.ok("POST", "/continue", {"cursor": page["next"], "limit": 7})
    assert seen == {to: f"to {to}" for to in others}


async def test_what_was_deleted_since_is_not_shown(client: Client) -> None:
    await put_things(client, 6)
    first = await client.ok("POST", "/find_objects", {"query": "lemon", "limit": 3})
    second = await client.ok("POST", "/continue", {"cursor": first["next"], "limit": 3})
    gone = second["objects"][0]["id"]
    await client.ok("DELETE", f"/objects/{gone}")
    again = await client.ok("POST", "/continue", {"cursor": first["next"], "limit": 3})
    assert [obj["id"] for obj in again["objects"]] == [obj["id"] for obj in second["objects"][1:]]
