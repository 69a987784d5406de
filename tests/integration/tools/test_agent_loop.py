"""The example of an agent loop, stopped between two pages and taken up by a new process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "agent_loop.py"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that the server's user can reach."""
    path = Path(tempfile.mkdtemp(prefix="brain-agent-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def run_example(folder: Path, *turns: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *turns], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_loop_goes_on_after_a_restart_between_two_pages(folder: Path) -> None:
    first = run_example(folder, "2")
    assert [line.split()[0] for line in first] == ["search", "continue", "stopped:"]
    checkpoint = json.loads((folder / "agent.json").read_text())
    assert json.loads(checkpoint["context"])["result_set"]["offset"] == 4

    second = run_example(folder)
    assert second[0].startswith("continue "), "no second search"
    assert second[1] == "5 renewals are at risk: Acme, Borealis, Cobalt, Dynamo, Ember"
    assert len(second) == 2
    shown = [title for line in (*first[:2], second[0]) for title in json.loads(line.split(" ", 1)[1].replace("'", '"'))]
    assert sorted(shown) == ["Acme", "Borealis", "Cobalt", "Dynamo", "Ember"], "no page twice, none left out"
