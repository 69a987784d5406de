"""A process that writes the ledger is killed: what it acknowledged is there, whole, and the ledger verifies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import pytest

from brain_async.adapters.lmdb import open_lmdb
from brain_async.cortex import EdgeType, Ledger
from tests.integration.cortex.writing_process import SRC

ROOT = Path(__file__).resolve().parents[3]


def run_and_kill(home: Path, start: int, seconds: float) -> list[str]:
    """What a writing process acknowledged until it was killed, ``seconds`` after it had begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.cortex.writing_process", str(home), str(start)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout as lines:
        assert lines.readline() == "ready 0 0\n"
        killer = threading.Timer(seconds, process.send_signal, [signal.SIGKILL])
        killer.start()
        acknowledged = list(lines)
    assert process.returncode == -signal.SIGKILL
    return [line for line in acknowledged if line.endswith("\n")]


async def check(home: Path, acknowledged: list[str], known: dict[int, str]) -> int:
    """Take in what was acknowledged, look for all that ever was, and verify; returns how long the journal is."""
    for line in acknowledged:
        operation, first, last = line.split()
        known.update(dict.fromkeys(range(int(first), int(last) + 1), operation))
    async with open_lmdb(home) as store:
        ledger = Ledger(store)
        async with ledger.snapshot() as view:
            for number, operation in known.items():
                edge = await view.get_edge(SRC, EdgeType.REFERENCES, UUID(int=number))
                assert edge.tombstoned or operation != "remove"
                assert edge.data == b"new" or operation != "update"
        return (await ledger.verify()).seq


async def kill_again_and_again(home: Path, times: int) -> None:
    chance = random.Random(times)
    known: dict[int, str] = {}
    length = 0
    for round_ in range(times):
        acknowledged = run_and_kill(home, 10_000 * round_, chance.uniform(0.01, 0.25))
        grown = await check(home, acknowledged, known)
        assert grown >= length + len(acknowledged) - 1
        length = grown
    assert known


async def test_killed_while_writing(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "ledger", 4)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_killed_fifty_times(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "ledger", 50)
