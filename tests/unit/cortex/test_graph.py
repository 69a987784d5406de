"""CortexGraph: what the contract checks do not say, and that it answers as MemoryGraph does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from uuid import UUID, uuid4

import pytest

from brain_async.adapters.memory import MemoryGraph, MemoryKeyValueStore
from brain_async.cortex import CortexGraph, EdgeMetadata, EdgeType, Ledger, LedgerView
from brain_async.cortex.edge_type import HOST_TYPE_COUNT
from brain_async.cortex.graph import REMOVED_WITH_OBJECT
from brain_async.errors import InvalidEdgeTypeError, LedgerCorruptError, NamespaceMismatchError, ObjectIdRequiredError
from brain_async.model.relation import Direction, Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from brain_async.ports.kv import KeyValueReader

_SCOPE = Scope(UUID(int=1))
_NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(MemoryKeyValueStore())


def _edge(source: UUID, target: UUID, label: str = "about", *, scope: Scope = _SCOPE, note: str = "") -> Edge:
    meta = EdgeMeta(note=note, created_at=_NOW, updated_at=_NOW)
    return Edge(from_id=source, to_id=target, relation_type=label, namespace_id=scope.namespace_id, meta=meta)


async def test_answers_as_the_memory_graph(ledger: Ledger) -> None:
    """The same calls, restarts included: the same neighbours, the same hits with the same scores."""
    choose, memory, graph = Random(5), MemoryGraph(), CortexGraph(ledger)
    scopes = [Scope(UUID(int=1)), Scope(UUID(int=2))]
    # The key of a ledger's edge names no namespace, so each has nodes of its own.
    nodes = {scope: [uuid4() for _ in range(6)] for scope in scopes}
    labels = ("about", "references", "x/世界", "zz")
    words = ("zebra", "crossing", "road", "slow", "Zebra road")
    for step in range(300):
        scope = choose.choice(scopes)
        source, target = choose.sample(nodes[scope], 2)
        label = choose.choice(labels)
        for subject in (memory, graph):
            if step % 11 == 10:
                await subject.remove_objects(scope, [source])
            elif step % 4 == 3:
                await subject.remove_edges(scope, [EdgeKey(source, target, label)])
        if step % 4 != 3:
            note = " ".join(choose.choices(words, k=choose.randrange(4)))
            for subject in (memory, graph):
                await subject.add_edges(scope, [_edge(source, target, label, scope=scope, note=note)])
        if step % 50 == 49:
            graph = CortexGraph(ledger)
        for asked in (scope, Scope()):
            hits = await memory.search_edges(asked, label, "zebra slow", k=5)
            found = await graph.search_edges(asked, label, "zebra slow", k=5)
            assert [hit.edge for hit in found] == [hit.edge for hit in hits]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in hits])
            towards: Direction = choose.choice(("out", "in", "both"))
            some = choose.choice(((), ("zz", "about"), (label,)))
            limit = choose.choice((1, 3, 100))
            wanted = await memory.neighbors(asked, nodes[scope], some, direction=towards, limit=limit)
            given = await graph.neighbors(asked, nodes[scope], some, direction=towards, limit=limit)
            assert {node: list(around) for node, around in given.items()} == dict(wanted)
    await ledger.verify()


async def test_a_hub_of_many_types(ledger: Ledger) -> None:
    """More edges than are read whole: labels in their order, beyond removed edges and those of other namespaces."""
    graph, other, hub = CortexGraph(ledger), Scope(uuid4()), UUID(int=500)
    ends = [UUID(int=1_000 + n) for n in range(120)]
    for label in ("zz", "about", "references"):
        await graph.add_edges(_SCOPE, [_edge(hub, end, label) for end in ends])
    await graph.add_edges(other, [_edge(hub, UUID(int=n), "about", scope=other) for n in range(1, 4)])
    await graph.remove_edges(_SCOPE, [EdgeKey(hub, end, "about") for end in ends[:118]])
    found = (await graph.neighbors(_SCOPE, [hub], (), direction="both", limit=4))[hub]
    assert [(near.object_id, near.relation_type) for near in found] == [
        (ends[118], "about"),
        (ends[119], "about"),
        (ends[0], "references"),
        (ends[1], "references"),
    ]
    found = (await graph.neighbors(_SCOPE, [hub], ("zz", "missing", "about"), direction="out", limit=1_000))[hub]
    assert [near.relation_type for near in found] == ["zz"] * 120 + ["about"] * 2
    assert (await graph.neighbors(_SCOPE, [hub], (), direction="out", limit=0))[hub] == []


async def test_repeating_a_write_is_not_journaled(ledger: Ledger) -> None:
    graph, a, b = CortexGraph(ledger), uuid4(), uuid4()
    edges = [_edge(a, b, note="n"), _edge(a, b, "references")]
    for _ in range(2):
        await graph.add_edges(_SCOPE, edges)
        assert (await ledger.head()).seq == 3, "a label and two edges"
    for _ in range(2):
        await graph.remove_objects(_SCOPE, [a])
        assert (await ledger.head()).seq == 5
    record = await ledger.get_edge(a, EdgeType.REFERENCES, b)
    assert (record.tombstoned, record.tombstoned_reason) == (True, REMOVED_WITH_OBJECT)
    assert await ledger.history(a, "about", b) != []


async def test_a_removed_edge_starts_anew(ledger: Ledger) -> None:
    """Also in another namespace than before."""
    graph, other, a, b = CortexGraph(ledger), Scope(uuid4()), uuid4(), uuid4()
    await graph.add_edges(_SCOPE, [_edge(a, b, note="zebra")])
    await graph.remove_edges(_SCOPE, [EdgeKey(a, b, "about")])
    await graph.add_edges(other, [Edge(from_id=a, to_id=b, relation_type="about", meta=EdgeMeta(note="zebra"))])
    (near,) = (await graph.neighbors(other, [a], (), direction="out", limit=5))[a]
    assert near.meta.created_at is not None
    assert near.meta.created_at > _NOW
    assert await graph.search_edges(_SCOPE, "about", "zebra", k=5) == []
    assert len(await graph.search_edges(other, "about", "zebra", k=5)) == 1


async def test_a_key_is_of_one_namespace(ledger: Ledger) -> None:
    graph, other, a, b, c = CortexGraph(ledger), Scope(uuid4()), uuid4(), uuid4(), uuid4()
    await graph.add_edges(_SCOPE, [_edge(a, b)])
    before = await ledger.head()
    with pytest.raises(NamespaceMismatchError):
        await graph.add_edges(other, [_edge(a, c, scope=other), _edge(a, b, scope=other)])
    assert await ledger.head() == before


async def test_what_a_ledger_cannot_hold(ledger: Ledger) -> None:
    graph, a, b = CortexGraph(ledger), uuid4(), uuid4()
    await graph.add_edges(_SCOPE, [_edge(a, a)])
    await graph.remove_edges(_SCOPE, [EdgeKey(a, a, "about"), EdgeKey(a, b, "about")])
    await graph.ensure_objects(_SCOPE, [])
    assert (await ledger.head()).seq == 0
    with pytest.raises(ObjectIdRequiredError):
        await graph.add_edges(_SCOPE, [_edge(a, UUID(int=0))])
    with pytest.raises(InvalidEdgeTypeError):
        await graph.add_edges(_SCOPE, [_edge(a, b, "  ")])
    with pytest.raises(InvalidEdgeTypeError):
        await graph.add_edges(_SCOPE, [_edge(a, b, f"label {n}") for n in range(HOST_TYPE_COUNT + 1)])
    assert (await ledger.head()).seq == 0, "nothing half-written"


async def test_edges_of_the_library(ledger: Ledger) -> None:
    """One without data is of no namespace, and as old as its record; one with other data is an error."""
    graph, a, b, c = CortexGraph(ledger), uuid4(), uuid4(), uuid4()
    record = (await ledger.add_edge(a, "references", b)).record
    assert record is not None
    (near,) = (await graph.neighbors(Scope(), [b], (), direction="in", limit=5))[b]
    assert (near.object_id, near.meta) == (a, EdgeMeta(created_at=record.created_at, updated_at=record.created_at))
    assert (await graph.neighbors(_SCOPE, [b], (), direction="in", limit=5))[b] == []
    await ledger.add_edge(a, "references", c, EdgeMetadata(data=b"\xa0"))
    with pytest.raises(LedgerCorruptError):
        await graph.neighbors(Scope(), [c], (), direction="in", limit=5)


async def test_a_hop_is_one_request_but_for_hubs(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, nodes = CortexGraph(ledger), [UUID(int=number) for number in range(1, 9)]
    await graph.add_edges(_SCOPE, [_edge(a, b) for a in nodes for b in nodes if a != b])
    asked: list[int] = []

    class Reader:
        def __init__(self, reader: KeyValueReader) -> None:
            self.get, self.get_many, self.scan = reader.get, reader.get_many, reader.scan
            self._reader = reader

        async def scan_many(
            self, prefixes: Sequence[bytes], *, limit: int
        ) -> Mapping[bytes, Sequence[tuple[bytes, bytes]]]:
            asked.append(len(prefixes))
            return await self._reader.scan_many(prefixes, limit=limit)

    async with ledger.snapshot() as view:
        counted = LedgerView(Reader(view.reader))

        @asynccontextmanager
        async def snapshot() -> AsyncIterator[LedgerView]:
            yield counted

        monkeypatch.setattr(ledger, "snapshot", snapshot)
        found = await graph.neighbors(_SCOPE, nodes, ["about"], direction="both", limit=50)
        assert [len(neighbors) for neighbors in found.values()] == [14] * 8
        assert asked == [16], "both sides of eight nodes at once"
        assert await graph.neighbors(_SCOPE, nodes[:1], [], direction="out", limit=0) == {nodes[0]: []}
