"""Imports go strictly downwards, as the contracts in pyproject.toml say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_import_contracts_hold() -> None:
    pytest.importorskip("importlinter", reason="import-linter is a development dependency: pip install -e '.[dev]'")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["brain_async", "brain_async.adapters.memory", "brain_async.testing"])
def test_the_core_loads_no_driver_and_no_optional_package(module: str) -> None:
    absent = ("asyncpg", "pgvector", "httpx", "lmdb", "typer", "rich", "wordllama", "tokenizers", "psutil", "pytest")
    probe = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
