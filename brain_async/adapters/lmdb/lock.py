"""WriterLock: a store is written by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from brain_async.errors import LedgerLockedError

__all__ = ["WriterLock"]


class WriterLock:
    """Holds ``<directory>/writer.lock``, which contains the owner's process id.

    LMDB itself would let a second writer in and have the two take turns, each with a queue of its own. The kernel drops
    the lock however the process ends.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, home: Path) -> WriterLock:
        """Lock a directory that is there. Raises LedgerLockedError when it is being written, OSError as it comes."""
        descriptor = os.open(home / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise LedgerLockedError(
                f"{home} is open for writing in process {owner or 'unknown'}: close it there, or open it with"
                " read_only=True",
                owner=int(owner) if owner.isdecimal() else None,
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Let others in. The file stays: removing it would let two processes lock two files of one name."""
        os.close(self._descriptor)
