"""The edges around one object, both ways, in parts that fit into one commit each."""

from __future__ import annotations

import msgspec

from brain_async.cortex.batch import Asking, EdgeKeyLike
from brain_async.cortex.keys import FORWARD, REVERSE, is_removed, node_prefix, split_edge_key
from brain_async.errors import LedgerCorruptError
from brain_async.ports.kv import Scan

__all__ = ["INCIDENT_BATCH", "IncidentCursor", "incident_edges"]

INCIDENT_BATCH = 500
"""Edges of an object that are looked at in one commit."""


class IncidentCursor(msgspec.Struct, frozen=True):
    """How far ``incident_edges`` has come; ``done`` when no edge is left to look at."""

    side: bytes = FORWARD
    after: bytes | None = None
    done: bool = False


def incident_edges(
    node: bytes, cursor: IncidentCursor
) -> Asking[tuple[IncidentCursor, list[tuple[EdgeKeyLike, bytes]]]]:
    """The next INCIDENT_BATCH edges from or to ``node``: where it stopped, and (key, stored value) of the live ones.

    Those that start at ``node`` come first, then those that end there.
    """
    side, after, left = cursor.side, cursor.after, INCIDENT_BATCH
    live: list[tuple[EdgeKeyLike, bytes]] = []
    while True:
        found = yield Scan(node_prefix(side, node), after, left)
        live += [(_edge_of(side, key), value) for key, value in found.items() if not is_removed(value)]
        if len(found) == left:
            return IncidentCursor(side=side, after=max(found)), live
        left -= len(found)
        if side == REVERSE:
            return IncidentCursor(done=True), live
        side, after = REVERSE, None


def _edge_of(side: bytes, key: bytes) -> EdgeKeyLike:
    found = split_edge_key(side, key)
    if found is None:
        raise LedgerCorruptError("this is no key of an edge", where=repr(key))
    node, code, peer = found
    return (node, code, peer) if side == FORWARD else (peer, code, node)
