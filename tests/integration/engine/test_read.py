"""read and list_children."""

from __future__ import annotations

from uuid import uuid4

import pytest

from brain_async import InvalidInputError, ObjectIdRequiredError, ObjectNotFoundError
from brain_async.model.object import NIL_UUID
from tests.integration.engine.world import World, ids, put_family


async def test_read_gives_the_content(engine_world: World) -> None:
    session = engine_world.session()
    parent, parts = await put_family(session, ["the whole text"], content="parent text")
    part = await session.read(parts[0].id)
    assert (part.content, part.parent_id, part.position, part.score) == ("the whole text", parent.id, 0, None)
    assert (await session.read(parent.id)).content == "parent text"


async def test_children_come_in_order_without_content(engine_world: World) -> None:
    session = engine_world.session()
    positions = (2, None, 0, 1)
    parent, parts = await put_family(session, [{"content": "x", "position": position} for position in positions])
    children = await session.list_children(parent.id)
    assert ids(children) == [parts[2].id, parts[3].id, parts[0].id, parts[1].id]
    assert all(child.content == "" for child in children)
    assert await session.list_children(parts[0].id) == [], "a part has no parts"


async def test_children_of_an_invisible_parent_are_not_listed(engine_world: World) -> None:
    session, stranger = engine_world.session(), engine_world.stranger().session()
    parent, _ = await put_family(session, ["x"])
    with pytest.raises(ObjectNotFoundError):
        await stranger.list_children(parent.id)
    await session.soft_delete(parent.id)
    with pytest.raises(ObjectNotFoundError):
        await session.list_children(parent.id)


@pytest.mark.parametrize("verb", ["read", "list_children"])
async def test_ids_are_required_and_checked(engine_world: World, verb: str) -> None:
    call = getattr(engine_world.session(), verb)
    for missing in (None, NIL_UUID):
        with pytest.raises(ObjectIdRequiredError) as required:
            await call(missing)
        assert required.value.field == "object_id"
    with pytest.raises(InvalidInputError) as wrong:
        await call(str(uuid4()))
    assert (wrong.value.field, type(wrong.value)) == ("object_id", InvalidInputError)
    with pytest.raises(ObjectNotFoundError) as missing_object:
        await call(unknown := uuid4())
    assert missing_object.value.object_id == unknown
