"""What once happened to an edge, as another record of links kept it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from brain_async.model.relation import Edge

__all__ = ["EdgeEvent"]


class EdgeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An edge that was recorded or removed.

    Attributes:
        edge: as it was last written, with both of its times.
        at: when this happened, in UTC.
        removed: whether the edge was removed; else it was recorded.
        pending: whether the graph has still to be told of the edge.
    """

    edge: Edge
    at: datetime
    removed: bool
    pending: bool
