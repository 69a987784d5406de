"""What the ledger does with each call, to the entry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import (
    MAX_DATA_BYTES,
    Batch,
    EdgeMetadata,
    EdgeRecord,
    EdgeType,
    Ledger,
    NewEdge,
    Operation,
    overall_root_of,
)
from brain_async.cortex.incident import INCIDENT_BATCH
from brain_async.cortex.keys import HEAD, backward_key, edge_id, forward_key, is_removed, seq_of
from brain_async.errors import (
    BrainError,
    EdgeNotFoundError,
    InvalidEdgeTypeError,
    InvalidValueError,
    LedgerCorruptError,
    ObjectIdRequiredError,
    SelfEdgeError,
)
from brain_async.ports.kv import Change, Work
from tests.unit.cortex.samples import NOW, A, B, C, D, everything, filled, fresh, ticking, write

REF, PART = EdgeType.REFERENCES, EdgeType.PART_OF


def at(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


async def test_an_edge_is_found_both_ways_with_the_same_bytes() -> None:
    store, ledger = fresh()
    change = await ledger.add_edge(A, REF, B, EdgeMetadata(created_by="ann", weight=0.5, data=b"\xa0"))
    wanted = EdgeRecord(3, A.bytes, B.bytes, NOW, "ann", 0.5, b"\xa0")
    assert (change.operation, change.record, change.seq) == (Operation.ADD, wanted, 1)
    assert await ledger.get_edge(A, "References", B.bytes) == wanted
    held = await everything(store)
    assert held[forward_key(A.bytes, 3, B.bytes)] == held[backward_key(edge_id(A.bytes, 3, B.bytes))]
    assert sorted(held) == sorted(
        [
            b"e/from/" + A.bytes + b"/\x03/" + B.bytes,
            b"e/to/" + B.bytes + b"/\x03/" + A.bytes,
            b"idx/smt/edges/",
            b"j/" + bytes(7) + b"\1",
            b"m/head",
        ]
    )
    with pytest.raises(EdgeNotFoundError):
        await ledger.get_edge(B, REF, A)


async def test_adding_a_live_edge_changes_nothing() -> None:
    store, ledger = fresh()
    first = await ledger.add_edge(A, REF, B)
    before = await everything(store)
    again = await ledger.add_edge(A, REF, B, EdgeMetadata(weight=9.0))
    assert (again.operation, again.record, again.seq) == (None, first.record, 1)
    assert await everything(store) == before


async def test_removing_keeps_the_record_and_says_why() -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B, EdgeMetadata(weight=0.5))
    change = await ledger.remove_edge(A, REF, B, reason="wrong", by="eve")
    removed = EdgeRecord(3, A.bytes, B.bytes, NOW, "", 0.5, b"", True, at(1), "wrong", "eve")
    assert (change.operation, change.record, change.seq) == (Operation.REMOVE, removed, 2)
    assert await ledger.get_edge(A, REF, B) == removed
    again = await ledger.remove_edge(A, REF, B, reason="other")
    assert (again.operation, again.record, again.seq) == (None, removed, 2)
    never = await ledger.remove_edge(A, REF, C)
    assert (never.operation, never.record, never.seq) == (None, None, 0)
    assert (await ledger.head()).seq == 2


async def test_a_removed_edge_is_revived_with_its_new_metadata() -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B, EdgeMetadata(created_by="ann", data=b"old"))
    await ledger.remove_edge(A, REF, B, reason="wrong")
    change = await ledger.add_edge(A, REF, B, EdgeMetadata(data=b"new"))
    assert change.operation is Operation.REVIVE
    assert await ledger.get_edge(A, REF, B) == EdgeRecord(3, A.bytes, B.bytes, at(2), "", 1.0, b"new")
    history = await ledger.history(A, REF, B)
    assert [(entry.seq, entry.operation, entry.previous) for entry in history] == [(1, 1, 0), (2, 4, 1), (3, 2, 2)]
    assert await ledger.history(B, REF, A) == []


async def test_updating_keeps_who_created_it_and_when() -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B, EdgeMetadata(created_by="ann", weight=0.5, data=b"old"))
    change = await ledger.update_edge_meta(A, REF, B, data=b"new", by="bob")
    assert change.operation is Operation.UPDATE
    assert change.record == EdgeRecord(3, A.bytes, B.bytes, NOW, "ann", 0.5, b"new")
    assert (await ledger.history(A, REF, B))[-1].by == "bob"
    assert (await ledger.update_edge_meta(A, REF, B, weight=0.5, data=b"new")).operation is None
    assert (await ledger.update_edge_meta(A, REF, B, weight=2.0, data=b"")).record == EdgeRecord(
        3, A.bytes, B.bytes, NOW, "ann", 2.0, b""
    )
    with pytest.raises(EdgeNotFoundError):
        await ledger.update_edge_meta(A, REF, C, weight=2.0)
    await ledger.remove_edge(A, REF, B)
    with pytest.raises(EdgeNotFoundError):
        await ledger.update_edge_meta(A, REF, B, weight=3.0)
    assert (await ledger.head()).seq == 4


async def test_putting_adds_revives_or_updates() -> None:
    _, ledger = fresh()
    await ledger.add_edges([NewEdge(A, REF, B), NewEdge(A, REF, C)])
    await ledger.remove_edge(A, REF, C)
    new = EdgeMetadata(data=b"new")
    changes = await ledger.put_edges([NewEdge(A, REF, other, new) for other in (B, C, D, D)])
    assert [change.operation for change in changes] == [Operation.UPDATE, Operation.REVIVE, Operation.ADD, None]


async def test_a_batch_sees_itself_and_shares_one_moment() -> None:
    _, ledger = fresh()
    changes = await ledger.add_edges([NewEdge(A, REF, B), NewEdge(A, PART, B), NewEdge(A, REF, B)])
    assert [(change.operation, change.seq) for change in changes] == [(1, 1), (1, 2), (None, 1)]
    assert {change.record.created_at for change in changes if change.record} == {NOW}
    gone = await ledger.remove_edges([(A, REF, B), (A, REF, B), (A, "part_of", B)], reason="all")
    assert [change.operation for change in gone] == [Operation.REMOVE, None, Operation.REMOVE]
    assert await ledger.add_edges([]) == []
    assert await ledger.remove_edges([]) == []
    assert (await ledger.head()).seq == 4


WRONG: list[tuple[NewEdge, type[BrainError]]] = [
    (NewEdge(A, REF, A), SelfEdgeError),
    (NewEdge(UUID(int=0), REF, B), ObjectIdRequiredError),
    (NewEdge(A, REF, bytes(16)), ObjectIdRequiredError),
    (NewEdge(A, REF, b"short"), InvalidValueError),
    (NewEdge(A, 0x20, B), InvalidEdgeTypeError),
    (NewEdge(A, 0x40, B), InvalidEdgeTypeError),
    (NewEdge(A, "about", B), InvalidEdgeTypeError),
    (NewEdge(A, REF, B, EdgeMetadata(weight=float("nan"))), InvalidValueError),
    (NewEdge(A, REF, B, EdgeMetadata(data=bytes(MAX_DATA_BYTES + 1))), InvalidValueError),
    (NewEdge(A, REF, B, EdgeMetadata(created_at=datetime(2026, 3, 1))), InvalidValueError),
]


@pytest.mark.parametrize(("edge", "error"), WRONG)
async def test_one_wrong_edge_leaves_the_whole_batch_unwritten(edge: NewEdge, error: type[BrainError]) -> None:
    store, ledger = fresh()
    with pytest.raises(error):
        await ledger.add_edges([NewEdge(A, REF, B), edge])
    assert await everything(store) == {}


async def test_a_naive_clock_and_overlong_reasons_are_refused() -> None:
    store, ledger = fresh()
    with pytest.raises(InvalidValueError):
        await Ledger(store, clock=lambda: datetime(2026, 3, 1)).add_edge(A, REF, B)
    await ledger.add_edge(A, REF, B)
    with pytest.raises(InvalidValueError) as caught:
        await ledger.remove_edge(A, REF, B, reason="x" * 2_000)
    assert caught.value.field == "reason"
    assert not (await ledger.get_edge(A, REF, B)).tombstoned


async def test_direction_label_and_case_make_an_edge() -> None:
    _, ledger = fresh()
    await ledger.register_label("about")
    for _ in range(3):
        for src, type, dst, data in (
            (A, "about", B, b"1"),
            (A, "about", B, b"2"),
            (B, "about", A, b"3"),
            (A, "references", B, b"4"),
            (A, " about ", B, b"5"),
            (A, "About", B, b"6"),
        ):
            await ledger.put_edges([NewEdge(src, type, dst, EdgeMetadata(data=data))])
    assert [(edge.type, edge.data, edge.created_at) for edge in await ledger.edges_out(A)] == [
        (3, b"4", at(4)),
        (0x40, b"6", at(1)),
    ]
    assert await ledger.edges_in(B) == await ledger.edges_out(A)
    assert [edge.data for edge in await ledger.edges_out(B)] == [b"3"]
    assert (await ledger.head()).edges == 3


async def test_edges_are_iterated_by_type_and_peer() -> None:
    _, ledger = fresh()
    await filled(ledger)
    async with ledger.snapshot() as view:
        for node in range(1, 8):
            found = [record async for record in view.iter_edges_out(UUID(int=node), include_tombstoned=True)]
            assert [(edge.type, edge.dst) for edge in found] == sorted((edge.type, edge.dst) for edge in found)
            assert {edge.src for edge in found} == {UUID(int=node).bytes}
            live = [record async for record in view.iter_edges_out(UUID(int=node))]
            assert live == [edge for edge in found if not edge.tombstoned]
            about = [record async for record in view.iter_edges_out(UUID(int=node), ["about"])]
            assert about == [edge for edge in live if edge.type == 0x40]
            both = [record async for record in view.iter_edges_out(UUID(int=node), ["about", REF, 3])]
            assert both == live
        into = [record async for record in view.iter_edges_in(UUID(int=103), include_tombstoned=True)]
        assert [(edge.src_id, edge.type) for edge in into] == [(UUID(int=4), 3)]
    assert [record async for record in ledger.iter_edges_in(UUID(int=103))] == into
    assert (await anext(ledger.iter_edges_out(UUID(int=4)))).src_id == UUID(int=4)


async def test_a_snapshot_shows_no_later_change() -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    async with ledger.snapshot() as view:
        out = view.iter_edges_out(A)
        await ledger.add_edge(A, REF, C)
        await ledger.remove_edge(A, REF, B)
        assert [record.dst_id async for record in out] == [B]
        assert (await view.head()).seq == 1
        assert not (await view.get_edge(A, REF, B)).tombstoned


async def test_looking_back_by_entry_and_by_time() -> None:
    _, ledger = fresh()
    await ledger.add_edge(A, REF, B, EdgeMetadata(data=b"1"))
    await ledger.add_edge(A, REF, C)
    await ledger.update_edge_meta(A, REF, B, data=b"2")
    await ledger.remove_edge(A, REF, B)
    await ledger.add_edge(A, REF, B, EdgeMetadata(data=b"3"))
    states = {
        0: [],
        1: [(B, b"1")],
        2: [(B, b"1"), (C, b"")],
        3: [(B, b"2"), (C, b"")],
        4: [(C, b"")],
        5: [(B, b"3"), (C, b"")],
    }
    for seq, wanted in states.items():
        for moment in (seq, at(seq - 1), at(seq - 1) + timedelta(milliseconds=500)):
            found = await ledger.edges_out(A, as_of=moment)
            assert [(edge.dst_id, edge.data) for edge in found] == wanted
        assert [edge.src_id for edge in await ledger.edges_in(C, as_of=seq)] == ([A] if seq >= 2 else [])
        assert await ledger.edges_out(A, [PART], as_of=seq) == []
    assert await ledger.edges_out(A, as_of=at(100)) == await ledger.edges_out(A)
    for wrong in (-1, 6, True, datetime(2026, 3, 1), "now"):
        with pytest.raises(InvalidValueError):
            await ledger.edges_out(A, as_of=wrong)  # type: ignore[arg-type]


async def test_the_entry_of_a_moment_is_found_among_many() -> None:
    _, ledger = fresh()
    for number in range(70):
        await ledger.add_edge(A, REF, UUID(int=100 + number))
    for seconds in range(-1, 71):
        assert len(await ledger.edges_out(A, as_of=at(seconds))) == min(70, seconds + 1)


async def test_entries_never_go_back_in_time() -> None:
    moments = iter([at(10), at(3), at(20)])
    ledger = Ledger(MemoryKeyValueStore(), clock=lambda: next(moments))
    for other in (B, C, D):
        await ledger.add_edge(A, REF, other)
    async with ledger.snapshot() as view:
        assert [entry.at async for entry in view.iter_journal()] == [at(10), at(10), at(20)]
        assert [entry.seq async for entry in view.iter_journal(after=1)] == [2, 3]
        assert [entry.seq async for entry in view.iter_journal(reverse=True)] == [3, 2, 1]
        assert [entry.seq async for entry in view.iter_journal(after=3, reverse=True)] == [2, 1]
    assert len(await ledger.edges_out(A, as_of=at(15))) == 2


async def test_a_given_time_of_creation_is_kept() -> None:
    _, ledger = fresh()
    long_ago = datetime(1969, 7, 20, tzinfo=UTC)
    await ledger.add_edge(A, REF, B, EdgeMetadata(created_at=long_ago))
    assert (await ledger.get_edge(A, REF, B)).created_at == long_ago
    assert await ledger.edges_out(A, as_of=at(-1)) == []


@pytest.mark.parametrize("count", [0, 3, INCIDENT_BATCH - 1, INCIDENT_BATCH, 2 * INCIDENT_BATCH + 7])
async def test_all_edges_of_an_object_are_removed(count: int) -> None:
    _, ledger = fresh()
    others = [UUID(int=100 + number) for number in range(count)]
    edges = [NewEdge(A, REF, other) if number % 3 else NewEdge(other, PART, A) for number, other in enumerate(others)]
    await ledger.add_edges([*edges, NewEdge(B, REF, C)])
    before = await ledger.head()
    assert await ledger.remove_edges_of(A, reason="deleted", by="eve") == count
    assert (await ledger.head()).seq == before.seq + count
    assert await ledger.edges_out(A) == await ledger.edges_in(A) == []
    assert len(await ledger.edges_out(B)) == 1
    if count:
        gone = await ledger.get_edge(edges[0].src, edges[0].type, edges[0].dst)
        assert (gone.tombstoned_reason, gone.tombstoned_by) == ("deleted", "eve")
    assert await ledger.remove_edges_of(A) == 0
    with pytest.raises(ObjectIdRequiredError):
        await ledger.remove_edges_of(UUID(int=0))
    await ledger.verify()


async def test_the_root_is_of_the_edges_alone() -> None:
    edges = [NewEdge(A, REF, B), NewEdge(B, PART, C), NewEdge(C, REF, A)]
    forwards = Ledger(MemoryKeyValueStore(), clock=lambda: NOW)
    backwards = Ledger(MemoryKeyValueStore(), clock=lambda: NOW)
    await forwards.add_edges(edges)
    for edge in reversed(edges):
        await backwards.add_edges([edge])
    assert await forwards.root() == await backwards.root()
    assert await forwards.journal_root() != await backwards.journal_root()
    assert await forwards.overall_root() == overall_root_of(await forwards.root(), await forwards.journal_root())
    before = await forwards.root()
    await forwards.remove_edge(A, REF, B)
    assert await forwards.root() != before


async def test_work_of_the_caller_goes_into_the_same_commit() -> None:
    store, ledger = fresh()

    def work() -> Work[int]:
        change, changes = yield from ledger.add_edges_work([NewEdge(A, REF, B)], NOW)
        mine = {b"o/%d" % done.seq: b"due" for done in changes if done.operation is not None}
        return Change({**change.writes, **mine}), len(mine)

    assert await store.commit(work) == 1
    async with store.snapshot() as reader:
        assert await reader.get(b"o/1") == b"due"
    assert (await ledger.verify()).edges == 1


async def test_a_batch_composes_changes_of_every_sort_into_one() -> None:
    store, ledger = fresh()
    await ledger.add_edge(A, REF, B)

    def work() -> Work[list[Operation | None]]:
        batch = Batch(at(60))
        label = yield from batch.register("about")
        done = yield from batch.add([NewEdge(A, label, B), NewEdge(A, "about", C)])
        done += yield from batch.remove([(A, REF, B), (A, "about", C)], reason="moved", by="eve")
        done.append((yield from batch.update((A, "about", B), weight=2.0, data=None, by="eve")))
        return (yield from batch.finish()), [change.operation for change in done]

    assert await store.commit(work) == [1, 1, 4, 4, 3]
    verified = await ledger.verify()
    assert (verified.seq, verified.edges, verified.labels) == (7, 3, 1)
    assert [(edge.type, edge.weight) for edge in await ledger.edges_out(A)] == [(0x40, 2.0)]


async def test_an_unfinished_or_failed_batch_writes_nothing() -> None:
    store, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    before = await everything(store)

    def work() -> Work[None]:
        batch = Batch(NOW)
        yield from batch.add([NewEdge(A, REF, C)])
        yield from batch.update((A, REF, D), weight=2.0, data=None, by="")
        return (yield from batch.finish()), None

    with pytest.raises(EdgeNotFoundError):
        await store.commit(work)
    assert await everything(store) == before


async def test_the_value_of_an_edge_leads_to_its_entry() -> None:
    store, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    key = forward_key(A.bytes, 3, B.bytes)
    assert (seq_of((await everything(store))[key]), is_removed((await everything(store))[key])) == (1, False)
    await ledger.remove_edge(A, REF, B)
    assert (seq_of((await everything(store))[key]), is_removed((await everything(store))[key])) == (2, True)


async def test_corrupt_bytes_are_an_error_wherever_they_are_met() -> None:
    store, ledger = fresh()
    await ledger.add_edge(A, REF, B)
    key = forward_key(A.bytes, 3, B.bytes)
    value = (await everything(store))[key]
    for wrong in (b"", b"x", value[:20], b"\xff" * 90, (await everything(store))[HEAD]):
        await write(store, {key: wrong})
        with pytest.raises(LedgerCorruptError):
            await ledger.get_edge(A, REF, B)
        with pytest.raises(LedgerCorruptError):
            await ledger.remove_edge(A, REF, B)
    await write(store, {key: value, HEAD: b"\xa0"})
    with pytest.raises(LedgerCorruptError, match="m/head"):
        await ledger.root()
    with pytest.raises(LedgerCorruptError, match="m/head"):
        await ledger.add_edge(A, REF, C)


async def test_two_ledgers_over_one_store_go_on_from_each_other() -> None:
    store = MemoryKeyValueStore()
    one, other = Ledger(store, clock=ticking()), Ledger(store, clock=ticking())
    await one.add_edge(A, REF, B)
    assert (await other.add_edge(A, REF, B)).operation is None
    assert (await other.add_edge(A, REF, C)).seq == 2
    assert (await one.add_edge(A, REF, D)).seq == 3
    await one.verify()
