"""Embeddings: small tenants beside large ones, dimensions that change, and dimensions beyond an index's limit."""

from __future__ import annotations

from math import cos, radians, sin
from typing import Any

import numpy as np
import pytest

from brain_async import DimensionMismatchError, Object, Session
from brain_async.adapters.memory import MemoryStore
from brain_async.adapters.postgres import open_postgres
from tests.integration.engine.world import DIMENSION, WordEmbedder, World, evidence_ids, ids, put_family


class FixedEmbedder(WordEmbedder):
    """Every text is the first axis."""

    async def embed_many(self, texts: Any) -> Any:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        vectors[:, 0] = 1
        return vectors


def at_angle(degrees: float, dimension: int = DIMENSION) -> tuple[float, ...]:
    return (cos(radians(degrees)), sin(radians(degrees)), *(0.0,) * (dimension - 2))


async def put_vectors(session: Session, angles: list[float], **fields: Any) -> list[Object]:
    """One parent with a part a direction, whose vectors are the caller's own."""
    parent = await session.put(Object(kind="document", title="D"))
    parts = [Object(kind="section", parent_id=parent.key, embedding=at_angle(angle), **fields) for angle in angles]
    result = await session.put_many(parts)
    assert result.ok
    return list(result.objects)


async def test_a_small_tenant_far_away_is_not_starved_by_a_large_one_nearby(engine_world: World) -> None:
    crowd = engine_world.stranger()
    await put_vectors(crowd.session(), [angle / 100 for angle in range(2000)])
    writer = engine_world.session()
    parents = []
    for angle in (89, 85, 87, 81, 83):
        (part,) = await put_vectors(writer, [angle])
        parents.append((angle, part.parent_id))
    session = engine_world.session(embedder=FixedEmbedder())
    page = await session.search("anything", channels=["vector"], limit=5)
    assert ids(page) == [parent_id for _, parent_id in sorted(parents)], "all five, nearest first"


@pytest.mark.on_helix
async def test_a_small_tenants_entities_are_not_starved_either(engine_world: World) -> None:
    crowd = [Object(kind="thing", embedding=at_angle(angle / 100)) for angle in range(300)]
    assert (await engine_world.stranger().session().put_many(crowd)).ok
    writer, stored = engine_world.session(), {}
    for angle in (89, 85, 87, 81, 83):
        stored[angle] = (await writer.put(Object(kind="thing", embedding=at_angle(angle)))).id
    session = engine_world.session(embedder=FixedEmbedder())
    page = await session.find_objects("anything", limit=5)
    assert ids(page) == [stored[angle] for angle in sorted(stored)], "all five, nearest first"


async def test_a_filter_that_one_in_a_hundred_passes_still_fills_the_page(engine_world: World) -> None:
    writer = engine_world.session()
    await put_vectors(writer, [angle / 100 for angle in range(1000)], properties={"rare": False})
    rare = await put_vectors(writer, [85, 81, 83], properties={"rare": True})
    session = engine_world.session(embedder=FixedEmbedder())
    page = await session.search("anything", channels=["vector"], filters={"rare": True})
    assert evidence_ids(page) == [rare[1].id, rare[2].id, rare[0].id]


async def test_reopening_with_another_dimension_names_both(backend: tuple[str, str], fresh_schema: str) -> None:
    lexical, dsn = backend
    if lexical == "memory":
        world = World(MemoryStore(dimension=3))
        with pytest.raises(DimensionMismatchError) as caught:
            await world.session(embedder=WordEmbedder(dimension=4)).put(Object(kind="thing", title="lemon"))
    else:
        path = f"{fresh_schema}, public"
        async with open_postgres(dsn, dimension=3, search_path=path) as store:
            await put_family(World(store).session(embedder=WordEmbedder(dimension=3)), ["lemon"])
        with pytest.raises(DimensionMismatchError) as caught:
            async with open_postgres(dsn, dimension=4, search_path=path):
                pass
    assert (caught.value.expected, caught.value.got) == (3, 4)


async def test_three_thousand_dimensions(backend: tuple[str, str], fresh_schema: str) -> None:
    lexical, dsn = backend

    async def check(store: Any) -> None:
        world = World(store)
        session = world.session(embedder=WordEmbedder(dimension=3072))
        wanted, _ = await put_family(session, ["lemon pie with cream"])
        await put_family(session, ["salt and pepper"])
        page = await session.search("lemon pie", channels=["vector"])
        assert page.objects[0].id == wanted.id

    if lexical == "memory":
        await check(MemoryStore(dimension=3072))
        return
    for _ in range(2):
        async with open_postgres(dsn, dimension=3072, search_path=f"{fresh_schema}, public") as store:
            await check(store)
