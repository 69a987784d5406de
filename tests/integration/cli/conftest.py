"""The command, over homes whose server the tests keep running."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from brain_async.cli.commands import app
from brain_async.local import local_postgres

COMMAND = [sys.executable, "-c", "from brain_async.cli.app import main; main()"]


def brain(
    *arguments: str | Path, home: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One run in this process, which spares the imports, with stdout and stderr as text."""
    options = [*map(str, arguments), *([] if home is None else ["--home", str(home)])]
    result = CliRunner().invoke(app, options, env={"COLUMNS": "80", "NO_COLOR": "1", **(env or {})})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(options, result.exit_code, result.stdout, result.stderr)


def brain_process(*arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """One run in a process of its own, as users run it."""
    command = [*COMMAND, *map(str, arguments), "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def report(*arguments: str | Path, home: Path | None = None) -> dict[str, Any]:
    """The JSON report of a run that went well: strict, and all that is on stdout."""
    result = brain(*arguments, "--json", home=home)
    assert (result.returncode, result.stderr) == (0, "")
    return strict(result.stdout)


def strict(text: str) -> dict[str, Any]:
    """``text`` as JSON without NaN and the like; every report has its checks."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    assert isinstance(found["checks"], list)
    assert all(set(check) == {"name", "value", "aim", "holds"} for check in found["checks"])
    return found


@asynccontextmanager
async def running_home() -> AsyncIterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="brain-cli-", dir="/tmp"))
    try:
        async with local_postgres(home, settings={"fsync": "off"}):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def demo_home_dir() -> AsyncIterator[Path]:
    async with running_home() as home:
        yield home


@pytest.fixture(scope="session")
def cold_demo(demo_home_dir: Path) -> dict[str, Any]:
    """The report of the first run of the demo."""
    result = brain_process("demo", "--json", home=demo_home_dir)
    assert (result.returncode, result.stderr) == (0, "")
    return strict(result.stdout)


@pytest.fixture(scope="session")
async def files_home() -> AsyncIterator[Path]:
    """A home for documents; tests use folders of their own."""
    async with running_home() as home:
        yield home


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder."""
    with tempfile.TemporaryDirectory(prefix="brain-docs-", dir="/tmp") as path:
        yield Path(path)
