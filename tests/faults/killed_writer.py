"""Forks writers that are to be killed: ``python killed_writer.py DSN SCHEMA HOME``; stdin's lines are "NAMESPACE SEED FILE".

Forking saves the seconds that importing the library takes. A writer puts, links and deletes for ever, over the server and the
HelixDB and the edge ledger in the directory HOME, and appends a line to FILE for each call that it begins and that returned.
The parent answers each line with the writer's pid, once it is writing, and with its exit code, once it is dead.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from random import Random
from uuid import UUID

from brain_async import Edge, EdgeMeta, Engine, Object, Session
from brain_async.adapters.lmdb import open_lmdb
from brain_async.adapters.postgres import open_postgres
from brain_async.cortex import CortexEdgeLedger
from helixgraph import open_helix_embedded

OBJECTS = 12
"""Ids that each task writes, so that puts, links and deletions meet."""

TASKS = 3
DIMENSION = 4


async def write(dsn: str, schema: str, home: str, namespace: UUID, seed: str, file: Path, started: int) -> None:
    acknowledged = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with (
        open_lmdb(Path(home, "ledger")) as links,
        open_helix_embedded(Path(home, "graph"), dimension=DIMENSION) as graph,
        open_postgres(
            dsn, dimension=DIMENSION, search_path=f"{schema}, public", migrate=False, pool_size=TASKS
        ) as store,
    ):
        engine = Engine(store, graph=graph, ledger=CortexEdgeLedger(links))
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
            vector = (1.0, 0.0, 0.0, float(step))
            await session.put(Object(id=one, kind="thing", title=f"step {step}", embedding=vector))
            live.add(one)
            acknowledge("put", one, step)
        elif other not in live or random.random() < 0.2:
            acknowledge("begin", one)
            await session.soft_delete(one)
            live.discard(one)
            acknowledge("delete", one)
        elif random.random() < 0.7:
            acknowledge("begin", one, other)
            edge = Edge(from_id=one, to_id=other, relation_type="about", meta=EdgeMeta(note="kept"))
            result = await session.link_many([edge])
            assert result.ok, result.failures
            acknowledge("link", one, other)
        else:
            acknowledge("begin", one, other)
            await session.unlink(one, other, "about")
            acknowledge("unlink", one, other)


def main() -> None:
    dsn, schema, home = sys.argv[1:]
    for line in sys.stdin:
        namespace, seed, file = line.split()
        reading, started = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(write(dsn, schema, home, UUID(namespace), seed, Path(file), started))
            finally:
                os._exit(1)
        os.close(started)
        os.read(reading, 1)
        os.close(reading)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
