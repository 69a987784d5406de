"""open_local: what it opens, across openings."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import anyio
import msgspec
import pytest

from brain_async import (
    BackendError,
    EdgeMeta,
    EngineConfig,
    FieldSpec,
    FieldType,
    InvalidInputError,
    KindSpec,
    NamespaceRequiredError,
    Object,
    Scope,
)
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.postgres import open_postgres, read_edge_events
from brain_async.cortex import import_edges, is_imported
from brain_async.local import local_postgres, open_local
from brain_async.model.edge_event import EdgeEvent
from brain_async.model.relation import EdgeKey


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
from brain_async import GraphWriterRequiredError, LedgerLockedError, Object
from brain_async.local import open_local

async def main(home, namespace, ada, ben, dan):
    try:
        async with open_local(home):
            print("opened")
    except LedgerLockedError as error:
        print("locked by", error.owner, home in str(error), "read_only_graph=True" in str(error))
    async with open_local(home, read_only_graph=True) as brain:
        session = brain.session(UUID(namespace))
        print("objects", (await session.find_objects("Ada")).objects[0].title)
        print("expand", *[hit.title for hit in (await session.expand(UUID(ada), ["knows"])).objects])
        for refused in (session.link(UUID(ada), UUID(ben), "likes"), session.unlink(UUID(ada), UUID(ben), "knows")):
            try:
                await refused
            except GraphWriterRequiredError as error:
                print("no links:", error)
        head = await brain.ledger.head()
        await session.put(Object(kind="person", title="Cleo"))
        await session.soft_delete(UUID(dan))
        print("ledger written", await brain.ledger.head() != head)
        print(await brain.ledger.overall_root() == head.overall_root, (await brain.health()).backends["ledger"].up)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_second_process_is_refused_and_may_read(home: Path) -> None:
    namespace = uuid4()
    async with open_local(home) as brain:
        session = brain.session(namespace)
        ada, ben, dan = [await session.put(Object(kind="person", title=title)) for title in ("Ada", "Ben", "Dan")]
        await session.link(ada.id, ben.id, "knows")
        await session.link(dan.id, ada.id, "knows")
    async with open_local(home) as brain:
        session = brain.session(namespace)
        command = [sys.executable, "-c", CHILD, str(home), str(namespace), str(ada.id), str(ben.id), str(dan.id)]
        told = await anyio.run_process(command, stderr=None)
        refusal = "no links: the graph is only read here: links are written by a process that has it open for writing"
        assert told.stdout.decode().splitlines() == [
            f"locked by {os.getpid()} True True",
            "objects Ada",
            "expand Ben Dan",
            refusal,
            refusal,
            "ledger written False",
            "True True",
        ]
        assert (await session.find_objects("Ada")).objects, "the owner's graph is whole"
        assert not (await brain.ledger.get_edge(dan.key, "knows", ada.key)).tombstoned, "nobody told the owner yet"
        assert (await brain.drift()).pending == 2
        assert (await brain.reconcile()).nodes == 2
        assert (await session.find_objects("Cleo")).objects[0].title == "Cleo"
        removed = await brain.ledger.get_edge(dan.key, "knows", ada.key)
        assert (removed.tombstoned, removed.tombstoned_reason) == (True, "object deleted")
        assert [hit.title for hit in (await session.expand(ada.id, ["knows"])).objects] == ["Ben"]
        assert (await brain.drift()).is_zero
        assert (await brain.ledger.verify()).edges == 2


async def test_links_of_an_earlier_version_are_taken_over_once(home: Path) -> None:
    """Wherever taking them over was stopped: what was removed stays removed, at its time, and what was linked since counts."""
    namespace, early = uuid4(), datetime(2024, 1, 1, tzinfo=UTC)
    scope = Scope(namespace)
    async with open_local(home) as brain:
        session = brain.session(namespace)
        ada, ben, cleo = [await session.put(Object(kind="person", title=title)) for title in ("Ada", "Ben", "Cleo")]
        meta = EdgeMeta(note="from the loom", status="kept", role="friend", confidence=0.5, evidence_id=ben.id)
        rows = [
            (ada, ben, "knows", early, None),
            (ben, ada, "knows", early, early + timedelta(days=2)),
            (ada, cleo, "knows", early + timedelta(days=1), None),
            (ada, ada, "knows", early, None),
        ]
        async with brain.store.connections.session() as connection:
            for source, target, label, created, removed in rows:
                await connection.execute(
                    "insert into brain_edges values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
                    *(source.key, target.key, label, namespace, meta.note, meta.status, meta.role, meta.confidence),
                    *(ben.key, created, created + timedelta(hours=1), removed),
                )
    shutil.rmtree(home / "ledger")
    shutil.rmtree(home / "helix")

    async def stopped(offset: int, limit: int) -> list[EdgeEvent]:
        if offset:
            raise BackendError("stopped")
        return (await read_edge_events(store, offset, limit))[:2]

    async with (
        local_postgres(home) as server,
        open_postgres(server.dsn, dimension=256) as store,
        open_lmdb(home / "ledger") as opened,
    ):
        with pytest.raises(BackendError, match="stopped"):
            await import_edges(opened, stopped, by="brain_async")
        assert not await is_imported(opened)

    async with open_local(home, read_only_graph=True) as brain:  # who only reads takes them over as well
        assert [edge.key.to_id for edge in await brain.links.scan_edges(scope, after=None, limit=9)] == sorted(
            [ben.key, cleo.key]
        )
        kept, removed = (
            await brain.ledger.get_edge(ada.key, "knows", ben.key),
            await brain.ledger.get_edge(ben.key, "knows", ada.key),
        )
        assert (kept.created_at, removed.tombstoned_at) == (early, early + timedelta(days=2))
        edge = (await brain.links.graph_outbox.current(scope, [EdgeKey(ada.key, ben.key, "knows")]))[0]
        assert edge.meta == msgspec.structs.replace(meta, created_at=early, updated_at=early + timedelta(hours=1))
        assert len(await brain.ledger.edges_out(ben.key, as_of=early + timedelta(days=1))) == 1, "it was live then"
        head = await brain.ledger.head()
        assert (head.seq, (await brain.ledger.verify()).edges) == (5, 3), "a label, three edges and a removal"
        assert (await brain.drift()).is_zero
    async with open_local(home) as brain:
        assert await brain.ledger.head() == head, "once"
        session = brain.session(namespace)
        await session.unlink(ada.id, ben.id, "knows")
        assert [hit.source.title for hit in await session.find_links("knows", "loom")] == ["Ada"]
    async with open_local(home) as brain:
        assert (await brain.ledger.get_edge(ada.key, "knows", ben.key)).tombstoned, (
            "and what was unlinked since stays so"
        )


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
