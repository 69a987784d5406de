"""open_local: what it opens, across openings."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from brain_async import (
    BackendError,
    EngineConfig,
    FieldSpec,
    FieldType,
    InvalidInputError,
    KindSpec,
    NamespaceRequiredError,
    Object,
)
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


CHILD = """
import asyncio, sys
from uuid import UUID
from brain_async import GraphLockedError, GraphWriterRequiredError, Object
from brain_async.local import open_local

async def main(home, namespace, ada, ben):
    try:
        async with open_local(home):
            print("opened")
    except GraphLockedError as error:
        print("locked by", error.owner)
    async with open_local(home, read_only_graph=True) as brain:
        session = brain.session(UUID(namespace))
        print("objects", (await session.find_objects("Ada")).objects[0].title)
        print("expand", *[hit.title for hit in (await session.expand(UUID(ada), ["knows"])).objects])
        try:
            await session.link(UUID(ada), UUID(ben), "likes")
        except GraphWriterRequiredError:
            print("no links")
        await session.put(Object(kind="person", title="Cleo"))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_second_process_is_refused_and_may_read(home: Path) -> None:
    namespace = uuid4()
    async with open_local(home) as brain:
        session = brain.session(namespace)
        ada, ben = (
            await session.put(Object(kind="person", title="Ada")),
            await session.put(Object(kind="person", title="Ben")),
        )
        await session.link(ada.id, ben.id, "knows")
    async with open_local(home) as brain:
        session = brain.session(namespace)
        command = [sys.executable, "-c", CHILD, str(home), str(namespace), str(ada.id), str(ben.id)]
        told = await anyio.run_process(command, stderr=None)
        assert told.stdout.decode().splitlines() == [
            f"locked by {os.getpid()}",
            "objects Ada",
            "expand Ben",
            "no links",
        ]
        assert (await session.find_objects("Ada")).objects, "the owner's graph is whole"
        assert (await brain.drift()).pending == 1
        assert (await brain.reconcile()).nodes == 1
        assert (await session.find_objects("Cleo")).objects[0].title == "Cleo"


async def test_a_graph_that_is_lost_is_filled_again(home: Path) -> None:
    namespace = uuid4()
    async with open_local(home) as brain:
        session = brain.session(namespace)
        ada, ben = (
            await session.put(Object(kind="person", title="Ada")),
            await session.put(Object(kind="person", title="Ben")),
        )
        await session.link(ada.id, ben.id, "knows", note="from the loom")
    shutil.rmtree(home / "helix")
    # Also by who only wants to read it.
    async with open_local(home, read_only_graph=True) as brain:
        session = brain.session(namespace)
        assert [hit.source.title for hit in await session.find_links("knows", "loom")] == ["Ada"]
        assert (await brain.drift()).is_zero
    (home / "helix" / "filled").unlink()
    async with open_local(home) as brain:
        assert (await brain.drift()).is_zero
        assert (home / "helix" / "filled").exists()


async def test_a_helix_server_takes_the_place_of_the_directory(home: Path) -> None:
    with pytest.raises(InvalidInputError):
        async with open_local(home, read_only_graph=True, helix_url="http://127.0.0.1:1"):
            pass
    with pytest.raises(BackendError):
        async with open_local(home, helix_url="http://127.0.0.1:1"):
            pass
    assert not (home / "helix").exists()
