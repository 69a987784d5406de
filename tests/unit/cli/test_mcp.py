"""The options of `brain mcp`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from brain_async import InvalidInputError
from brain_async.cli.commands import app
from brain_async.cli.mcp import parse_address, parse_write_kinds
from brain_async.tools import WriteKinds


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8931", ("127.0.0.1", 8931)),
        (" 0.0.0.0:80 ", ("0.0.0.0", 80)),
        ("8931", ("127.0.0.1", 8931)),
        (":8931", ("127.0.0.1", 8931)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_without_a_host_is_loopback(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "localhost", "localhost:", "localhost:http", "localhost:65536", "x:-1", "x:١"])
def test_an_address_has_a_port(text: str) -> None:
    with pytest.raises(InvalidInputError, match="HOST:PORT"):
        parse_address(text)


def test_save_tools_are_mapped_to_kinds() -> None:
    assert parse_write_kinds([]) == WriteKinds()
    assert parse_write_kinds(["fact=note", " save_memory = a=b "]) == WriteKinds(fact="note", memory="a=b")
    for wrong in ("fact", "fact=", "truth=note", "=note"):
        with pytest.raises(InvalidInputError, match="TOOL=KIND"):
            parse_write_kinds([wrong])


@pytest.mark.parametrize(
    "options", [["--home", "x", "--dsn", "y"], ["--helix", "http://localhost:6969"]], ids=lambda options: options[0]
)
def test_options_that_contradict_each_other_are_wrong_usage(options: list[str]) -> None:
    result = CliRunner().invoke(app, ["mcp", *options], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http", "x"], "error: --http takes HOST:PORT, such as 127.0.0.1:8931, not 'x'\n"),
        (["--save", "x=y"], "error: --save takes TOOL=KIND, TOOL being one of discovery, fact, memory, not 'x=y'\n"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["mcp", "--home", str(tmp_path), *options])
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", said)


def test_without_the_extra_there_is_one_sentence_with_the_pip_line(tmp_path: Path) -> None:
    without = "import sys; sys.modules['mcp'] = None; "
    command = "from brain_async.cli.app import main; main()"
    run = [sys.executable, "-c", without + command, "mcp", "--home", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    line = "error: brain mcp needs the package mcp: pip install 'brain-async[mcp]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)
    imported = [sys.executable, "-c", without + "import brain_async.mcp"]
    done = subprocess.run(imported, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: brain_async.mcp needs the package mcp: pip install 'brain-async[mcp]'"
    )
