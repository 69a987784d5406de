"""Tens of thousands of ids in one call."""

from __future__ import annotations

from uuid import uuid4

import anyio
import pytest

from brain_async import Object
from tests.integration.engine.world import World, ids, put_family, put_titled

pytestmark = pytest.mark.on_helix

MANY = 40_000


async def test_scope_ids_by_the_tens_of_thousands(engine_world: World) -> None:
    session = engine_world.session()
    inside, _ = await put_family(session, ["lemon"])
    await put_family(session, ["lemon"])
    strangers = [uuid4() for _ in range(MANY)]
    with anyio.fail_after(5):
        assert ids(await session.search("lemon", scope_ids=[*strangers, inside.key, inside.key])) == [inside.id]
        assert ids(await session.find_exact("lemon", scope_ids=[*strangers, inside.key])) == [inside.id]
        assert ids(await session.search("lemon", scope_ids=strangers)) == []


async def test_seeds_by_the_tens_of_thousands(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["a", "b"])
    seeds = [parent.key, *(uuid4() for _ in range(MANY // 10)), parent.key]
    with anyio.fail_after(20):
        assert ids(await session.expand_many(seeds, budget=100)) == [part.id for part in parts]


async def test_ids_to_explain_by_the_tens_of_thousands(engine_world: World) -> None:
    session = engine_world.session()
    parent, _ = await put_family(session, ["lemon"])
    asked = [parent.key, *(uuid4() for _ in range(MANY))]
    with anyio.fail_after(5):
        page = await session.search("lemon", explain=True, explain_ids=asked)
    assert page.explanation is not None
    assert len(page.explanation.missing) == MANY


async def test_a_walk_reaches_thousands(engine_world: World) -> None:
    session = engine_world.session()
    (root,) = await put_titled(session, "root")
    level = [root]
    for _ in range(2):
        children: list[Object] = []
        for parent in level[:40]:
            batch = (await session.put_many([Object(kind="thing", title="n") for _ in range(30)])).objects
            for child in batch:
                await session.link(parent.id, child.id, "about")
            children += batch
        level = children
    with anyio.fail_after(5):
        page = await session.expand(root.id, ["about"], max_hops=2, direction="out")
    assert page.total == 30 + 30 * 30
