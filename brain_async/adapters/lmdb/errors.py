"""The one place where LMDB's errors become this library's; LMDB's error stays the cause."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import lmdb

from brain_async.errors import BackendError, BrainError, ClosedError, DiskFullError, LedgerCorruptError, LedgerError

__all__ = ["DISK_FULL", "translate", "translated"]

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a file cannot grow."""

_DAMAGED = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.PageNotFoundError,
    lmdb.IncompatibleError,
    lmdb.CursorFullError,
    lmdb.PageFullError,
)


def translate(error: lmdb.Error | OSError) -> BrainError:
    """The library's error for one of LMDB or of the file system."""
    code = error.errno if isinstance(error, OSError) else error.code
    match error:
        case _ if code in DISK_FULL:
            return DiskFullError(f"the disk is full, nothing was written: {error}")
        case lmdb.MapFullError():
            return DiskFullError(f"the map is full, nothing was written: {error}")
        case lmdb.ReadersFullError():
            return BackendError(f"too many snapshots are open: {error}")
        case lmdb.PanicError():
            return LedgerError(f"a write failed where nothing more can be said of the file: open it again: {error}")
        case _ if isinstance(error, _DAMAGED):
            return LedgerCorruptError(f"the file is damaged, or not one of this library: {error}")
        case lmdb.Error() if code == 0 and "already open" in str(error):
            return LedgerError(f"{error} Share the store that is open")
        case lmdb.Error() if code == 0:
            return ClosedError(f"the snapshot or its store is closed: {error}")
        case _:
            return LedgerError(f"LMDB failed: {type(error).__name__}: {error}")


@contextmanager
def translated() -> Iterator[None]:
    """Raise the library's error for what LMDB or the file system raises."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        raise translate(error) from error
