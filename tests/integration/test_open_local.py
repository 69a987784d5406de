"""open_local: what it opens, across openings."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from brain_async import EngineConfig, FieldSpec, FieldType, KindSpec, NamespaceRequiredError, Object
from brain_async.local import open_local


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path that the server's user can reach."""
    path = Path(tempfile.mkdtemp(prefix="brain-open-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


async def test_what_was_put_and_linked_is_there_at_the_next_opening(home: Path) -> None:
    namespace = uuid4()
    kinds = [
        KindSpec(kind="person", is_parent=True, fields=(FieldSpec(name="team", type=FieldType.STRING),)),
        KindSpec(kind="note", is_part=True),
    ]
    async with open_local(home, kinds=kinds) as brain:
        session = brain.session(namespace)
        ada = await session.put(Object(kind="person", title="Ada", properties={"team": "engines"}))
        ben = await session.put(Object(kind="person", title="Ben"))
        await session.put(Object(kind="note", title="Plan", content="cards for the loom", parent_id=ada.id))
        await session.link(ada.id, ben.id, "knows", note="from the loom")

    async with open_local(home, config=EngineConfig(require_namespace=True)) as brain:
        assert [spec.kind for spec in brain.catalog] == ["note", "person"], "kinds are kept"
        session = brain.session(namespace)
        found = (await session.search("loom cards")).objects[0]
        assert (found.id, [part.title for part in found.evidence]) == (ada.id, ["Plan"])
        entities = await session.find_objects("Ada", filters={"kind": "person", "team": "engines"})
        assert [hit.id for hit in entities.objects] == [ada.id]
        assert [hit.id for hit in (await session.expand(ada.id, ["knows"])).objects] == [ben.id]
        assert [hit.source.id for hit in await session.find_links("knows", "loom")] == [ada.id]
        with pytest.raises(NamespaceRequiredError):
            await brain.session().search("loom")
