"""Run as a script: opens the directory it is given and ensures nodes with edges, printing each id once it is acknowledged."""

from __future__ import annotations

import asyncio
import sys
from uuid import UUID, uuid4

from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.model.scope import Scope
from helixgraph import open_helix_embedded


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(path: str, namespace: str) -> None:
    scope = Scope(UUID(namespace))
    async with open_helix_embedded(path, dimension=4) as graph:
        _say("open")
        while True:
            batch = [
                Object(
                    id=uuid4(), kind="k", title="acknowledged", namespace_id=scope.namespace_id, embedding=(1, 0, 0, n)
                )
                for n in range(3)
            ]
            await graph.ensure_objects(scope, batch)
            edges = [
                Edge(from_id=node.key, to_id=batch[0].key, relation_type="about", meta=EdgeMeta(note="kept"))
                for node in batch[1:]
            ]
            await graph.add_edges(scope, edges)
            _say(" ".join(str(node.key) for node in batch))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
