"""The operating system account the server runs under: our own, or a separate one when we are root.

PostgreSQL refuses to run as root. A root process therefore runs it as the user ``embedded_postgres``, created on first
use, and gives that user the data directory. Directories above the home and above the installed wheel that other users
cannot enter get the traverse bit for others (``o+x``: enter, not list), and only those.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain_async.errors import LocalServerError

__all__ = ["Account", "server_account"]

_ROOT_ACCOUNT = "embedded_postgres"
_READ = stat.S_IROTH
_ENTER = stat.S_IXOTH


@dataclass(frozen=True)
class Account:
    """Who runs the server. ``switch`` is true when that is somebody else than this process."""

    uid: int
    gid: int
    switch: bool

    def process_options(self) -> dict[str, Any]:
        """Arguments for ``subprocess`` that make the child run under this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}

    def own(self, path: Path) -> None:
        """Give ``path`` (not what is below it) to the account."""
        if self.switch:
            os.chown(path, self.uid, self.gid)

    def open_way(self, path: Path) -> None:
        """Let the account enter ``path``'s directory and all above it."""
        if self.switch:
            for directory in path.parents:
                self._add(directory, _ENTER)

    def open_install(self, root: Path) -> None:
        """Let the account read the server installation (pip under a strict umask leaves it closed)."""
        if not self.switch:
            return
        self.open_way(root)
        probes = (root, root / "bin" / "postgres", root / "lib", root / "share" / "postgres.bki")
        if all(self._may(path, _READ) for path in probes):
            return
        self._open_tree(root)

    def _open_tree(self, root: Path) -> None:
        self._add(root, _READ | _ENTER)
        for directory, names, files in os.walk(root):
            for name in names:
                self._add(Path(directory, name), _READ | _ENTER)
            for name in files:
                path = Path(directory, name)
                executable = path.stat().st_mode & stat.S_IXUSR
                self._add(path, _READ | _ENTER if executable else _READ)

    def _may(self, path: Path, bits: int) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            return found.st_mode & (bits << 6) == bits << 6
        return found.st_mode & bits == bits

    def _add(self, path: Path, bits: int) -> None:
        if not self._may(path, bits):
            path.chmod(stat.S_IMODE(path.stat().st_mode) | bits)


def server_account() -> Account:
    """The account to run the server under; creates it when we are root. Raises LocalServerError."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    try:
        entry = pwd.getpwnam(_ROOT_ACCOUNT)
    except KeyError:
        entry = _create()
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def _create() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", _ROOT_ACCOUNT]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        detail = result.stderr.strip()
    except OSError as error:
        detail = str(error)
    try:
        # Looked up whatever useradd said: another process may have created it at the same moment.
        return pwd.getpwnam(_ROOT_ACCOUNT)
    except KeyError:
        raise LocalServerError(
            f"PostgreSQL does not run as root, and the user {_ROOT_ACCOUNT} could not be created ({detail}): "
            "create it, or run as an ordinary user"
        ) from None
