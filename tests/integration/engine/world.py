"""What the engine's tests work with: a store and a graph in a namespace of their own, plug-ins, and injected faults."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import anyio
import numpy as np
from numpy.typing import NDArray

from brain_async import Engine, Object, RichObject, Scope, SearchPage, Session
from brain_async.adapters.memory import MemoryEdgeLedger, MemoryGraph, MemoryStore
from brain_async.adapters.postgres import PostgresKeyValueStore, PostgresStore
from brain_async.analysis import words
from brain_async.cortex import CortexEdgeLedger
from brain_async.errors import BackendError
from brain_async.model.results import ChannelOutcome
from brain_async.ports.host import OperationEnd, OperationStart
from brain_async.ports.ledger import EdgeLedger
from brain_async.ports.store import Vector
from helixgraph import HelixGraph

DIMENSION = 8
Store = MemoryStore | PostgresStore
Graph = MemoryGraph | HelixGraph


class World:
    """A store and a graph (which other tests may share), an empty ledger, and a fresh namespace."""

    def __init__(self, store: Store, graph: Graph | None = None) -> None:
        self.store = store
        self.graph = graph or MemoryGraph()
        self.ledger = MemoryEdgeLedger()
        self.namespace = uuid4()
        self.scope = Scope(self.namespace)

    def stranger(self) -> World:
        """Another namespace of the same store and graph."""
        return World(self.store, self.graph)

    def engine(self, **options: Any) -> Engine:
        """An engine over the store and the graph, or over what ``options`` put in their place."""
        return Engine(options.pop("store", self.store), **{"graph": self.graph, **options})

    def session(self, **options: Any) -> Session:
        """A conversation of its own in the world's namespace."""
        return self.engine(**options).session(self.namespace)


async def put_family(
    session: Session, parts: Sequence[str | dict[str, Any]], **parent: Any
) -> tuple[Object, list[Object]]:
    """A parent of kind ``document`` and its parts, given by their content or their fields, put through the engine."""
    stored = await session.put(Object(**{"kind": "document", "title": "A document", **parent}))
    children = []
    for position, part in enumerate(parts):
        fields = {"content": part} if isinstance(part, str) else part
        child = Object(**{"kind": "section", "parent_id": stored.key, "position": position, **fields})
        children.append(await session.put(child))
    return stored, children


async def put_titled(session: Session, *titles: str, **fields: Any) -> list[Object]:
    """First-class objects of kind ``thing``."""
    return [await session.put(Object(**{"kind": "thing", "title": title, **fields})) for title in titles]


def ids(objects: SearchPage | Sequence[RichObject] | Sequence[Object]) -> list[UUID | None]:
    """The ids, in order."""
    return [obj.id for obj in (objects.objects if isinstance(objects, SearchPage) else objects)]


def evidence_ids(page: SearchPage) -> list[UUID]:
    """The ids of all evidence, in order."""
    return [part.part_id for obj in page.objects for part in obj.evidence]


def outcomes(page: SearchPage) -> dict[str, str]:
    """Channel to status."""
    return {outcome.channel: outcome.status for outcome in page.outcomes}


def depths(pairs: list[tuple[UUID, UUID]], seed: UUID, hops: int, direction: str) -> dict[UUID, int]:
    """How far each node is from ``seed``."""
    steps = (pairs if direction != "in" else []) + ([(b, a) for a, b in pairs] if direction != "out" else [])
    found = {seed: 0}
    for depth in range(1, hops + 1):
        reached = {b for a, b in steps if found.get(a) == depth - 1} - found.keys()
        found |= dict.fromkeys(reached, depth)
    del found[seed]
    return found


async def all_pages(session: Session, page: SearchPage, *, limit: int = 0) -> list[UUID]:
    """The ids of ``page`` and of all that follow it."""
    found = [obj.id for obj in page.objects]
    while page.has_more:
        page = await session.continue_(page.result_set_id, limit=limit)
        found += [obj.id for obj in page.objects]
    return found


class WordEmbedder:
    """Counts of hashed words: texts that share words are close. ``fault`` is awaited before each call with its texts."""

    model = "words"

    def __init__(
        self, fault: Callable[[Sequence[str]], Awaitable[None]] | None = None, *, dimension: int = DIMENSION
    ) -> None:
        self.dimension = dimension
        self.texts: list[str] = []
        self._fault = fault

    async def embed(self, text: str) -> Vector:
        return (await self.embed_many([text]))[0]

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        if self._fault is not None:
            await self._fault(texts)
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in words(text):
                row[zlib.crc32(word.encode()) % self.dimension] += 1
        return vectors


