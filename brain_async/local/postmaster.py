"""Starting, recognising and stopping the postmaster of one data directory. Everything here blocks."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from brain_async.errors import LocalServerError
from brain_async.local import watch
from brain_async.local.account import Account
from brain_async.local.extensions import ServerInstall, copy_extensions

__all__ = ["Postmaster"]

_logger = logging.getLogger(__name__)

_PORT = 5432  # names the socket file only; nothing listens on TCP
_USER = "postgres"
_LOG_LIMIT = 4 * 1024 * 1024
_TAIL_BYTES = 16 * 1024
_STOP_TIMEOUT = 60
_SOCKET_LIMIT = 100  # bytes; the kernel allows 107 including the socket's own name, macOS 103
_SMALL_SHM = 512 * 1024 * 1024
_LEAST_BUILD_MEMORY = 256 << 20
_MOST_BUILD_MEMORY = 4 << 30
_LEAST_PAGE_CACHE = 256 << 20
_MOST_PAGE_CACHE = 1 << 30
_PASSING_FAILURES = ("lock file", "pre-existing shared memory block", "is another postmaster")

_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": str(_PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "autovacuum_work_mem": "64MB",
    "max_wal_size": "1GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "log_checkpoints": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


@dataclass(frozen=True)
class _PidFile:
    """What postmaster.pid says; written by the server in several steps, so all but the pid may be missing."""

    pid: int
    socket_dir: Path | None


class Postmaster:
    """The server process of one home directory. The caller holds the home's start lock around every call but ``dsn``."""

    def __init__(self, home: Path, install: ServerInstall, account: Account, settings: Mapping[str, str]) -> None:
        self._home = home
        self._install = install
        self._account = account
        self._settings = settings
        self.data_dir = home / "postgres"
        self.log_path = self.data_dir / "server.log"
        self.start_lock_path = home / "postgres.lock"
        self.users_path = home / "postgres.users"
        self._pid_path = self.data_dir / "postmaster.pid"

    def ensure_initialised(self) -> None:
        """Create the data directory, complete or not at all: initdb fills a scratch directory that is then renamed."""
        self._account.open_install(self._install.root)
        self._account.open_way(self.data_dir)
        if (self.data_dir / "PG_VERSION").is_file():
            return
        for leftover in self._home.glob("postgres.init-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix="postgres.init-", dir=self._home))
        self._account.own(scratch)
        # Folding and trigrams must know every letter, whatever the environment's locale; the builtin provider also
        # keeps text indexes valid across updates of the operating system.
        ctype = "UTF-8" if sys.platform == "darwin" else "C.UTF-8"
        options = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        code, output = self._run(
            "initdb",
            *("-D", str(scratch), "-U", _USER, "--auth=trust", "--no-instructions", f"--lc-ctype={ctype}", *options),
        )
        if code != 0:
            shutil.rmtree(scratch, ignore_errors=True)
            raise LocalServerError(f"initdb failed in {self._home}:\n{output}")
        with (scratch / "postgresql.conf").open("a") as conf:
            conf.write("\ninclude_if_exists 'brain.conf'\n")
        scratch.rename(self.data_dir)

    def ensure_running(self, deadline: float) -> None:
        """Return once connections are accepted; ``deadline`` is in ``time.monotonic`` seconds. Raises LocalServerError."""
        while True:
            found = self._read_pid_file()
            if found is None or not self._is_ours(found.pid):
                self._remove_stale_locks()
                self._start(deadline)
                self._watch()
            elif self._accepts(found):
                return
            if time.monotonic() >= deadline:
                raise LocalServerError(
                    f"PostgreSQL in {self.data_dir} is not ready yet; its log ends:\n{self.log_tail()}"
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server if it runs, fast first; a shutdown that hangs is cut short, which costs a crash recovery."""
        for mode in ("fast", "immediate"):
            found = self._read_pid_file()
            if found is None or not self._is_ours(found.pid):
                return
            code, _ = self._run(
                "pg_ctl", "stop", "-D", str(self.data_dir), "-m", mode, "-w", "-t", str(_STOP_TIMEOUT), "-s"
            )
            if code == 0:
                socket_dir = self._socket_dir()
                if socket_dir != self.data_dir:
                    shutil.rmtree(socket_dir, ignore_errors=True)
                return

    def pid(self) -> int | None:
        """Process id of the running postmaster."""
        found = self._read_pid_file()
        return found.pid if found is not None and self._is_ours(found.pid) else None

    def dsn(self) -> str:
        """Connection URL over the unix socket."""
        found = self._read_pid_file()
        socket_dir = found.socket_dir if found is not None and found.socket_dir is not None else self._socket_dir()
        return f"postgresql://{_USER}@/postgres?host={quote(str(socket_dir), safe='/')}&port={_PORT}"

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the server's log; empty when there is none."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
                text = log.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _start(self, deadline: float) -> None:
        self._write_conf()
        if self.log_path.exists() and self.log_path.stat().st_size > _LOG_LIMIT:
            self.log_path.rename(self.log_path.with_suffix(".log.1"))
        seconds = max(1, int(deadline - time.monotonic()))
        while True:
            before = self.log_path.stat().st_size if self.log_path.exists() else 0
            code, output = self._run(
                "pg_ctl",
                *("start", "-D", str(self.data_dir), "-l", str(self.log_path), "-w", "-t", str(seconds), "-s"),
            )
            if code == 0:
                return
            log = self.log_tail() if self.log_path.exists() and self.log_path.stat().st_size > before else ""
            # Processes of a killed server take a moment to go away; only that is worth another try.
            passing = any(reason in log for reason in _PASSING_FAILURES)
            if not passing or time.monotonic() >= deadline:
                raise LocalServerError(
                    f"PostgreSQL in {self.data_dir} did not start: {output.strip()}; its log ends:\n{log}"
                )
            time.sleep(0.2)

    def _remove_stale_locks(self) -> None:
        """Remove what a killed server left: the process id in it may belong to anybody by now.

        The server's own check of its shared memory still stops a second postmaster while backends of the first live.
        """
        socket = self._socket_dir() / f".s.PGSQL.{_PORT}"
        for path in (self._pid_path, socket, socket.with_name(f"{socket.name}.lock")):
            path.unlink(missing_ok=True)

    def _watch(self) -> None:
        """Start the process that stops this server when its last user was killed."""
        found = self._read_pid_file()
        if found is None or getattr(sys, "frozen", False):  # a frozen program has no interpreter to run a script with
            return
        arguments = [self.start_lock_path, self.users_path, self._pid_path, found.pid]
        try:
            subprocess.run(
                [sys.executable, "-I", "-S", watch.__file__, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            # Without it the server works as well; it may only stay behind after a kill.
            _logger.warning("the local server in %s has no watcher", self._home, exc_info=True)

    def _write_conf(self) -> None:
        """Write brain.conf afresh: it holds absolute paths, and home and wheels may have moved since the last start."""
        paths = copy_extensions(self._install, self._home / "extensions")
        settings = {
            **_SETTINGS,
            "unix_socket_directories": str(self._socket_dir()),
            "shared_preload_libraries": ",".join(self._install.preload),
            "extension_control_path": paths.control,
            "dynamic_library_path": paths.library,
            "dynamic_shared_memory_type": "mmap" if _free_shared_memory() < _SMALL_SHM else "posix",
            "maintenance_work_mem": f"{_build_memory() >> 20}MB",
            "shared_buffers": f"{_page_cache() >> 20}MB",
            **self._settings,
        }
        lines = [f"{name} = {_quoted(value)}" for name, value in settings.items()]
        partial = self.data_dir / "brain.conf.partial"
        partial.write_text(
            "# Rewritten before every start; put your own settings in postgresql.conf.\n" + "\n".join(lines) + "\n"
        )
        self._account.own(partial)
        partial.chmod(0o600)
        os.replace(partial, self.data_dir / "brain.conf")

    def _socket_dir(self) -> Path:
        """The data directory, which only the server's account may enter; a private one when its path will not do."""
        path = str(self.data_dir)
        # A comma separates socket directories, and hosts in a connection URL.
        if len(os.fsencode(path)) + len(f"/.s.PGSQL.{_PORT}") <= _SOCKET_LIMIT and "," not in path:
            return self.data_dir
        found = self.data_dir.stat()
        short = Path("/tmp", f"brain-async-{self._account.uid}-{found.st_dev:x}-{found.st_ino:x}")
        try:
            short.mkdir(mode=0o700)
            self._account.own(short)
        except FileExistsError:
            state = short.lstat()
            if short.is_symlink() or state.st_uid != self._account.uid or state.st_mode & 0o077:
                raise LocalServerError(f"{short} exists and is not private to the server: remove it") from None
        return short

    def _read_pid_file(self) -> _PidFile | None:
        try:
            lines = self._pid_path.read_text().splitlines()
            pid = abs(int(lines[0]))
        except FileNotFoundError:
            return None
        except (ValueError, IndexError):
            return _PidFile(0, None)
        return _PidFile(pid, Path(lines[4]) if len(lines) > 4 and lines[4] else None)

    def _is_ours(self, pid: int) -> bool:
        """Whether ``pid`` is a live postmaster of this very directory: its working directory is the data directory."""
        import psutil  # an extra; ``find_install`` has checked that it is there

        if pid <= 0:
            return False
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
                return False
            return os.path.samefile(process.cwd(), self.data_dir)
        except (psutil.Error, OSError):
            # Of another user, so not started for this directory, or gone.
            return False

    def _accepts(self, found: _PidFile) -> bool:
        if found.socket_dir is None:
            return False
        code, _ = self._run(
            "pg_isready",
            "-q",
            "-U",
            _USER,
            "-d",
            _USER,
            "-h",
            str(found.socket_dir),
            "-p",
            str(_PORT),
            "-t",
            "5",
            own=True,
        )
        return code == 0

    def _run(self, program: str, *arguments: str, own: bool = False) -> tuple[int, str]:
        """Run one of the server's programs; ``own`` keeps this process's account. Returns exit code and output."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        environment["LC_ALL"] = "C"
        options = {} if own else self._account.process_options()
        # Output goes to a file: a pipe would be inherited by the server and never reach its end.
        with tempfile.TemporaryFile() as output:
            try:
                result = subprocess.run(
                    [str(self._install.binary(program)), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    env=environment,
                    check=False,
                    **options,
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise LocalServerError(f"{program} could not be run: {error}") from error
            output.seek(0)
            return result.returncode, output.read().decode(errors="replace")


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _free_shared_memory() -> int:
    """In bytes. Containers often have 64 MB, too little for a parallel index build; files in the data directory do then."""
    try:
        state = os.statvfs("/dev/shm")
    except OSError:
        return 0 if sys.platform == "linux" else _SMALL_SHM
    return state.f_bavail * state.f_frsize


def _machine_memory() -> int:
    """In bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _page_cache() -> int:
    """The server's own cache, in bytes: a sixteenth of the machine's memory, taken as the data grows into it."""
    return max(_LEAST_PAGE_CACHE, min(_machine_memory() // 16, _MOST_PAGE_CACHE))


def _build_memory() -> int:
    """The most that building one index may take, in bytes: a quarter of the machine's memory, half of what can be shared."""
    limits = [_machine_memory() // 4, _MOST_BUILD_MEMORY]
    if (shared := _free_shared_memory()) >= _SMALL_SHM:
        limits.append(shared // 2)
    return max(_LEAST_BUILD_MEMORY, min(limits))
