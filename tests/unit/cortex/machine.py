"""A ledger under any sequence of changes, beside a model of plain dicts. It runs over any key-value store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from brain_async.adapters.memory.kv import MemoryKeyValueStore
from brain_async.cortex import (
    EdgeMetadata,
    EdgeRecord,
    EdgeType,
    Ledger,
    NewEdge,
    Operation,
    decode_proof,
    encode_proof,
    verify_entry,
    verify_proof,
)
from brain_async.cortex.keys import FORWARD, REVERSE, split_edge_key
from brain_async.errors import EdgeNotFoundError, InvalidEdgeTypeError, SelfEdgeError
from brain_async.ports.kv import KeyValueStore

T = TypeVar("T")
Key = tuple[bytes, int, bytes]

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

NODES = st.integers(1, 6).map(lambda number: number.to_bytes(16, "big"))
LABELS = ("about", "mentions", "blocks")
TYPES = st.sampled_from([EdgeType.REFERENCES, EdgeType.PART_OF, EdgeType.TOMBSTONES, *LABELS])
METAS = st.builds(
    EdgeMetadata,
    created_by=st.sampled_from(["", "ann"]),
    weight=st.sampled_from([1.0, 0.5, -3.25, 0.1]),
    data=st.sampled_from([b"", b"\xa0", b"x" * 300]),
)
EDGES = st.tuples(NODES, TYPES, NODES)


class LedgerMachine(RuleBasedStateMachine):
    """Set ``open_store`` to what opens the same store again after it was closed; the default keeps one in memory."""

    open_store: Callable[[], Callable[[], AbstractAsyncContextManager[KeyValueStore]]]

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._reopened = type(self).open_store()
        self._stack = AsyncExitStack()
        self.clock = START
        self.edges: dict[Key, EdgeRecord] = {}
        self.codes: dict[str, int] = {}
        self.changes: list[tuple[Operation, Key | str, datetime]] = []
        self.past: list[dict[Key, EdgeRecord]] = [{}]
        self.run(self._open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _open(self) -> None:
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self.store = await self._stack.enter_async_context(self._reopened())
        self.ledger = Ledger(self.store, clock=lambda: self.clock)

    def teardown(self) -> None:
        try:
            self.run(self.check_everything())
        finally:
            self.run(self._stack.aclose())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def code(self, type: EdgeType | str) -> int | None:
        return self.codes.get(type) if isinstance(type, str) else int(type)

    def changed(self, operation: Operation, what: Key | str) -> None:
        self.changes.append((operation, what, self.clock))
        self.past.append(dict(self.edges))

    @rule(seconds=st.integers(0, 3))
    def time_passes(self, seconds: int) -> None:
        self.clock += timedelta(seconds=seconds)

    @rule(label=st.sampled_from(LABELS))
    def register(self, label: str) -> None:
        code = self.run(self.ledger.register_label(f" {label.upper()}"))
        if label not in self.codes:
            self.codes[label] = 0x40 + len(self.codes)
            self.changed(Operation.LABEL, label)
        assert code == self.codes[label]

    @rule(edges=st.lists(st.tuples(EDGES, METAS), min_size=1, max_size=6), update=st.booleans())
    def add(self, edges: list[tuple[tuple[bytes, EdgeType | str, bytes], EdgeMetadata]], update: bool) -> None:
        new = [NewEdge(src, type, dst, meta) for (src, type, dst), meta in edges]
        write = self.ledger.put_edges if update else self.ledger.add_edges
        if any(src == dst or self.code(type) is None for (src, type, dst), _ in edges):
            with pytest.raises((SelfEdgeError, InvalidEdgeTypeError)):
                self.run(write(new))
            return
        results = self.run(write(new))
        for ((src, type, dst), meta), result in zip(edges, results, strict=True):
            key = src, self.code(type) or 0, dst
            operation, record = self.added(key, meta, update)
            if operation is not None:
                self.edges[key] = record
                self.changed(operation, key)
            assert (result.operation, result.record) == (operation, record)

    def added(self, key: Key, meta: EdgeMetadata, update: bool) -> tuple[Operation | None, EdgeRecord]:
        known = self.edges.get(key)
        weight = {0.1: 0.10000000149011612}.get(meta.weight, meta.weight)
        fresh = EdgeRecord(key[1], key[0], key[2], self.clock, meta.created_by, weight, meta.data)
        if known is None:
            return Operation.ADD, fresh
        if known.tombstoned:
            return Operation.REVIVE, fresh
        if not update or (known.weight, known.data) == (weight, meta.data):
            return None, known
        updated = EdgeRecord(key[1], key[0], key[2], known.created_at, known.created_by, weight, meta.data)
        return Operation.UPDATE, updated

    @rule(edge=EDGES, weight=st.sampled_from([None, 0.5, 2.0]), data=st.sampled_from([None, b"", b"\x01"]))
    def update(self, edge: tuple[bytes, EdgeType | str, bytes], weight: float | None, data: bytes | None) -> None:
        src, type, dst = edge
        code = self.code(type)
        if code is None or src == dst:
            return
        known = self.edges.get((src, code, dst))
        if known is None or known.tombstoned:
            with pytest.raises(EdgeNotFoundError):
                self.run(self.ledger.update_edge_meta(src, type, dst, weight=weight, data=data))
            return
        self.run(self.ledger.update_edge_meta(src, type, dst, weight=weight, data=data, by="bob"))
        weight, data = known.weight if weight is None else weight, known.data if data is None else data
        if (weight, data) != (known.weight, known.data):
            self.edges[src, code, dst] = EdgeRecord(code, src, dst, known.created_at, known.created_by, weight, data)
            self.changed(Operation.UPDATE, (src, code, dst))

    @rule(edges=st.lists(EDGES, min_size=1, max_size=6), reason=st.sampled_from(["", "wrong"]))
    def remove(self, edges: list[tuple[bytes, EdgeType | str, bytes]], reason: str) -> None:
        known = [(src, type, dst) for src, type, dst in edges if src != dst and self.code(type) is not None]
        results = self.run(self.ledger.remove_edges(known, reason=reason, by="eve"))
        for (src, type, dst), result in zip(known, results, strict=True):
            key = src, self.code(type) or 0, dst
            assert (result.operation is Operation.REMOVE) is self.removed(key, reason)
            assert result.record == self.edges.get(key)

    def removed(self, key: Key, reason: str) -> bool:
        record = self.edges.get(key)
        if record is None or record.tombstoned:
            return False
        self.edges[key] = EdgeRecord(
            record.type,
            record.src,
            record.dst,
            record.created_at,
            record.created_by,
            record.weight,
            record.data,
            True,
            self.clock,
            reason,
            "eve",
        )
        self.changed(Operation.REMOVE, key)
        return True

    @rule(node=NODES)
    def remove_object(self, node: bytes) -> None:
        count = self.run(self.ledger.remove_edges_of(node, reason="deleted", by="eve"))
        out = sorted(key for key in self.edges if key[0] == node)
        into = sorted((key for key in self.edges if key[2] == node), key=lambda key: (key[1], key[0]))
        assert count == sum([self.removed(key, "deleted") for key in [*out, *into]])

    @rule()
    def reopen(self) -> None:
        self.run(self._open())

    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        node = data.draw(NODES)
        seq = data.draw(st.integers(0, len(self.changes)))
        wanted = sorted(key for key, record in self.past[seq].items() if key[0] == node and not record.tombstoned)
        found = self.run(self.ledger.edges_out(node, as_of=seq))
        assert found == [self.past[seq][key] for key in wanted]
        moment = START + timedelta(seconds=data.draw(st.integers(-1, 10)))
        seq = sum(at <= moment for _, _, at in self.changes)
        wanted = sorted(
            (key for key, record in self.past[seq].items() if key[2] == node and not record.tombstoned),
            key=lambda key: (key[1], key[0]),
        )
        found = self.run(self.ledger.edges_in(node, as_of=moment))
        assert found == [self.past[seq][key] for key in wanted]

    @rule(edge=EDGES)
    def read_and_prove(self, edge: tuple[bytes, EdgeType | str, bytes]) -> None:
        src, type, dst = edge
        code = self.code(type)
        if code is None:
            with pytest.raises(InvalidEdgeTypeError):
                self.run(self.ledger.get_edge(src, type, dst))
            return
        known = self.edges.get((src, code, dst))
        proof = self.run(self.ledger.prove(src, type, dst))
        root = self.run(self.ledger.root())
        assert verify_proof(root, proof)
        assert verify_proof(root, encode_proof(proof))
        assert decode_proof(encode_proof(proof)) == proof
        assert proof.edge == known
        if known is None:
            with pytest.raises(EdgeNotFoundError):
                self.run(self.ledger.get_edge(src, type, dst))
        else:
            assert self.run(self.ledger.get_edge(src, type, dst)) == known

    @invariant()
    def the_journal_is_as_long_as_there_were_changes(self) -> None:
        head = self.run(self.ledger.head())
        assert head.seq == len(self.changes)
        assert head.edges == len(self.edges)

    async def check_everything(self) -> None:
        verified = await self.ledger.verify()
        assert verified.seq == len(self.changes)
        assert await self.ledger.labels() == self.codes
        async with self.ledger.snapshot() as view:
            entries = [entry async for entry in view.iter_journal()]
            out = [pair async for pair in view.reader.scan(FORWARD)]
            into = [pair async for pair in view.reader.scan(REVERSE)]
            for node in {key[0] for key in self.edges}:
                keys = sorted(key for key in self.edges if key[0] == node)
                found = [record async for record in view.iter_edges_out(node, include_tombstoned=True)]
                assert found == [self.edges[key] for key in keys]
                live = [record async for record in view.iter_edges_out(node, [EdgeType.PART_OF, EdgeType.REFERENCES])]
                assert live == [record for record in found if record.type in (3, 11) and not record.tombstoned]
            for seq in range(1, len(entries) + 1):
                assert verify_entry(verified.journal_root, await view.prove_entry(seq))
        assert [(entry.operation, _what(entry.record, entry.label), entry.at) for entry in entries] == self.changes
        assert [_key(FORWARD, key) for key, _ in out] == sorted(self.edges)
        assert {_key(REVERSE, key): value for key, value in into} == {_key(FORWARD, key): value for key, value in out}
        again = Ledger(MemoryKeyValueStore())
        head = await again.replay(entries)
        assert (head.root, head.journal_root) == (verified.root, verified.journal_root)
        imported = Ledger(MemoryKeyValueStore())
        assert await imported.import_journal(self.ledger.export_journal()) == head
        assert await imported.verify() == verified


def _what(record: EdgeRecord | None, label: str) -> Key | str:
    return label if record is None else (record.src, record.type, record.dst)


def _key(side: bytes, stored: bytes) -> Key:
    found = split_edge_key(side, stored)
    assert found is not None
    return found if side == FORWARD else found[::-1]  # type: ignore[return-value]
