"""A graph that outlives its process: a MemoryGraph whose writes are kept in a file, as a graph database would keep them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from brain_async.adapters.memory import MemoryGraph
from brain_async.model.object import Object
from brain_async.model.relation import Edge, EdgeKey
from brain_async.model.scope import Scope

__all__ = ["JournalGraph"]


class JournalGraph(MemoryGraph):
    """Each write is in the file before it is done; one that was cut short by the process' death never happened."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    async def replay(self) -> None:
        """Do again what the file says."""
        with os.fdopen(os.dup(self._file), "rb") as journal:
            journal.seek(0)
            while True:
                start = journal.tell()
                try:
                    name, scope, argument = pickle.load(journal)
                except (EOFError, pickle.UnpicklingError):
                    break
                await getattr(MemoryGraph, name)(self, scope, argument)
        os.ftruncate(self._file, start)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _keep(self, name: str, scope: Scope, argument: Any) -> None:
        os.write(self._file, pickle.dumps((name, scope, list(argument))))

    async def ensure_objects(self, scope: Scope, objects: Sequence[Object]) -> None:
        self._keep("ensure_objects", scope, objects)
        await super().ensure_objects(scope, objects)

    async def remove_objects(self, scope: Scope, object_ids: Sequence[UUID]) -> None:
        self._keep("remove_objects", scope, object_ids)
        await super().remove_objects(scope, object_ids)

    async def add_edges(self, scope: Scope, edges: Sequence[Edge]) -> None:
        self._keep("add_edges", scope, edges)
        await super().add_edges(scope, edges)

    async def remove_edges(self, scope: Scope, keys: Sequence[EdgeKey]) -> None:
        self._keep("remove_edges", scope, keys)
        await super().remove_edges(scope, keys)
