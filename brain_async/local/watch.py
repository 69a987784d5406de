"""Stops a server that nobody uses any more: a small process beside each one, run as a script by `Postmaster`.

Whoever leaves last stops the server, but a process ended by a signal (SIGKILL, SIGTERM, a closed terminal) leaves
without doing so. Once a second this process looks whether a user is left; it ends with the server. It imports the
standard library only, so that it starts in milliseconds and keeps little memory.

Arguments: start lock, users file, postmaster.pid, process id of the postmaster.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

_INTERVAL = 1.0  # seconds
_STOP_TIMEOUT = 60.0  # seconds

__all__ = ["main", "try_lock"]


def try_lock(descriptor: int) -> bool:
    """Take the exclusive file lock if nobody else holds any; a shared lock of our own is upgraded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(pid_file: str, pid: int) -> bool:
    """Whether ``pid`` is alive and still the one that the data directory names."""
    try:
        with open(pid_file) as file:
            if int(file.readline()) != pid:
                return False
        os.kill(pid, 0)
    except (OSError, ValueError):
        return False
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"  # killed, and waiting for init to notice
    except OSError:
        return sys.platform != "linux"


def _stop_if_unused(start_lock: int, users: int, pid_file: str, pid: int) -> None:
    # Both locks together: nobody uses the server, and nobody is about to.
    if try_lock(start_lock) and try_lock(users) and _runs(pid_file, pid):
        os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown
        deadline = time.monotonic() + _STOP_TIMEOUT
        while _runs(pid_file, pid) and time.monotonic() < deadline:
            time.sleep(0.05)
    fcntl.flock(users, fcntl.LOCK_UN)
    fcntl.flock(start_lock, fcntl.LOCK_UN)


def main(start_lock_path: str, users_path: str, pid_file: str, pid: int) -> None:
    """Watch until the server has ended."""
    start_lock = os.open(start_lock_path, os.O_RDWR)
    users = os.open(users_path, os.O_RDWR)
    while _runs(pid_file, pid):
        time.sleep(_INTERVAL)
        _stop_if_unused(start_lock, users, pid_file, pid)


if __name__ == "__main__":
    # The first process returns at once; the second belongs to nobody and outlives whoever started it.
    if os.fork() == 0:
        os.setsid()
        _, lock_argument, users_argument, pid_file_argument, pid_argument = sys.argv
        main(lock_argument, users_argument, pid_file_argument, int(pid_argument))
