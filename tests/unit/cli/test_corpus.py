"""distributions_corpus and files_corpus: what the engine is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.corpus import CorpusBatch, distributions_corpus, files_corpus
from brain_async.cli.distributions import Distribution, Requirement, read_distributions
from brain_async.cli.files import SourceFile, read_files
from brain_async.cli.kinds import AUTHOR, DOCUMENT, KINDS, PACKAGE, REFERENCES, REQUIRES, SECTION, WRITTEN_BY, object_id
from brain_async.model.kind import FieldType
from brain_async.model.object import Object

NAMESPACE = UUID(int=7)


def _check(batch: CorpusBatch) -> None:
    """What every batch promises: ids, order, kinds and their fields, edges between what is there."""
    specs = {spec.kind: spec for spec in KINDS}
    first_class: set[UUID] = set()
    seen: set[UUID] = set()
    next_position = 0
    parent: UUID | None = None
    for obj in batch.objects:
        assert obj.key not in seen
        seen.add(obj.key)
        assert obj.namespace_id == NAMESPACE
        assert obj.title.strip()
        spec = specs[obj.kind]
        fields = {field.name: field.type for field in spec.fields}
        for key, value in obj.properties.items():
            assert isinstance(value, str if fields[key] == FieldType.STRING else int)
            assert value != ""
        if obj.is_part:
            assert spec.is_part
            assert (obj.parent_id, obj.position) == (parent, next_position)
            assert obj.content.strip()
            next_position += 1
        else:
            assert spec.is_parent
            first_class.add(obj.key)
            parent, next_position = obj.key, 0
    assert len({edge.key for edge in batch.edges}) == len(batch.edges)
    for edge in batch.edges:
        assert {edge.from_id, edge.to_id} <= first_class
        assert edge.from_id != edge.to_id
        assert edge.namespace_id == NAMESPACE
    msgspec.json.encode(batch)


def _by_kind(objects: Sequence[Object], kind: str) -> dict[str, Object]:
    return {obj.title: obj for obj in objects if obj.kind == kind}


def _package(name: str, **fields: object) -> Distribution:
    return msgspec.convert({"name": name, **fields}, Distribution)


def test_a_package_its_sections_authors_and_requirements() -> None:
    batch = distributions_corpus(
        [
            _package(
                "Web_Client",
                summary="Speaks to servers",
                version="1.2",
                license="MIT",
                keywords=("http", "async"),
                authors=("First Author", "Second Author"),
                description="# Web client\n\nLead.\n\n## Install\n\nType it.\n\n## Install\n\nAgain.",
                description_type="text/markdown",
                requirements=(
                    Requirement("core", "core>=1; python_version < '4'"),
                    Requirement("core", "core[fast]>=2; extra == 'fast'"),
                    Requirement("absent", "absent"),
                    Requirement("web-client", "web-client[fast]; extra == 'all'"),
                ),
            ),
            _package("core", authors=("FIRST AUTHOR",)),
        ],
        namespace_id=NAMESPACE,
    )
    _check(batch)
    packages, authors = _by_kind(batch.objects, PACKAGE), _by_kind(batch.objects, AUTHOR)
    assert packages["Web_Client"].properties == {
        "version": "1.2",
        "license": "MIT",
        "keywords": "http, async",
        "sections": 4,
    }
    assert packages["core"].properties == {"sections": 0}
    sections = [obj for obj in batch.objects if obj.kind == SECTION]
    assert [(section.title, section.content) for section in sections] == [
        ("Web_Client", "Speaks to servers\n\nKeywords: http, async"),
        ("Web client", "Lead."),
        ("Web client > Install", "Type it."),
        ("Web client > Install", "Again."),
    ]
    assert [section.properties for section in sections][:3] == [{}, {"heading": "Web client"}, {"heading": "Install"}]
    assert authors["First Author"].summary == "Author of Web_Client, core"
    assert authors["First Author"].properties == {"packages": 2}
    client, core = packages["Web_Client"].key, packages["core"].key
    first, second = authors["First Author"].key, authors["Second Author"].key
    assert [(edge.from_id, edge.relation_type, edge.to_id, edge.meta.note) for edge in batch.edges] == [
        (client, REQUIRES, core, "core>=1; python_version < '4'\ncore[fast]>=2; extra == 'fast'"),
        (client, WRITTEN_BY, first, ""),
        (client, WRITTEN_BY, second, ""),
        (core, WRITTEN_BY, first, ""),
    ]


def test_files_their_sections_and_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "README.md").write_text(
        "Lead.\n\n# Project\n\n[Guide](sub/guide.md#a), [again](./sub/guide.md), [folder](sub), [me](README.md), [no](no.md)"
    )
    (tmp_path / "sub" / "guide.md").write_text("# Guide\n\n[up](../README.md) and [notes](../notes)")
    (tmp_path / "sub" / "index.rst").write_text("Index\n=====\n\n:doc:`guide`\n")
    (tmp_path / "notes.txt").write_text("Just words.")
    (tmp_path / "empty.md").write_text("")
    batch = files_corpus(read_files([tmp_path]).files, namespace_id=NAMESPACE)
    _check(batch)
    documents = _by_kind(batch.objects, DOCUMENT)
    assert list(documents) == ["Project", "empty.md", "notes.txt", "Guide", "Index"]
    assert documents["notes.txt"].summary == "Just words."
    assert documents["Guide"].properties["path"] == (tmp_path / "sub" / "guide.md").resolve().as_posix()
    names = {document.key: title for title, document in documents.items()}
    assert [(names[e.from_id], e.relation_type, names[e.to_id], e.meta.note) for e in batch.edges] == [
        ("Project", REFERENCES, "Guide", "Guide"),
        ("Project", REFERENCES, "Index", "folder"),
        ("Guide", REFERENCES, "Project", "up"),
        ("Guide", REFERENCES, "notes.txt", "notes"),
        ("Index", REFERENCES, "Guide", "guide"),
    ]


def test_ids_are_the_same_on_every_run_and_differ_by_namespace_and_kind() -> None:
    assert object_id(NAMESPACE, PACKAGE, "httpx") == UUID("4eb1e018-5144-5245-b505-0d68508b35c2")
    ids = {object_id(n, k, "x") for n in (None, NAMESPACE, UUID(int=8)) for k in (PACKAGE, AUTHOR)}
    assert len(ids) == 6


def test_a_section_keeps_its_id_when_another_is_written_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# A\n\none\n\n# B\n\ntwo")
    before = files_corpus(read_files([path]).files, namespace_id=NAMESPACE)
    path.write_text("# New\n\nzero\n\n# A\n\none\n\n# B\n\ntwo")
    after = files_corpus(read_files([path]).files, namespace_id=NAMESPACE)
    ids = {obj.title: obj.id for obj in after.objects if obj.is_part}
    assert [ids[obj.title] for obj in before.objects if obj.is_part] == [o.id for o in before.objects if o.is_part]


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    file = SourceFile(path=tmp_path / "caf\udce9.txt", media_type="text/plain", text="a\x00 b", checksum="0")
    _check(files_corpus([file], namespace_id=NAMESPACE))


@settings(deadline=None)
@given(st.lists(st.text(max_size=120), max_size=4), st.sampled_from(["a.md", "a.rst", "a.txt"]))
def test_any_text_makes_a_valid_batch(texts: list[str], name: str) -> None:
    media_type = {"md": "text/markdown", "rst": "text/x-rst", "txt": "text/plain"}[name.partition(".")[2]]
    files = [
        msgspec.convert(
            {"path": Path(f"/{number}/{name}"), "media_type": media_type, "text": text, "checksum": "0"}, SourceFile
        )
        for number, text in enumerate(texts)
    ]
    _check(files_corpus(files, namespace_id=NAMESPACE))


def test_the_environment_of_these_tests() -> None:
    batch = distributions_corpus(read_distributions(), namespace_id=NAMESPACE)
    _check(batch)
    assert batch == distributions_corpus(read_distributions(), namespace_id=NAMESPACE)
    packages = _by_kind(batch.objects, PACKAGE)
    sections = [obj for obj in batch.objects if obj.kind == SECTION]
    assert len(packages) >= 30
    assert len(sections) >= 200
    assert max(len(section.content) for section in sections) <= 2_000
    note = next(
        edge.meta.note
        for edge in batch.edges
        if (edge.from_id, edge.to_id, edge.relation_type) == (packages["httpx"].id, packages["anyio"].id, REQUIRES)
    )
    assert note == "anyio"
