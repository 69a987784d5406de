from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.adapters.memory import MemoryEdgeLedger, MemoryKeyValueStore
from brain_async.cortex import EdgeType, Operation, edge_scan, verify_proof
from brain_async.cortex.edge_ledger import CortexEdgeLedger, CortexEdgeReader
from brain_async.cortex.incident import INCIDENT_BATCH
from brain_async.errors import (
    InvalidEdgeTypeError,
    InvalidValueError,
    NamespaceMismatchError,
    ObjectIdRequiredError,
    SelfEdgeError,
    WritesUnsupportedError,
)
from brain_async.model.object import NIL_UUID
from brain_async.model.relation import Edge, EdgeKey, EdgeMeta
from brain_async.model.scope import Scope
from brain_async.ports.health import HealthProbe

START = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE, OTHER = Scope(UUID(int=1)), Scope(UUID(int=2))
A, B, C = (UUID(int=number) for number in (10, 11, 12))


class Clock:
    """A second later at every look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def store() -> MemoryKeyValueStore:
    return MemoryKeyValueStore()


@pytest.fixture
def ledger(store: MemoryKeyValueStore) -> CortexEdgeLedger:
    return CortexEdgeLedger(store, clock=Clock(), by="office")


def edge(source: UUID = A, target: UUID = B, label: str = "about", **meta: object) -> Edge:
    return Edge(from_id=source, to_id=target, relation_type=label, meta=EdgeMeta(**meta))  # type: ignore[arg-type]


async def scanned(ledger: CortexEdgeLedger | MemoryEdgeLedger, scope: Scope = SCOPE, page: int = 1_000) -> list[Edge]:
    found: list[Edge] = []
    while edges := await ledger.scan_edges(scope, after=found[-1].key if found else None, limit=page):
        found += edges
    return found


async def keys_of(store: MemoryKeyValueStore) -> list[bytes]:
    async with store.snapshot() as reader:
        return [key async for key, _ in reader.scan(b"")]


async def test_labels_are_registered_with_their_first_edge_and_canonical_ones_are_not(ledger: CortexEdgeLedger) -> None:
    await ledger.record_edges(SCOPE, [edge(label=" About"), edge(label="References"), edge(B, A)])
    assert await ledger.ledger.labels() == {"about": 0x40}
    entries = [await ledger.ledger.prove_entry(seq) for seq in (1, 2, 3, 4)]
    assert len(entries) == (await ledger.ledger.head()).seq
    assert (await ledger.ledger.get_edge(A, EdgeType.REFERENCES, B)).type == EdgeType.REFERENCES
    assert {each.relation_type for each in await scanned(ledger)} == {"about", "references"}


async def test_the_label_after_the_last_byte_is_refused_and_nothing_is_written(
    store: MemoryKeyValueStore, ledger: CortexEdgeLedger
) -> None:
    await ledger.record_edges(SCOPE, [edge(label=f"label {number}") for number in range(192)])
    before = await ledger.ledger.head(), await keys_of(store)
    with pytest.raises(InvalidEdgeTypeError, match="192"):
        await ledger.record_edges(SCOPE, [edge(B, C, "label 0"), edge(label="one more")])
    assert (await ledger.ledger.head(), await keys_of(store)) == before
    await ledger.record_edges(SCOPE, [edge(B, C, "label 191"), edge(B, C, "references")])
    await ledger.ledger.verify()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (edge(A, A), SelfEdgeError),
        (edge(NIL_UUID, B), ObjectIdRequiredError),
        (edge(A, NIL_UUID), ObjectIdRequiredError),
        (edge(label=" "), InvalidEdgeTypeError),
        (edge(label="ä" * 101), InvalidEdgeTypeError),
        (edge(note="x" * 70_000), InvalidValueError),
        (Edge(from_id=A, to_id=B, relation_type="about", namespace_id=OTHER.namespace_id), NamespaceMismatchError),
    ],
)
async def test_what_is_refused_takes_its_neighbours_along(
    store: MemoryKeyValueStore, ledger: CortexEdgeLedger, bad: Edge, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await ledger.record_edges(SCOPE, [edge(B, C), bad])
    assert await keys_of(store) == []


async def test_linking_again_is_an_update_that_keeps_created_at(ledger: CortexEdgeLedger) -> None:
    [first] = await ledger.record_edges(SCOPE, [edge(note="one", evidence_id=C, confidence=0.3)])
    [second] = await ledger.record_edges(SCOPE, [edge(note="two")])
    assert first.meta.created_at == second.meta.created_at == START + timedelta(seconds=1)
    assert second.meta.updated_at == START + timedelta(seconds=2)
    record = await ledger.ledger.get_edge(A, "about", B)
    assert (record.created_at, record.created_by) == (first.meta.created_at, "office")
    history = await ledger.ledger.history(A, "about", B)
    assert [(entry.operation, entry.by) for entry in history] == [(Operation.ADD, ""), (Operation.UPDATE, "office")]
    proof = await ledger.ledger.prove(A, "about", B)
    verify_proof(await ledger.ledger.root(), proof)


async def test_one_call_can_record_an_edge_twice(ledger: CortexEdgeLedger) -> None:
    first, second = await ledger.record_edges(SCOPE, [edge(note="one"), edge(note="two")])
    assert first.meta.created_at == second.meta.created_at
    assert await scanned(ledger) == [second]
    assert await ledger.graph_outbox.count(SCOPE) == 1


async def test_removals_say_why_and_a_later_record_starts_anew(ledger: CortexEdgeLedger) -> None:
    await ledger.record_edges(SCOPE, [edge(note="one"), edge(B, C), edge(C, A)])
    await ledger.remove_edges(
        SCOPE, [edge(label=" ABOUT ").key, EdgeKey(A, A, "about"), EdgeKey(A, B, "never")], at=START
    )
    await ledger.remove_object_edges(SCOPE, C, at=START + timedelta(days=1))
    reasons = {}
    for source, target in ((A, B), (B, C), (C, A)):
        record = await ledger.ledger.get_edge(source, "about", target)
        reasons[source] = record.tombstoned_reason, record.tombstoned_by
    assert reasons == {A: ("unlinked", "office"), B: ("object deleted", "office"), C: ("object deleted", "office")}
    assert await scanned(ledger) == []
    [again] = await ledger.record_edges(SCOPE, [edge()])
    assert again.meta.note == ""
    assert again.meta.created_at == START + timedelta(seconds=2)
    history = await ledger.ledger.history(A, "about", B)
    assert [entry.operation for entry in history] == [Operation.ADD, Operation.REMOVE, Operation.REVIVE]
    await ledger.ledger.verify()


async def test_a_live_edge_of_another_namespace_is_neither_seen_nor_taken(ledger: CortexEdgeLedger) -> None:
    await ledger.record_edges(SCOPE, [edge(note="theirs")])
    with pytest.raises(NamespaceMismatchError):
        await ledger.record_edges(OTHER, [edge()])
    await ledger.remove_object_edges(OTHER, A, at=START)
    assert await ledger.graph_outbox.current(OTHER, [edge().key]) == []
    assert [found.meta.note for found in await scanned(ledger)] == ["theirs"]


async def test_edges_that_no_engine_recorded_are_read_too(ledger: CortexEdgeLedger) -> None:
    await ledger.ledger.add_edge(A, "references", B)
    [found] = await scanned(ledger, Scope())
    assert found.namespace_id is None
    assert found.meta.created_at == found.meta.updated_at == START + timedelta(seconds=1)
    assert await scanned(ledger) == []


async def test_a_hub_is_paged_and_removed_whole(ledger: CortexEdgeLedger) -> None:
    """More edges than are sorted in memory, of several types, some of them removed."""
    labels = ("references", "b", "a", "part_of")
    leaves = [UUID(int=number) for number in range(100, 100 + INCIDENT_BATCH)]
    edges = [edge(A, leaf, label) for leaf in leaves for label in labels] + [edge(B, A), edge(C, A), edge(B, C)]
    Random(1).shuffle(edges)
    await ledger.record_edges(SCOPE, edges)
    gone = [each.key for each in edges if each.to_id.int % 3 == 0 and each.from_id == A]
    await ledger.remove_edges(SCOPE, gone, at=START)
    kept = sorted({each.key for each in edges} - set(gone), key=lambda key: (key.from_id, key.to_id, key.relation_type))
    for page in (7, 250, 5_000):
        assert [each.key for each in await scanned(ledger, page=page)] == kept
    outbox = ledger.graph_outbox
    await outbox.settle(SCOPE, await outbox.pending(SCOPE, after=0, limit=9_999))
    await outbox.reopen_around(SCOPE, A)
    around = [key for key in kept if A in (key.from_id, key.to_id)]
    assert await outbox.count(SCOPE) == len(around)
    await ledger.remove_object_edges(SCOPE, A, at=START)
    assert [each.key for each in await scanned(ledger)] == [edge(B, C).key]
    assert {entry.key for entry in await outbox.pending_around(SCOPE, A, limit=9_999)} == set(around)


async def test_the_page_of_a_hub_does_not_read_what_came_before(ledger: CortexEdgeLedger) -> None:
    leaves = [UUID(int=number) for number in range(100, 2_100)]
    await ledger.record_edges(SCOPE, [edge(A, leaf) for leaf in leaves])
    read = 0

    async with ledger.ledger.snapshot() as view:

        class Counting:
            get, get_many = view.reader.get, view.reader.get_many

            async def scan(self, prefix: bytes, *, after: bytes | None = None, reverse: bool = False):  # type: ignore[no-untyped-def]
                nonlocal read
                async for record in view.reader.scan(prefix, after=after, reverse=reverse):
                    read += 1
                    yield record

        values = edge_scan.scan_values(Counting(), {0x40: "about"}, EdgeKey(A, leaves[1_500], "about"))
        await anext(values)
        await values.aclose()
    assert read <= edge_scan._RUN + 1 + edge_scan._CHUNK + 2


async def test_settled_entries_leave_nothing_but_the_newest_version(
    store: MemoryKeyValueStore, ledger: CortexEdgeLedger
) -> None:
    await ledger.record_edges(SCOPE, [edge(), edge(B, C)])
    await ledger.record_edges(SCOPE, [edge(note="again")])
    outbox = ledger.graph_outbox
    entries = await outbox.pending(SCOPE, after=0, limit=9)
    assert [entry.version for entry in entries] == [2, 3]
    assert await outbox.settle(SCOPE, [*entries, entries[0]]) == [entries[0]]
    assert [key for key in await keys_of(store) if key.startswith(b"o/")] == [b"o/last"]
    await ledger.record_edges(SCOPE, [edge()])
    assert [entry.version for entry in await outbox.pending(Scope(), after=3, limit=9)] == [4]


IDS = [UUID(int=number) for number in (0x10, 0x11, 0x1100, 1 << 127)]
LABELS = ["about", "references", "b", "part_of"]
some_keys = st.lists(
    st.builds(EdgeKey, st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from(LABELS)).filter(
        lambda key: key.from_id != key.to_id
    ),
    max_size=8,
)
calls = st.lists(st.tuples(st.sampled_from(["record", "remove", "delete", "reopen", "around", "settle"]), some_keys))


@given(calls=calls, page=st.integers(1, 5))
@settings(max_examples=150, deadline=None)
async def test_it_does_what_the_memory_ledger_does(calls: Sequence[tuple[str, list[EdgeKey]]], page: int) -> None:
    ledgers = CortexEdgeLedger(MemoryKeyValueStore()), MemoryEdgeLedger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_scan, "_RUN", 2)
        patch.setattr(edge_scan, "_CHUNK", 2)
        for verb, keys in calls:
            for ledger in ledgers:
                outbox = ledger.graph_outbox
                match verb:
                    case "record":
                        meta = EdgeMeta(note="n", created_at=START, updated_at=START)
                        edges = [
                            Edge(from_id=key.from_id, to_id=key.to_id, relation_type=key.relation_type, meta=meta)
                            for key in keys
                        ]
                        await ledger.record_edges(SCOPE, edges)
                    case "remove":
                        await ledger.remove_edges(SCOPE, keys, at=START)
                    case "delete" if keys:
                        await ledger.remove_object_edges(SCOPE, keys[0].from_id, at=START)
                    case "reopen":
                        await outbox.reopen(SCOPE, keys)
                    case "around" if keys:
                        await outbox.reopen_around(SCOPE, keys[0].from_id)
                    case "settle":
                        await outbox.settle(SCOPE, await outbox.pending_for(SCOPE, keys))
        cortex, memory = ledgers
        assert await scanned(cortex, page=page) == await scanned(memory)
        pending = [await each.graph_outbox.pending(SCOPE, after=0, limit=99) for each in ledgers]
        stamps = [{entry.key: entry.stamp for entry in entries} for entries in pending]
        assert stamps[0] == stamps[1]
        assert await cortex.graph_outbox.count(SCOPE) == await cortex.graph_outbox.count(Scope()) == len(stamps[0])
        for node in IDS:
            around = [await each.graph_outbox.pending_around(SCOPE, node, limit=99) for each in ledgers]
            assert {entry.key for entry in around[0]} == {entry.key for entry in around[1]}
        await cortex.ledger.verify()


async def test_unknown_labels_of_any_length_can_be_pending(ledger: CortexEdgeLedger) -> None:
    long, strange = EdgeKey(A, B, "ä" * 256), EdgeKey(uuid4(), uuid4(), "never")
    await ledger.graph_outbox.reopen(SCOPE, [long, strange])
    assert {entry.key for entry in await ledger.graph_outbox.pending_for(SCOPE, [long, strange])} == {long, strange}
    await ledger.remove_edges(SCOPE, [long, strange], at=START)
    assert await ledger.graph_outbox.current(SCOPE, [long, strange]) == []


async def test_its_health_names_its_head(ledger: CortexEdgeLedger) -> None:
    await ledger.record_edges(SCOPE, [edge(label="references")])
    assert isinstance(ledger, HealthProbe)
    health, head = await ledger.health(), await ledger.ledger.head()
    assert health.up
    assert dict(health.details) == {
        "head": 1,
        "edges": 1,
        "root": head.root.hex(),
        "overall_root": head.overall_root.hex(),
    }


async def test_a_reader_records_nothing(store: MemoryKeyValueStore, ledger: CortexEdgeLedger) -> None:
    [known] = await ledger.record_edges(SCOPE, [edge()])
    reader = CortexEdgeReader(store)
    head = await reader.ledger.head()
    for refused in (reader.record_edges(SCOPE, [known]), reader.remove_edges(SCOPE, [known.key], at=START)):
        with pytest.raises(WritesUnsupportedError, match="by the process that has it open for writing"):
            await refused
    await reader.remove_object_edges(SCOPE, known.from_id, at=START)
    assert await reader.ledger.head() == head
    assert [found.key for found in await reader.scan_edges(SCOPE, after=None, limit=9)] == [known.key]
