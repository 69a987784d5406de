"""RoomAhead: the file is lengthened before LMDB does it, in a way that keeps later writes fast."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["RoomAhead"]

_LEAST, _MOST = 1 << 20, 64 << 20
_PAGE_BYTES = 4096
_ZEROS = bytes(_PAGE_BYTES)


class RoomAhead:
    """Zeros behind the used part of a file, written page by page, for the next commits to add their pages in.

    LMDB writes what it adds in long runs, and Linux then caches each run in folios of up to a megabyte. For every single page
    that is written or synced in such a folio, ext4 looks at all its pages: a commit of 520 scattered pages took 40 ms
    instead of 12. Pages that were cached one by one stay so. All calls block; one thread at a time.
    """

    def __init__(self, file: Path, used: int) -> None:
        """``used`` bytes of the file hold something. Raises OSError."""
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
        self._used = used
        self._size = os.fstat(self._descriptor).st_size

    def make(self, used: int) -> None:
        """Before a commit to a file of ``used`` bytes: leave as much as the last one added, and a quarter, at its end."""
        grown, self._used = used - self._used, used
        if self._size - used >= max(_LEAST // 2, min(grown + grown // 4, _MOST)):
            return
        start = max(self._size, used)
        end = used + min(max(_LEAST, 2 * grown), _MOST)
        try:
            for offset in range(start, end, _PAGE_BYTES):
                os.pwrite(self._descriptor, _ZEROS, offset)
            self._size = max(start, end)
        except OSError:  # what the commit needs may fit all the same
            with suppress(OSError):
                os.ftruncate(self._descriptor, start)
            self._size = start

    def close(self, used: int) -> None:
        """Cut off what was not used."""
        if self._size > used:
            os.ftruncate(self._descriptor, used)
        os.close(self._descriptor)
