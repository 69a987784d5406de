"""The files of a store: opened once checked, and mapped with room to grow."""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress
from pathlib import Path

import lmdb
from lmdb import verify

from brain_async.adapters.lmdb.errors import DISK_FULL, translated
from brain_async.adapters.lmdb.lock import WriterLock
from brain_async.adapters.lmdb.room import RoomAhead
from brain_async.errors import DiskFullError, LedgerCorruptError, LedgerError

__all__ = ["CHECKED_BYTES", "SMALLEST_MAP", "Files"]

SMALLEST_MAP = 1 << 20
CHECKED_BYTES = 256 << 20
"""Files up to this size are walked page by page before they are opened for writing: less than a second."""

_DATABASE = b"brain-key-values-1"
"""The named database that holds everything: it tells the file from any other of LMDB's, and its layout from later ones."""

_READERS = 4096
_POOLED_READERS = 64
_PROBE_BYTES = 1 << 20


def _fits(size: int) -> bool:
    """Whether the address space of this process has room for a map."""
    try:
        # Neither backed by memory nor counted as such: it cannot be written.
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True


def _check(data: Path) -> None:
    """Walk the file, which nobody may be writing. LMDB itself trusts what it reads, to the point of crashing on it."""
    try:
        problems: list[str] = verify.verify(str(data), subdir=False)  # type: ignore[no-untyped-call]
    except verify.VerifyError as error:
        raise LedgerCorruptError(f"{data} is not a file of LMDB: {error}") from error
    if problems:
        raise LedgerCorruptError(
            f"{data} is damaged: {problems[0]}" + f" and {len(problems) - 1} more" * (len(problems) > 1)
        )


class Files:
    """An open LMDB environment and its one database, locked for writing unless ``read_only``. All calls block.

    ``map_size`` is address space, not memory or disk: the file grows as it is written, and is as large as its contents.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool, map_size: int, sync: bool) -> None:
        """Raises LedgerLockedError, LedgerCorruptError, DiskFullError, and LedgerError for what else is wrong."""
        self.home = home = Path(os.path.abspath(os.path.expanduser(path)))
        self.data = home / "data.mdb"
        self._lock: WriterLock | None = None
        with translated():
            if read_only:
                if not self.data.exists():
                    raise LedgerError(f"there is no store in {home}: open it for writing first")
            else:
                home.mkdir(parents=True, exist_ok=True)
                self._lock = WriterLock.take(home)
            try:
                self.environment = self._open(read_only, map_size, sync)
                try:
                    self.database = self._database(read_only)
                    self._ahead = None if read_only else RoomAhead(self.data, self._used_bytes(self.environment))
                except BaseException:
                    self.environment.close()
                    raise
            except BaseException:
                self._release()
                raise

    def _open(self, read_only: bool, map_size: int, sync: bool) -> lmdb.Environment:
        size = self.data.stat().st_size if self.data.exists() else 0
        if 0 < size <= CHECKED_BYTES and not read_only:
            _check(self.data)
        map_size = max(map_size, SMALLEST_MAP)
        while map_size > SMALLEST_MAP and not _fits(map_size):
            map_size //= 2
        environment = lmdb.open(
            str(self.home),
            map_size=map_size,
            readonly=read_only,
            create=not read_only,
            sync=sync,
            metasync=sync,
            mode=0o600,
            max_dbs=1,
            max_readers=_READERS,
            max_spare_txns=_POOLED_READERS,
        )
        try:
            if size == 0 and not read_only:
                self._sync_directory()
            elif self._used_bytes(environment) > self.data.stat().st_size:
                # Reading a page beyond the end of the file would end the process. Pages there may be free ones.
                _check(self.data)
            environment.reader_check()
        except BaseException:
            environment.close()
            raise
        return environment

    def _database(self, read_only: bool) -> lmdb._Database:
        with suppress(lmdb.NotFoundError):
            return self.environment.open_db(_DATABASE, create=False)
        with self.environment.begin() as transaction:
            foreign = transaction.stat()["entries"]
        if foreign:
            raise LedgerCorruptError(f"{self.data} is a file of LMDB that holds something else")
        if read_only:
            raise LedgerError(f"there is no store in {self.home} yet: open it for writing first")
        return self.environment.open_db(_DATABASE)

    def _sync_directory(self) -> None:
        """Make the new file's name as durable as its contents will be."""
        descriptor = os.open(self.home, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _used_bytes(self, environment: lmdb.Environment) -> int:
        page: int = environment.stat()["psize"]
        return (environment.info()["last_pgno"] + 1) * page

    def enlarge(self) -> None:
        """Map twice the space, or what another process has grown to. No transaction may be open in this process.

        Raises DiskFullError where the address space has no room.
        """
        size: int = max(2 * self.environment.info()["map_size"], 2 * self._used_bytes(self.environment))
        if not _fits(size):  # LMDB would be left without any map
            raise DiskFullError(f"the map is full, and this process has no address space for one of {size} bytes")
        self.environment.set_mapsize(size)

    def write_ahead(self) -> None:
        """Make room for a commit: see ``RoomAhead``. Only where the files are open for writing."""
        if self._ahead is not None:
            self._ahead.make(self._used_bytes(self.environment))

    def is_disk_full(self, error: lmdb.Error) -> bool:
        """Whether a failed commit met a full disk: LMDB calls a write that was cut short an I/O error."""
        if error.code != errno.EIO:
            return False
        with self.data.open("r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                return file.write(bytes(_PROBE_BYTES)) < _PROBE_BYTES
            except OSError as full:
                return full.errno in DISK_FULL
            finally:
                file.truncate(size)

    def close(self) -> None:
        """Close every transaction and the environment, and let other writers in. Idempotent."""
        if self._ahead is not None:
            with suppress(OSError):  # room that is left over does no harm
                self._ahead.close(self._used_bytes(self.environment))
            self._ahead = None
        self.environment.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
