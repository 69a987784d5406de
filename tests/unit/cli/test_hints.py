"""Hints that work as typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from brain_async.cli.hints import command_line, command_name


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command in a folder with a blank in its name, which the shell does not search."""
    path = tmp_path / "my bin" / "brain"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def test_the_command_is_named_by_its_path_unless_the_shell_finds_it(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_name() == f"'{script}'"
    monkeypatch.setenv("PATH", str(script.parent))
    assert command_name() == "brain"


def test_a_module_is_called_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/brain_async/__main__.py"])
    monkeypatch.setenv("PATH", "")
    assert command_name() == f"{sys.executable} -m brain_async"


def test_the_home_is_named_unless_it_is_the_default(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setenv("BRAIN_HOME", "/data/brain")
    assert command_line("continue", "-n", "2", home=Path("/data/brain")) == "brain continue -n 2"
    assert command_line("search", "a b", home=Path("/my data")) == "brain search 'a b' --home '/my data'"
