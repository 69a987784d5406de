"""Paths as text, also those that are no UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brain_async.cli.paths import is_gone, path_text, resolved_path


def _path(raw: bytes) -> Path:
    return Path(os.fsdecode(raw))


def test_each_name_has_a_text_of_its_own() -> None:
    assert path_text(Path("a/é.md")) == "a/é.md"
    assert path_text(_path(b"a/bad\xff.md")) == r"a/bad\xff.md"
    assert path_text(_path(b"a/bad\xfe.md")) != path_text(_path(b"a/bad\xff.md"))


@pytest.mark.parametrize("name", [b"plain.md", "é.md".encode(), b"bad\xff.md", rb"back\xff.md", b"bad\xff/in.md"])
def test_a_file_is_there_until_it_is_gone(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / _path(name)
    assert is_gone(path_text(path))
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert not is_gone(path_text(path))


def test_what_cannot_be_looked_at_is_not_gone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert is_gone(str(tmp_path / "file" / "below.md"))
    assert not is_gone(str(tmp_path / ("x" * 300)))


def test_a_loop_of_links_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    assert resolved_path(tmp_path / "loop.md") == tmp_path / "loop.md"
