"""Reading the documents on disk: which files count, their text, and why some were left out."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from brain_async.cli.documents import MediaType
from brain_async.cli.paths import resolved_path

__all__ = ["MAX_FILE_BYTES", "MEDIA_TYPES", "FileReading", "SkippedFile", "SourceFile", "read_files"]

MEDIA_TYPES: dict[str, MediaType] = {
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".rst": "text/x-rst",
    ".txt": "text/plain",
}
"""Media type by file name suffix, in lower case: the files that are read."""

MAX_FILE_BYTES = 4 * 1024 * 1024

_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})
_SKIPPED_SUFFIXES = (".dist-info", ".egg-info")
_BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was read. ``checksum`` is the SHA-256 of its bytes, in hex: equal when nothing changed."""

    path: Path
    media_type: MediaType
    text: str
    checksum: str


class SkippedFile(msgspec.Struct, frozen=True):
    """One file that could not be read; ``reason`` says why, in words. ``is_named``: it was asked for by its own name."""

    path: Path
    reason: str
    is_named: bool = False


class FileReading(msgspec.Struct, frozen=True):
    """What ``read_files`` found, in the order of the paths given, within a folder by path, each file once.

    ``empty`` are the folders given that hold no file to read.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...]
    empty: tuple[Path, ...] = ()


def read_files(paths: Iterable[str | os.PathLike[str]]) -> FileReading:
    """The Markdown, reStructuredText and plain-text files at ``paths`` and, for folders, anywhere below.

    Below a folder, hidden files and folders, virtual environments, ``node_modules`` and the like are passed over, links
    to folders are not followed, and files of other types are ignored. A path given itself is always looked at, and is
    reported as skipped when it does not exist or is of another type. Text is UTF-8, or UTF-16 with a byte order mark; a
    file that is neither, holds NUL, is larger than MAX_FILE_BYTES or may not be read is skipped. Raises nothing of these.

    Paths of files are absolute and free of links, except that a link that cannot be read keeps its own name.
    """
    files: list[SourceFile] = []
    skipped: list[SkippedFile] = []
    empty: list[Path] = []
    seen: set[Path] = set()
    named = [Path(given) for given in paths]

    def unreadable(error: OSError) -> None:
        folder = Path(error.filename)
        skipped.append(SkippedFile(folder, _words(error), is_named=folder in named))

    for given in named:
        is_empty = True
        troubles = len(skipped)
        for path in _candidates(given, unreadable):
            is_empty = False
            resolved = resolved_path(path)
            if resolved in seen:
                continue
            seen.add(resolved)
            found = _read(resolved)
            if isinstance(found, SourceFile):
                files.append(found)
            else:
                shown = path.absolute() if os.path.islink(path) else resolved
                skipped.append(SkippedFile(shown, found, is_named=path == given))
        if is_empty and len(skipped) == troubles:
            empty.append(given)
    return FileReading(tuple(files), tuple(skipped), tuple(empty))


def _candidates(path: Path, unreadable: Callable[[OSError], None]) -> Iterator[Path]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = sorted(name for name in folders if _is_walked(Path(folder, name)))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in MEDIA_TYPES:
                yield Path(folder, name)


def _is_walked(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _SKIPPED_FOLDERS or name.endswith(_SKIPPED_SUFFIXES):
        return False
    return not os.path.exists(folder / "pyvenv.cfg")


def _read(path: Path) -> SourceFile | str:
    """The file, or why it could not be read."""
    if "\x00" in os.fspath(path):
        return "a name with NUL, which no file has"
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    try:
        status = path.stat()
        # A pipe or device would block for ever, so only regular files are opened.
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if media_type is None:
            return f"not one of {', '.join(MEDIA_TYPES)}"
        if status.st_size > MAX_FILE_BYTES:
            return f"larger than {MAX_FILE_BYTES // 1024**2} MiB"
        raw = path.read_bytes()
        text = raw.decode("utf-16" if raw.startswith(_BYTE_ORDER_MARKS) else "utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8 text"
    except OSError as error:
        return _words(error)
    if "\x00" in text:
        return "binary: it holds NUL"
    return SourceFile(path=path, media_type=media_type, text=text, checksum=hashlib.sha256(raw).hexdigest())


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
