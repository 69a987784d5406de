"""The pages over a real engine: everything stored is escaped, nothing writes, nothing comes from elsewhere."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from brain_async import EdgeMeta, Object, Scope
from brain_async.fastapi import fixed_scope, service
from brain_async.inspector import inspector
from tests.integration.service.served import engine_in_memory, in_process

EVIL = "<script>alert(1)</script> lemon"


async def test_what_is_stored_is_escaped_and_nothing_is_foreign() -> None:
    namespace = uuid4()
    engine = engine_in_memory()
    scope = Scope(namespace)
    fields = {"title": EVIL, "summary": EVIL, "content": EVIL}
    one = await engine.put(scope, Object(kind="thing", properties={"tag": EVIL}, **fields))
    two = await engine.put(scope, Object(kind="thing", **fields))
    await engine.put(scope, Object(kind="section", parent_id=one.key, position=0, **fields))
    label = "<script>"
    await engine.link(scope, one.key, two.key, label, EdgeMeta(note=EVIL))
    page = inspector(engine, scope=fixed_scope(namespace))
    other = inspector(engine, scope=fixed_scope(uuid4()))
    async with in_process(service(engine, scope=fixed_scope(namespace), page=page)) as http:
        found = await http.get("/", params={"q": EVIL, "ids": str(two.key), "kinds": "thing, section"})
        drawn = await http.get(f"/object/{one.key}", params={"labels": label, "hops": 2})
        wrong = await http.get("/", params={"q": EVIL, "ids": EVIL})
    assert (found.status_code, drawn.status_code, wrong.status_code) == (200, 200, 422)
    for answer in (found, drawn, wrong):
        _check(answer)
    assert "<mark>lemon</mark>" in found.text
    assert f"/object/{two.key}" in drawn.text
    async with in_process(other) as http:
        hidden, unknown = await http.get(f"/object/{one.key}"), await http.get(f"/object/{uuid4()}")
    assert hidden.status_code == unknown.status_code == 404


async def test_what_was_respelt_is_said_and_marked() -> None:
    namespace = uuid4()
    engine = engine_in_memory()
    one = await engine.put(Scope(namespace), Object(kind="thing", title="Grove"))
    await engine.put(Scope(namespace), Object(kind="section", parent_id=one.key, content="A lemon tree"))
    page = inspector(engine, scope=fixed_scope(namespace))
    async with in_process(service(engine, scope=fixed_scope(namespace), page=page)) as http:
        found = await http.get("/", params={"q": "lmeon"})
    assert "searched “lemon” for “lmeon”" in found.text
    assert "<mark>lemon</mark>" in found.text


def _check(answer: httpx.Response) -> None:
    assert "<script" not in answer.text
    assert "&lt;script" in answer.text
    assert "//" not in answer.text.replace("&lt;", "")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_writes(method: str) -> None:
    async with in_process(inspector(engine_in_memory(), scope=fixed_scope(uuid4()))) as http:
        for path in ("/", f"/object/{uuid4()}", "/style.css"):
            assert (await http.request(method, path)).status_code == 405
