"""DirectoryLock: a data directory is opened by one process at a time.

The engine itself lets a second opener in and fences off the first, whose reads and writes then fail for good.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from brain_async.errors import BackendError, GraphLockedError

__all__ = ["DirectoryLock", "home_of"]


def home_of(path: str | os.PathLike[str]) -> Path:
    """The directory that ``path`` names, by the one name that all who open it use."""
    return Path(os.path.realpath(os.path.expanduser(path)))


class DirectoryLock:
    """Holds ``<directory>.lock``, which contains the owner's process id. The kernel drops it however the process ends."""

    def __init__(self, home: Path, descriptor: int) -> None:
        self.home = home
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: str | os.PathLike[str]) -> DirectoryLock:
        """Create the directory if it is missing and lock it.

        Raises GraphLockedError when it is in use, BackendError when it cannot be made.
        """
        home = home_of(path)
        try:
            home.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(f"{home}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BackendError(f"the graph's directory {home} cannot be used: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            raise GraphLockedError(str(home), int(owner) if owner.isdigit() else None) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(home, descriptor)

    def release(self) -> None:
        """Let others in. The file stays: removing it would let two processes lock two files of one name."""
        os.close(self._descriptor)
