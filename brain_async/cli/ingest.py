"""`brain ingest PATH...`: documents on disk into the knowledge base, writing only what changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import anyio.to_thread
import msgspec

from brain_async.cli.corpus import files_corpus
from brain_async.cli.files import SkippedFile, read_files
from brain_async.cli.home import open_home
from brain_async.cli.kinds import DOCUMENT, KINDS, REFERENCES
from brain_async.cli.progress import Phases
from brain_async.cli.report import Check
from brain_async.cli.sync import CorpusSync, Problem, stored_parents
from brain_async.model.object import Object
from brain_async.model.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["Ingest", "ingest_report", "run_ingest"]


class Ingest(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did.

    Attributes:
        added, changed, unchanged, deleted: documents.
        missing: paths of stored documents below the given folders whose files are gone, and which were kept.
        written, removed: objects, sections included.
        linked, unlinked: ``references`` edges.
        seconds: of the whole run.
    """

    home: Path
    namespace: UUID
    added: int
    changed: int
    unchanged: int
    deleted: int
    missing: tuple[str, ...]
    written: int
    removed: int
    linked: int
    unlinked: int
    skipped: tuple[SkippedFile, ...]
    problems: tuple[Problem, ...]
    seconds: float


async def run_ingest(home: Path, namespace_id: UUID, paths: Sequence[Path], phases: Phases, *, prune: bool) -> Ingest:
    """Read ``paths``, write what is new or changed, and with ``prune`` delete what is gone below the given folders.

    Raises as ``open_home``. What cannot be read or written is listed in the result.
    """
    began = time.perf_counter()
    phases.begin("reading files")
    reading = await anyio.to_thread.run_sync(read_files, paths)
    phases.begin("starting PostgreSQL")
    async with open_home(home, kinds=KINDS) as engine:
        phases.begin("comparing")
        stored = await stored_parents(engine, Scope(namespace_id), (DOCUMENT,))
        # A skipped file is still there: what it held before is kept.
        present = {file.path for file in reading.files} | {file.path for file in reading.skipped}
        vanished = {key: path for key, path in _paths(stored).items() if _is_vanished(path, paths, present)}
        gone = list(vanished) if prune else []

        def corpus() -> Any:
            known = [path for key, path in _paths(stored).items() if key not in gone]
            return files_corpus(reading.files, namespace_id=namespace_id, known_paths=known)

        sync = CorpusSync(engine, namespace_id, await anyio.to_thread.run_sync(corpus), relations=(REFERENCES,))
        await sync.compare()
        await sync.write(gone=gone, progress=phases.begin("embedding and writing"))
        await sync.link(progress=phases.begin("linking"))
        await sync.finish()
    return Ingest(
        home=home,
        namespace=namespace_id,
        added=len(sync.added),
        changed=len(sync.changed),
        unchanged=sync.unchanged,
        deleted=len(gone),
        missing=() if prune else tuple(sorted(map(str, vanished.values()))),
        written=sync.written,
        removed=sync.removed,
        linked=sync.linked,
        unlinked=sync.unlinked,
        skipped=reading.skipped,
        problems=tuple(sync.problems),
        seconds=time.perf_counter() - began,
    )


def _paths(stored: Mapping[UUID, Object]) -> dict[UUID, Path]:
    return {key: Path(obj.properties["path"]) for key, obj in stored.items() if obj.properties.get("path")}


def _is_vanished(path: Path, given: Iterable[Path], present: AbstractSet[Path]) -> bool:
    """Whether ``path`` lies at or below one of ``given`` and is no file any more."""
    if path in present or path.exists():
        return False
    return any(path.is_relative_to(folder.resolve()) for folder in given)


def ingest_report(ingest: Ingest) -> dict[str, Any]:
    """The report of `brain ingest --json`."""
    written = not ingest.problems
    return {
        "command": "ingest",
        **msgspec.structs.asdict(ingest),
        "home": str(ingest.home),
        "seconds": round(ingest.seconds, 3),
        "skipped": [{"path": _printable(file.path), "reason": file.reason} for file in ingest.skipped],
        "checks": [Check("everything_written", written, "true", written)],
    }


def _printable(path: Path) -> str:
    # A name that is no UTF-8 holds lone surrogates, which no JSON can.
    return str(path).encode("utf-8", "replace").decode()
