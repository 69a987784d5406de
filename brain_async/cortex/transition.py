"""What may follow what: the rules that every entry of a journal obeys, for replaying it and for verifying it."""

from __future__ import annotations

import msgspec

from brain_async.cortex.edge_type import FIRST_HOST_TYPE
from brain_async.cortex.journal import JournalEntry, Operation
from brain_async.cortex.record import EdgeRecord
from brain_async.errors import LedgerCorruptError

__all__ = ["check_label_entry", "check_transition"]

_NOT_REMOVED = {"tombstoned": False, "tombstoned_at": None, "tombstoned_reason": "", "tombstoned_by": ""}


def check_transition(entry: JournalEntry, before: EdgeRecord | None, before_seq: int) -> None:
    """That ``entry`` can follow the edge ``before``, which entry ``before_seq`` wrote (None and 0: there was none).

    Raises LedgerCorruptError naming the entry.
    """
    after = entry.record
    live = before is not None and not before.tombstoned
    if after is None:
        allowed = False
    elif entry.operation is Operation.ADD:
        allowed = before is None and not after.tombstoned
    elif entry.operation is Operation.REVIVE:
        allowed = before is not None and not live and not after.tombstoned
    elif entry.operation is Operation.UPDATE:
        same_edge = before is not None and before == msgspec.structs.replace(
            after, weight=before.weight, data=before.data
        )
        allowed = live and same_edge and before != after
    else:
        allowed = live and after.tombstoned_at == entry.at and before == msgspec.structs.replace(after, **_NOT_REMOVED)
    if not allowed:
        raise LedgerCorruptError(f"{entry.operation.name} cannot follow on what the edge was", where=f"j/{entry.seq}")
    if (
        entry.previous != before_seq
        or (entry.by and entry.operation is not Operation.UPDATE)
        or entry.label
        or entry.code
    ):
        raise LedgerCorruptError(
            "the entry names another one before it, or what it has no need of", where=f"j/{entry.seq}"
        )


def check_label_entry(entry: JournalEntry, registered: int) -> None:
    """That ``entry`` registers the next label after ``registered`` others. Raises LedgerCorruptError naming the entry."""
    if (
        entry.code != FIRST_HOST_TYPE + registered
        or not entry.label
        or entry.record is not None
        or entry.previous
        or entry.by
    ):
        raise LedgerCorruptError("the entry does not register the next label", where=f"j/{entry.seq}")