class RecordingObserver:
    """Keeps every event."""

    def __init__(self) -> None:
        self.started: list[OperationStart] = []
        self.channels: list[tuple[int, ChannelOutcome]] = []
        self.ended: list[OperationEnd] = []

    async def operation_started(self, event: OperationStart) -> None:
        self.started.append(event)

    async def channel_ended(self, span: int, outcome: ChannelOutcome) -> None:
        self.channels.append((span, outcome))

    async def operation_ended(self, event: OperationEnd) -> None:
        self.ended.append(event)

    def last(self) -> tuple[str, int, str, type[BaseException] | None]:
        """(operation, items, degrade mode, class of the error) of the last call."""
        end = self.ended[-1]
        return end.operation, end.items, end.degrade_mode.value, None if end.error is None else type(end.error)


Fault = BaseException | Callable[[], Awaitable[object]]


async def hang() -> None:
    """Never returns."""
    await anyio.sleep_forever()


async def until(condition: Callable[[], bool]) -> None:
    """Return once ``condition`` holds."""
    while not condition():  # noqa: ASYNC110
        await anyio.sleep(0.01)


class Faulty:
    """A real adapter whose methods fail on demand: ``faults[method]`` comes before the call, ``late[method]`` after it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.faults: dict[str, Fault] = {}
        self.late: dict[str, Fault] = {}
        self.calls: list[str] = []

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(name)
        await suffer(self.faults.get(name))
        result = await getattr(self._inner, name)(*args, **kwargs)
        await suffer(self.late.get(name))
        return result


async def suffer(fault: Fault | None) -> None:
    """What ``fault`` says happens; nothing for None."""
    if isinstance(fault, BaseException):
        raise fault
    if fault is not None:
        await fault()


def _delegate(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(self: Faulty, *args: Any, **kwargs: Any) -> Any:
        return await self._call(name, *args, **kwargs)

    return call


class FaultyOutbox(Faulty):
    """The outbox of a store or a ledger."""

    pending = _delegate("pending")
    pending_for = _delegate("pending_for")
    pending_around = _delegate("pending_around")
    current = _delegate("current")
    settle = _delegate("settle")
    reopen = _delegate("reopen")
    reopen_around = _delegate("reopen_around")
    count = _delegate("count")


class FaultyKeeper(Faulty):
    """What keeps an outbox, which fails by itself."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.graph_outbox = FaultyOutbox(inner.graph_outbox)


class FaultyStore(FaultyKeeper):
    """A store."""

    get = _delegate("get")
    get_many = _delegate("get_many")
    hydrate = _delegate("hydrate")
    list_children = _delegate("list_children")
    scan = _delegate("scan")
    put_objects = _delegate("put_objects")
    soft_delete = _delegate("soft_delete")
    list_kinds = _delegate("list_kinds")
    put_kinds = _delegate("put_kinds")
    search_lexical = _delegate("search_lexical")
    search_trigram = _delegate("search_trigram")
    search_vector = _delegate("search_vector")
    near_words = _delegate("near_words")


class FaultyGraph(Faulty):
    """A graph."""

    object_search_ready = True
    neighbors = _delegate("neighbors")
    ensure_objects = _delegate("ensure_objects")
    remove_objects = _delegate("remove_objects")
    add_edges = _delegate("add_edges")
    remove_edges = _delegate("remove_edges")
    search_objects_text = _delegate("search_objects_text")
    search_objects_vector = _delegate("search_objects_vector")
    search_edges = _delegate("search_edges")
    scan_nodes = _delegate("scan_nodes")
    scan_edges = _delegate("scan_edges")


class FaultyLedger(FaultyKeeper):
    """An edge ledger."""

    record_edges = _delegate("record_edges")
    remove_edges = _delegate("remove_edges")
    remove_object_edges = _delegate("remove_object_edges")
    scan_edges = _delegate("scan_edges")


def down(name: str = "backend") -> BackendError:
    """What an adapter raises when its backend fails."""
    return BackendError(f"{name} is down")


def _ledger_beside(store: Store) -> EdgeLedger:
    if isinstance(store, PostgresStore):
        return CortexEdgeLedger(PostgresKeyValueStore(store))
    return MemoryEdgeLedger()


class DualWorld(World):
    """A world with a ledger, in the same backend as the store unless it is given, all three of them failing on demand."""

    def __init__(self, store: Store, graph: Graph | None = None, ledger: EdgeLedger | None = None) -> None:
        super().__init__(store, graph)
        self.faulty_store = FaultyStore(store)
        self.faulty_graph = FaultyGraph(self.graph)
        if ledger is None:
            ledger = _ledger_beside(store)
        self.faulty_ledger = FaultyLedger(ledger)

    def engine(self, **options: Any) -> Engine:
        """An engine over the three."""
        parts = {"store": self.faulty_store, "graph": self.faulty_graph, "ledger": self.faulty_ledger}
        return super().engine(**{**parts, **options})

    def heal(self) -> None:
        """No more faults."""
        for part in (self.faulty_store, self.faulty_graph, self.faulty_ledger):
            part.faults.clear()
            part.late.clear()
