"""Forks writers that are to be killed: ``python killed_writer.py DSN SCHEMA``; each line of stdin is "NAMESPACE SEED FOLDER".

Forking saves the seconds that importing the library takes. A writer puts, links and deletes for ever, over the server and a
``JournalGraph`` in the folder, and appends a line to FOLDER/acknowledged for each call that returned. The parent answers each
line with the writer's pid, once it is writing.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from random import Random
from uuid import UUID

from brain_async import Edge, Engine, Object, Session
from brain_async.adapters.postgres import PostgresEdgeLedger, open_postgres
from tests.faults.journal_graph import JournalGraph

OBJECTS = 12
"""Ids that each task writes, so that puts, links and deletions meet."""

TASKS = 3


async def write(dsn: str, schema: str, namespace: UUID, seed: str, folder: Path, started: int) -> None:
    graph = JournalGraph(folder / "graph")
    await graph.replay()
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with open_postgres(
        dsn, dimension=4, search_path=f"{schema}, public", migrate=False, pool_size=TASKS
    ) as store:
        engine = Engine(store, graph=graph, ledger=PostgresEdgeLedger(store))
        await store.get(engine.session(namespace).scope, namespace)
        os.write(started, b".")
        async with asyncio.TaskGroup() as group:
            for number in range(TASKS):
                group.create_task(write_on(engine.session(namespace), Random(f"{seed} {number}"), acknowledged))


async def write_on(session: Session, random: Random, acknowledged: int) -> None:
    """Each task has ids of its own, so that the last acknowledged word on each is known."""

    def acknowledge(*words: object) -> None:
        os.write(acknowledged, (" ".join(map(str, words)) + "\n").encode())

    ids = [UUID(int=random.getrandbits(128), version=4) for _ in range(OBJECTS)]
    live: set[UUID] = set()
    for step in range(10**9):
        one, other = random.sample(ids, 2)
        if one not in live or random.random() < 0.4:
            acknowledge("begin", one)
            await session.put(Object(id=one, kind="thing", title=f"step {step}"))
            live.add(one)
            acknowledge("put", one, step)
        elif other not in live or random.random() < 0.2:
            acknowledge("begin", one)
            await session.soft_delete(one)
            live.discard(one)
            acknowledge("delete", one)
        elif random.random() < 0.7:
            acknowledge("begin", one, other)
            result = await session.link_many([Edge(from_id=one, to_id=other, relation_type="about")])
            assert result.ok, result.failures
            acknowledge("link", one, other)
        else:
            acknowledge("begin", one, other)
            await session.unlink(one, other, "about")
            acknowledge("unlink", one, other)


def main() -> None:
    dsn, schema = sys.argv[1:]
    for line in sys.stdin:
        namespace, seed, folder = line.split()
        reading, started = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(write(dsn, schema, UUID(namespace), seed, Path(folder), started))
            finally:
                os._exit(1)
        os.close(started)
        os.read(reading, 1)
        os.close(reading)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
