"""read_files: which files are found, and what is reported about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brain_async.cli import files
from brain_async.cli.files import read_files


def _write(path: Path, content: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_folder_is_walked_in_order_without_what_is_hidden_or_installed(tmp_path: Path) -> None:
    for name in (
        "b.md",
        "a.txt",
        "c.RST",
        "sub/d.markdown",
        "code.py",
        ".hidden.md",
        ".git/e.md",
        "node_modules/f.md",
        "env/pyvenv.cfg",
        "env/g.md",
        "x.egg-info/top_level.txt",
    ):
        _write(tmp_path / name)
    reading = read_files([tmp_path])
    assert [file.path.relative_to(tmp_path).as_posix() for file in reading.files] == [
        "a.txt",
        "b.md",
        "c.RST",
        "sub/d.markdown",
    ]
    assert [file.media_type for file in reading.files] == ["text/plain", "text/markdown", "text/x-rst", "text/markdown"]
    assert reading.skipped == ()


def test_a_file_is_read_once_however_it_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.md")
    (tmp_path / "link.md").symlink_to(path)
    (tmp_path / "loop").symlink_to(tmp_path)
    reading = read_files([path, tmp_path, os.path.relpath(path), str(path)])
    assert [file.path for file in reading.files] == [path.resolve()]


def test_what_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1024**2)
    latin = _write(tmp_path / "latin.txt", b"caf\xe9")
    nul = _write(tmp_path / "nul.md", b"a\x00b")
    large = _write(tmp_path / "large.txt", b"a" * (1024**2 + 1))
    code = _write(tmp_path / "code.py")
    missing = tmp_path / "missing.md"
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    dangling = tmp_path / "dangling.md"
    dangling.symlink_to(missing)
    long_name = tmp_path / ("x" * 300 + ".md")
    reading = read_files([latin, nul, large, code, dangling, pipe, long_name, "a\x00.md"])
    assert reading.files == ()
    assert [(skipped.path.name[:8], skipped.reason) for skipped in reading.skipped] == [
        ("latin.tx", "not UTF-8 text"),
        ("nul.md", "binary: it holds NUL"),
        ("large.tx", "larger than 1 MiB"),
        ("code.py", "not one of .markdown, .md, .rst, .txt"),
        ("dangling", "no such file or directory"),
        ("pipe.txt", "not a regular file"),
        ("xxxxxxxx", "file name too long"),
        ("a\x00.md", "a name with NUL, which no file has"),
    ]
    assert all(skipped.is_named for skipped in reading.skipped)


def test_what_is_only_found_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nothing")
    _write(tmp_path / "latin.txt", b"caf\xe9")
    assert [(file.path.name, file.is_named) for file in read_files([tmp_path]).skipped] == [
        ("dangling.md", False),
        ("latin.txt", False),
    ]


def test_folders_without_a_file_to_read_are_told(tmp_path: Path) -> None:
    for name in ("none", "code", "docs", "bad"):
        (tmp_path / name).mkdir()
    _write(tmp_path / "code" / "a.py")
    _write(tmp_path / "docs" / "a.md")
    _write(tmp_path / "bad" / "a.md", b"\xff")
    reading = read_files([tmp_path / "none", tmp_path / "code", tmp_path / "docs", tmp_path / "docs", tmp_path / "bad"])
    assert reading.empty == (tmp_path / "none", tmp_path / "code")


def test_byte_order_marks_are_understood(tmp_path: Path) -> None:
    _write(tmp_path / "a.txt", b"\xef\xbb\xbfcaf\xc3\xa9")
    _write(tmp_path / "b.txt", "café".encode("utf-16"))
    assert [file.text for file in read_files([tmp_path]).files] == ["café", "café"]


def test_the_checksum_changes_with_the_content_only(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.md", "one")
    (before,) = read_files([path]).files
    os.utime(path, (1, 1))
    (touched,) = read_files([path]).files
    _write(path, "two")
    (after,) = read_files([path]).files
    assert before == touched
    assert len(before.checksum) == 64
    assert after.checksum != before.checksum


def test_no_paths_is_no_files() -> None:
    assert read_files([]) == files.FileReading((), ())
