"""`brain ingest PATH...`: documents on disk into the knowledge base, writing only what changed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio.to_thread
import msgspec

from brain_async.cli.corpus import files_corpus
from brain_async.cli.files import SkippedFile, read_files
from brain_async.cli.home import open_home
from brain_async.cli.kinds import DOCUMENT, KINDS, REFERENCES
from brain_async.cli.paths import is_gone, path_text, resolved_path
from brain_async.cli.progress import Phases
from brain_async.cli.report import Check
from brain_async.cli.sync import CorpusSync, Problem, stored_parents
from brain_async.errors import InvalidInputError
from brain_async.languages import known_language
from brain_async.model.object import Object
from brain_async.model.scope import Scope

__all__ = ["Ingest", "ingest_report", "run_ingest"]


class Ingest(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did.

    Attributes:
        added, changed, unchanged, deleted: documents.
        missing: paths of stored documents below the given folders whose files are gone, and which were kept.
        kept: paths of stored documents at or below given paths that are gone themselves; never deleted, since a name
            that was mistyped or a disk that is not mounted looks the same.
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
    kept: tuple[str, ...]
    written: int
    removed: int
    linked: int
    unlinked: int
    skipped: tuple[SkippedFile, ...]
    empty: tuple[Path, ...]
    problems: tuple[Problem, ...]
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether every path that was named was read, and everything that was read was written."""
        return not self.problems and not any(file.is_named for file in self.skipped)


async def run_ingest(
    home: Path, namespace_id: UUID, paths: Sequence[Path], phases: Phases, *, prune: bool, language: str
) -> Ingest:
    """Read ``paths``, write what is new or changed, and with ``prune`` delete what is gone below given folders that exist.

    ``language`` is that of the text, by name or code. Raises as ``open_home``, and InvalidInputError for a language that is
    not known. What cannot be read or written is listed in the result.
    """
    began = time.perf_counter()
    if (stored_language := known_language(language)) is None:
        raise InvalidInputError(
            f"language {language!r} is not known: use a name or a code such as german or de", field="language"
        )
    phases.begin("reading files")
    reading = await anyio.to_thread.run_sync(read_files, paths)
    phases.begin("starting PostgreSQL")
    async with open_home(home, kinds=KINDS) as engine:
        phases.begin("comparing")
        stored = await stored_parents(engine, Scope(namespace_id), (DOCUMENT,))
        vanished, kept = await anyio.to_thread.run_sync(_vanished, _paths(stored), paths)
        gone = vanished if prune else {}

        def corpus() -> Any:
            known = [Path(path) for key, path in _paths(stored).items() if key not in gone]
            batch = files_corpus(reading.files, namespace_id=namespace_id, known_paths=known)
            objects = tuple(msgspec.structs.replace(obj, language=stored_language) for obj in batch.objects)
            return msgspec.structs.replace(batch, objects=objects)

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
        missing=() if prune else tuple(sorted(vanished.values())),
        kept=tuple(sorted(kept.values())),
        written=sync.written,
        removed=sync.removed,
        linked=sync.linked,
        unlinked=sync.unlinked,
        skipped=reading.skipped,
        empty=reading.empty,
        problems=tuple(sync.problems),
        seconds=time.perf_counter() - began,
    )


def _paths(stored: Mapping[UUID, Object]) -> dict[UUID, str]:
    return {key: obj.properties["path"] for key, obj in stored.items() if obj.properties.get("path")}


def _vanished(stored: Mapping[UUID, str], given: Sequence[Path]) -> tuple[dict[UUID, str], dict[UUID, str]]:
    """What of ``stored`` lies below ``given`` and has no file any more: below folders that exist, and at or below others."""
    folders = [path_text(resolved_path(path)) for path in given if os.path.isdir(path)]
    others = [path_text(resolved_path(path)) for path in given if not os.path.isdir(path)]
    vanished: dict[UUID, str] = {}
    kept: dict[UUID, str] = {}
    for key, path in stored.items():
        is_vanished, is_kept = _is_within(path, folders), _is_within(path, others)
        if (is_vanished or is_kept) and is_gone(path):
            (vanished if is_vanished else kept)[key] = path
    return vanished, kept


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def ingest_report(ingest: Ingest) -> dict[str, Any]:
    """The report of `brain ingest --json`."""
    complete = ingest.is_complete
    return {
        "command": "ingest",
        **msgspec.structs.asdict(ingest),
        "home": str(ingest.home),
        "seconds": round(ingest.seconds, 3),
        "skipped": [
            {"path": path_text(file.path), "reason": file.reason, "is_named": file.is_named} for file in ingest.skipped
        ],
        "empty": [path_text(folder) for folder in ingest.empty],
        "checks": [Check("everything_written", complete, "true", complete)],
    }
