"""The same edges in SQLite, as a careful host would keep them: WAL, synchronous=FULL, one row and two indexes, no root."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Barrier, Thread

from brain_async.cortex import NewEdge

__all__ = ["QueuedSqlite", "SqliteEdges", "connection_per_caller"]

_SCHEMA = """
CREATE TABLE edge (
    src BLOB NOT NULL, type INTEGER NOT NULL, dst BLOB NOT NULL, created_at INTEGER NOT NULL, created_by TEXT NOT NULL,
    weight REAL NOT NULL, data BLOB NOT NULL, tombstoned INTEGER NOT NULL DEFAULT 0, tombstoned_at INTEGER,
    tombstoned_reason TEXT NOT NULL DEFAULT '', tombstoned_by TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX edge_from ON edge (src, type, dst);
CREATE INDEX edge_to ON edge (dst, type, src);
"""
_INSERT = (
    "INSERT INTO edge (src, type, dst, created_at, created_by, weight, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_GET = "SELECT * FROM edge WHERE src = ? AND type = ? AND dst = ?"
_OUT = "SELECT * FROM edge WHERE src = ? AND NOT tombstoned ORDER BY type, dst"
_PEERS = "SELECT dst FROM edge WHERE src = ? AND NOT tombstoned ORDER BY type, dst"

Row = tuple[object, ...]


def connect(path: Path) -> sqlite3.Connection:
    """A connection, usable from any thread, on which every commit is durable."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def row(edge: NewEdge) -> Row:
    """What is inserted for an edge."""
    meta = edge.meta
    return edge.src, edge.type, edge.dst, time.time_ns() // 1000, meta.created_by, meta.weight, meta.data


class SqliteEdges:
    """A new file, and one connection that fills and reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = connect(path)
        self.connection.executescript(_SCHEMA)

    def add_edges(self, edges: Sequence[NewEdge]) -> None:
        """All in one transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(_INSERT, [row(edge) for edge in edges])
        self.connection.execute("COMMIT")

    def get_edge(self, edge: NewEdge) -> Row | None:
        """One row by its key."""
        found: Row | None = self.connection.execute(_GET, (edge.src, edge.type, edge.dst)).fetchone()
        return found

    def edges_out(self, src: bytes) -> list[Row]:
        """The live rows from ``src``, in order."""
        return self.connection.execute(_OUT, (src,)).fetchall()

    def walk(self, start: bytes, hops: int) -> set[bytes]:
        """Breadth first from ``start``, one prepared query per node."""
        seen, frontier, execute = {start}, [start], self.connection.execute
        for _ in range(hops):
            reached = []
            for node in frontier:
                for (peer,) in execute(_PEERS, (node,)):
                    if peer not in seen:
                        seen.add(peer)
                        reached.append(peer)
            frontier = reached
        return seen - {start}

    def bytes_on_disk(self) -> int:
        """Size of the file once everything is in it."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.path.stat().st_size

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def connection_per_caller(path: Path, shares: Sequence[Sequence[NewEdge]]) -> float:
    """Seconds for one thread and connection per share, each of its edges a transaction; connecting is not counted."""
    ready = Barrier(len(shares) + 1)

    def call(share: Sequence[NewEdge]) -> None:
        connection = connect(path)
        ready.wait()
        for edge in share:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_INSERT, row(edge))
            connection.execute("COMMIT")
        connection.close()

    with ThreadPoolExecutor(len(shares)) as pool:
        calls = [pool.submit(call, share) for share in shares]
        ready.wait()
        started = time.perf_counter()
        for done in calls:
            done.result()
        return time.perf_counter() - started


class QueuedSqlite:
    """One connection in one thread, fed from a queue: a transaction per edge, or with ``grouped`` for all that wait."""

    def __init__(self, path: Path, *, grouped: bool) -> None:
        self._queue: SimpleQueue[tuple[NewEdge, asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._connection = connect(path)
        self._grouped = grouped
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    async def add_edge(self, edge: NewEdge) -> None:
        """Returns once the edge is durable."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((edge, done))
        await done

    def close(self) -> None:
        """End the thread."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        execute = self._connection.execute
        while (item := self._queue.get()) is not None:
            group = [item]
            with suppress(Empty):
                while self._grouped and (more := self._queue.get_nowait()) is not None:
                    group.append(more)
            execute("BEGIN IMMEDIATE")
            for edge, _ in group:
                execute(_INSERT, row(edge))
            execute("COMMIT")
            self._loop.call_soon_threadsafe(self._wake, [done for _, done in group])

    def _wake(self, waiting: Sequence[asyncio.Future[None]]) -> None:
        for done in waiting:
            done.set_result(None)
