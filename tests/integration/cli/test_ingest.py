"""brain ingest: what is on disk, and only what changed."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from brain_async import Scope
from brain_async.cli.corpus import files_corpus
from brain_async.cli.files import read_files
from brain_async.cli.home import open_home
from brain_async.cli.kinds import DOCUMENT, KINDS, REFERENCES
from brain_async.cli.sync import CorpusSync, stored_edges, stored_parents
from tests.integration.cli.conftest import brain, report, strict

GUIDE = "# Guide\n\nStart here.\n\n## Harvest\n\nPick the quinces in October. See [storage](storage.md).\n"
STORAGE = "# Storage\n\nKeep quinces cool, away from apples.\n"


@pytest.fixture
def docs(folder: Path) -> Path:
    (folder / "guide.md").write_text(GUIDE)
    (folder / "storage.md").write_text(STORAGE)
    return folder


def counts(found: dict[str, object]) -> tuple[object, ...]:
    return tuple(found[name] for name in ("added", "changed", "unchanged", "deleted", "written", "linked", "unlinked"))


def test_the_second_run_changes_nothing(files_home: Path, docs: Path) -> None:
    first = report("ingest", docs, home=files_home)
    assert counts(first) == (2, 0, 0, 0, 5, 1, 0)
    assert first["skipped"] == first["problems"] == []
    second = report("ingest", docs, home=files_home)
    assert counts(second) == (0, 0, 2, 0, 0, 0, 0)


def test_a_changed_file_is_written_again_without_its_old_sections_and_links(files_home: Path, docs: Path) -> None:
    namespace = str(uuid4())
    report("ingest", docs, "--namespace", namespace, home=files_home)
    (docs / "guide.md").write_text("# Guide\n\nStart here.\n\n## Pruning\n\nCut in February.\n")
    found = report("ingest", docs / "guide.md", "--namespace", namespace, home=files_home)
    assert counts(found) == (0, 1, 0, 0, 3, 0, 1)
    assert found["removed"] == 1
    hits = report("search", "quinces in October", "--namespace", namespace, home=files_home)["objects"]
    assert "Guide > Harvest" not in [part["title"] for hit in hits for part in hit.get("evidence", ())]
    best = report("search", "cut in February", "--namespace", namespace, home=files_home)["objects"][0]
    assert best["evidence"][0]["title"] == "Guide > Pruning"


def test_the_language_of_the_files(files_home: Path, folder: Path) -> None:
    namespace = str(uuid4())
    (folder / "stadt.md").write_text("# Stadt\n\nDie Häuser am Fluss.\n")
    arguments = (folder, "--namespace", namespace)
    assert report("ingest", *arguments, home=files_home)["added"] == 1
    found = report("ingest", *arguments, "--language", "de", home=files_home)
    assert (found["changed"], found["written"]) == (1, 2), "another language is written anew"
    assert report("ingest", *arguments, "--language", "german", home=files_home)["unchanged"] == 1
    page = report("search", "das Haus", "--namespace", namespace, "--explain", home=files_home)
    channels = {rank["channel"] for hit in page["objects"][0]["explain"] for rank in hit["channels"]}
    assert "lexical" in channels
    refused = brain("ingest", *arguments, "--language", "germn", home=files_home)
    assert refused.returncode != 0
    assert "germn" in refused.stderr


def test_a_single_file_keeps_its_links_to_what_is_stored(files_home: Path, docs: Path) -> None:
    report("ingest", docs, home=files_home)
    (docs / "guide.md").write_text(GUIDE + "\nAnd more.\n")
    found = report("ingest", docs / "guide.md", home=files_home)
    assert (found["changed"], found["linked"], found["unlinked"]) == (1, 0, 0)


def test_vanished_files_are_deleted_only_when_asked(files_home: Path, docs: Path) -> None:
    report("ingest", docs, home=files_home)
    (docs / "storage.md").unlink()
    kept = report("ingest", docs, home=files_home)
    assert kept["missing"] == [str(docs.resolve() / "storage.md")]
    assert kept["deleted"] == 0
    pruned = report("ingest", docs, "--prune", home=files_home)
    assert pruned["deleted"] == pruned["removed"] == 1
    assert report("ingest", docs, home=files_home)["missing"] == []


def test_what_cannot_be_read_is_listed_with_its_reason(files_home: Path, docs: Path) -> None:
    (docs / "broken.txt").write_bytes(b"\xff\xfe\xfa")
    found = report("ingest", docs, home=files_home)
    assert [(Path(file["path"]).name, file["reason"]) for file in found["skipped"]] == [
        ("broken.txt", "not UTF-8 text")
    ]
    human = brain("ingest", docs, docs / "nowhere.md", home=files_home)
    assert "documents: 2 unchanged" in human.stdout
    assert f"{docs.resolve() / 'nowhere.md'}: no such file or directory\n" in human.stdout


def test_a_path_that_was_named_and_not_read_is_an_error(files_home: Path, docs: Path) -> None:
    for paths, added in (([docs / "nowhere.md"], 0), ([docs, docs / "nowhere.md"], 2)):
        result = brain("ingest", *paths, "--json", "--namespace", str(uuid4()), home=files_home)
        found = strict(result.stdout)
        assert (result.returncode, found["added"]) == (1, added)
        assert [(check["value"], check["holds"]) for check in found["checks"]] == [(False, False)]


def test_a_named_file_that_may_not_be_read_stops_no_other(
    files_home: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "guide.md":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    # Root may read everything, so who may is told here, to the check of arguments and to the reading.
    monkeypatch.setattr("os.access", lambda path, *rest, **options: Path(path).name != "guide.md")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    result = brain("ingest", docs / "guide.md", docs / "storage.md", "--json", home=files_home)
    found = strict(result.stdout)
    assert (result.returncode, found["added"]) == (1, 1)
    assert [(file["reason"], file["is_named"]) for file in found["skipped"]] == [("permission denied", True)]


def test_an_empty_folder_is_told(files_home: Path, folder: Path) -> None:
    result = brain("ingest", folder, home=files_home)
    assert result.returncode == 0
    assert f"nothing to ingest in {folder}: no .markdown, .md, .rst, .txt file\n" in result.stdout
    assert report("ingest", folder, home=files_home)["empty"] == [str(folder)]


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes on POSIX only")
def test_a_name_that_is_no_utf8_is_pruned_only_when_its_file_is_gone(files_home: Path, folder: Path) -> None:
    for raw in (b"bad\xff.md", b"bad\xfe.md"):
        (folder / os.fsdecode(raw)).write_text("# Bad name\n\nStill a document.\n")
    assert report("ingest", folder, "--prune", home=files_home)["added"] == 2
    again = report("ingest", folder, "--prune", home=files_home)
    assert counts(again) == (0, 0, 2, 0, 0, 0, 0)
    (folder / os.fsdecode(b"bad\xff.md")).unlink()
    assert report("ingest", folder, home=files_home)["missing"] == [rf"{folder.resolve()}/bad\xff.md"]
    assert counts(report("ingest", folder, "--prune", home=files_home)) == (0, 0, 1, 1, 0, 0, 0)


def test_a_folder_that_is_gone_itself_is_never_pruned(files_home: Path, folder: Path) -> None:
    old = folder / "old"
    old.mkdir()
    (old / "guide.md").write_text(GUIDE)
    report("ingest", old, home=files_home)
    (old / "guide.md").unlink()
    old.rmdir()
    for path in (old, old / "guide.md"):
        result = brain("ingest", path, "--prune", home=files_home)
        assert result.returncode == 1
        assert "deleted" not in result.stdout
        assert "kept, since the path given is gone itself" in result.stdout
        kept = strict(brain("ingest", path, "--prune", "--json", home=files_home).stdout)
        assert (kept["deleted"], kept["kept"]) == (0, [str(old.resolve() / "guide.md")])
    assert report("ingest", folder, "--prune", home=files_home)["deleted"] == 1


async def test_a_run_that_was_stopped_is_completed_by_the_next(files_home: Path, docs: Path) -> None:
    namespace = uuid4()
    scope = Scope(namespace)
    batch = files_corpus(read_files([docs]).files, namespace_id=namespace)
    async with open_home(files_home, kinds=KINDS) as engine:
        stopped = CorpusSync(engine, namespace, batch, relations=(REFERENCES,))
        await stopped.compare()
        await stopped.write()
        assert await stored_edges(engine, scope) == {}

        again = CorpusSync(engine, namespace, batch, relations=(REFERENCES,))
        await again.compare()
        assert (len(again.changed), again.unchanged) == (2, 0)
        await again.write()
        await again.link()
        await again.finish()
        assert len(await stored_edges(engine, scope)) == 1

        third = CorpusSync(engine, namespace, batch, relations=(REFERENCES,))
        await third.compare()
        assert third.unchanged == 2


async def test_one_bad_section_keeps_its_document_unfinished(files_home: Path, docs: Path) -> None:
    namespace = uuid4()
    batch = files_corpus(read_files([docs]).files, namespace_id=namespace)
    bad = tuple(
        msgspec.structs.replace(obj, content="a\x00b") if obj.title == "Guide > Harvest" else obj
        for obj in batch.objects
    )
    async with open_home(files_home, kinds=KINDS) as engine:
        sync = CorpusSync(engine, namespace, msgspec.structs.replace(batch, objects=bad), relations=(REFERENCES,))
        await sync.compare()
        await sync.write()
        await sync.link()
        await sync.finish()
        assert [problem.title for problem in sync.problems] == ["Guide > Harvest"]
        stored = await stored_parents(engine, Scope(namespace), (DOCUMENT,))
        assert {obj.title: "checksum" in obj.properties for obj in stored.values()} == {"Guide": False, "Storage": True}
