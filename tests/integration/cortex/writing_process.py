"""Adds, updates and removes edges over LMDB, and says after each call what was acknowledged, until it is killed."""

from __future__ import annotations

import asyncio
import sys
from uuid import UUID

from brain_async.adapters.lmdb import open_lmdb
from brain_async.cortex import EdgeMetadata, EdgeType, Ledger, NewEdge

SRC = UUID(int=1)


def say(operation: str, first: int, last: int) -> None:
    sys.stdout.write(f"{operation} {first} {last}\n")
    sys.stdout.flush()


async def write(ledger: Ledger, caller: int, start: int) -> None:
    """Without end; every line is "<operation> <first> <last>", for the edges from SRC to UUID(int=number)."""
    number = start + 1_000_000 * (caller + 1)
    while True:
        edges = [NewEdge(SRC, EdgeType.REFERENCES, UUID(int=number + step)) for step in range(1 + number % 3)]
        first, last = number, number + len(edges) - 1
        await ledger.add_edges(edges)
        say("add", first, last)
        if number % 2:
            await ledger.update_edge_meta(SRC, EdgeType.REFERENCES, UUID(int=first), data=b"new")
            say("update", first, first)
        if number % 5 == 0:
            await ledger.remove_edge(SRC, EdgeType.REFERENCES, UUID(int=last), reason="wrong")
            say("remove", last, last)
        number += len(edges)


async def main(path: str, start: int) -> None:
    async with open_lmdb(path) as store, asyncio.TaskGroup() as tasks:
        ledger = Ledger(store)
        await ledger.add_edge(SRC, EdgeType.PART_OF, UUID(int=2), EdgeMetadata(created_by="process"))
        say("ready", 0, 0)
        for caller in range(4):
            tasks.create_task(write(ledger, caller, start))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
