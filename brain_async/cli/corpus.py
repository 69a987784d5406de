"""From what was read to what the engine takes: objects, parents before their parts, and the edges between parents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from brain_async.cli.distributions import Distribution
from brain_async.cli.documents import MediaType, Section, split_document, storable
from brain_async.cli.files import MEDIA_TYPES, SourceFile
from brain_async.cli.kinds import AUTHOR, DOCUMENT, PACKAGE, REFERENCES, REQUIRES, SECTION, WRITTEN_BY, object_id
from brain_async.cli.links import find_links
from brain_async.cli.paths import path_text
from brain_async.model.object import Object, Properties
from brain_async.model.relation import Edge, EdgeMeta
from brain_async.text import snippet

__all__ = ["CorpusBatch", "distributions_corpus", "files_corpus"]


class CorpusBatch(msgspec.Struct, frozen=True):
    """What to put, then to link. Every object has an id, and the same input gives the same ids.

    Attributes:
        objects: each parent directly before its parts, these by position.
        edges: between first-class objects of this batch, one a (from, to, relation) and none from an object to itself.
    """

    objects: tuple[Object, ...]
    edges: tuple[Edge, ...]


def distributions_corpus(distributions: Sequence[Distribution], *, namespace_id: UUID | None) -> CorpusBatch:
    """Packages with the sections of their READMEs, authors, and who requires and who wrote what.

    A package's first section holds its summary and keywords, so that one without a README is found as well. The note of a
    ``requires`` edge is the requirement with its marker, one a line where a package requires another more than once;
    requirements of what is not in ``distributions`` have no edge.
    """
    objects: list[Object] = []
    edges: list[Edge] = []
    ids = {d.normalized_name: object_id(namespace_id, PACKAGE, d.normalized_name) for d in distributions}
    for distribution in distributions:
        package_id = ids[distribution.normalized_name]
        objects += _package(distribution, package_id, namespace_id)
        for name, note in _notes(distribution).items():
            if name in ids and ids[name] != package_id:
                edges.append(_edge(package_id, ids[name], REQUIRES, note, namespace_id))
        for author in distribution.authors:
            author_id = object_id(namespace_id, AUTHOR, author.casefold())
            edges.append(_edge(package_id, author_id, WRITTEN_BY, "", namespace_id))
    objects += _authors(distributions, namespace_id)
    return CorpusBatch(tuple(objects), tuple(edges))


def files_corpus(
    files: Sequence[SourceFile], *, namespace_id: UUID | None, known_paths: Iterable[Path] = ()
) -> CorpusBatch:
    """Documents with their sections, and a ``references`` edge for each relative link from one of ``files`` to another.

    Links may also lead to ``known_paths``, files whose documents are stored already. The note of an edge is the label of
    the link. A link without suffix, as Sphinx writes them, finds the file with one.
    """
    objects: list[Object] = []
    edges: list[Edge] = []
    paths = [*(file.path for file in files), *known_paths]
    ids = {path: object_id(namespace_id, DOCUMENT, path_text(path)) for path in paths}
    for file in files:
        objects += _document(file, ids[file.path], namespace_id)
        linked: dict[UUID, str] = {}
        for target, label in find_links(file.text, file.media_type):
            target_id = _linked_id(file.path, target, ids)
            if target_id is not None and target_id != ids[file.path]:
                linked.setdefault(target_id, label)
        edges += [_edge(ids[file.path], target, REFERENCES, label, namespace_id) for target, label in linked.items()]
    return CorpusBatch(tuple(objects), tuple(edges))


def _package(distribution: Distribution, package_id: UUID, namespace_id: UUID | None) -> Iterator[Object]:
    readme = split_document(distribution.description, media_type=distribution.description_type)
    overview = _overview(distribution)
    sections = [Section(headings=(), content=overview, position=0), *readme] if overview else readme
    yield Object(
        id=package_id,
        kind=PACKAGE,
        title=distribution.name,
        summary=distribution.summary,
        content=distribution.description,
        content_type=distribution.description_type if distribution.description else "",
        properties=_given(
            version=distribution.version,
            license=distribution.license,
            homepage=distribution.homepage,
            requires_python=distribution.requires_python,
            keywords=", ".join(distribution.keywords),
        )
        | {"sections": len(sections)},
        namespace_id=namespace_id,
    )
    yield from _parts(
        sections, package_id, distribution.name, _rendered_type(distribution.description_type), namespace_id
    )


def _overview(distribution: Distribution) -> str:
    keywords = f"Keywords: {', '.join(distribution.keywords)}" if distribution.keywords else ""
    return "\n\n".join(text for text in (distribution.summary, keywords) if text)


def _notes(distribution: Distribution) -> dict[str, str]:
    notes: dict[str, str] = {}
    for requirement in distribution.requirements:
        earlier = notes.get(requirement.name)
        notes[requirement.name] = f"{earlier}\n{requirement.text}" if earlier else requirement.text
    return notes


def _authors(distributions: Sequence[Distribution], namespace_id: UUID | None) -> list[Object]:
    names: dict[str, str] = {}
    packages: dict[str, list[str]] = {}
    for distribution in distributions:
        for author in distribution.authors:
            names.setdefault(author.casefold(), author)
            packages.setdefault(author.casefold(), []).append(distribution.name)
    return [
        Object(
            id=object_id(namespace_id, AUTHOR, key),
            kind=AUTHOR,
            title=names[key],
            summary=f"Author of {', '.join(packages[key])}",
            properties={"packages": len(packages[key])},
            namespace_id=namespace_id,
        )
        for key in sorted(names)
    ]


def _document(file: SourceFile, document_id: UUID, namespace_id: UUID | None) -> Iterator[Object]:
    text = storable(file.text)
    sections = split_document(text, media_type=file.media_type)
    title = _document_title(sections) or storable(path_text(file.path).rpartition("/")[2])
    yield Object(
        id=document_id,
        kind=DOCUMENT,
        title=title,
        summary=snippet(" ".join(sections[0].content.split())) if sections else "",
        content=text,
        content_type=file.media_type,
        properties={
            "path": path_text(file.path),
            "media_type": file.media_type,
            "checksum": file.checksum,
            "sections": len(sections),
        },
        namespace_id=namespace_id,
    )
    yield from _parts(sections, document_id, title, _rendered_type(file.media_type), namespace_id)


def _document_title(sections: Sequence[Section]) -> str:
    """The heading the document begins with, or the one all its headed sections stand under."""
    outermost = {section.headings[0]: None for section in sections if section.headings}
    return next(iter(outermost), "") if len(outermost) == 1 or (sections and sections[0].headings) else ""


def _parts(
    sections: Sequence[Section], parent_id: UUID, parent_title: str, content_type: str, namespace_id: UUID | None
) -> Iterator[Object]:
    # Named by its headings, a section keeps its id when another one is written before it.
    occurrences: Counter[str] = Counter()
    for position, section in enumerate(sections):
        occurrences[section.title] += 1
        name = f"{parent_id}/{occurrences[section.title]}/{section.title}"
        yield Object(
            id=object_id(namespace_id, SECTION, name),
            kind=SECTION,
            title=section.title or parent_title,
            content=section.content,
            content_type=content_type,
            properties=_given(heading=section.headings[-1] if section.headings else ""),
            parent_id=parent_id,
            position=position,
            namespace_id=namespace_id,
        )


def _given(**properties: str) -> Properties:
    return {key: value for key, value in properties.items() if value}


def _edge(from_id: UUID, to_id: UUID, relation_type: str, note: str, namespace_id: UUID | None) -> Edge:
    return Edge(
        from_id=from_id, to_id=to_id, relation_type=relation_type, namespace_id=namespace_id, meta=EdgeMeta(note=note)
    )


def _rendered_type(media_type: MediaType) -> MediaType:
    """The type of a section's content: Markdown stays, the others are read into plain text."""
    return "text/markdown" if media_type == "text/markdown" else "text/plain"


def _linked_id(source: Path, target: str, ids: Mapping[Path, UUID]) -> UUID | None:
    path = os.path.normpath(source.parent / target)
    candidates = (Path(path + suffix) for suffix in ("", *MEDIA_TYPES, "/README.md", "/index.md", "/index.rst"))
    return next((ids[candidate] for candidate in candidates if candidate in ids), None)
