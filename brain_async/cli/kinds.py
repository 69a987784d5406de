"""The kinds and relations of what the command line ingests, and the ids of its objects."""

from __future__ import annotations

from uuid import UUID, uuid5

from brain_async.model.kind import FieldSpec, FieldType, KindSpec

__all__ = ["AUTHOR", "DOCUMENT", "KINDS", "PACKAGE", "REFERENCES", "REQUIRES", "SECTION", "WRITTEN_BY", "object_id"]

PACKAGE = "package"
SECTION = "section"
AUTHOR = "author"
DOCUMENT = "document"

REQUIRES = "requires"
WRITTEN_BY = "written_by"
REFERENCES = "references"

_IDS = UUID("6f1d3c0e-7b0a-5c55-9a57-2f6f0b5f3a11")


def _string(name: str, description: str, *examples: str) -> FieldSpec:
    return FieldSpec(name=name, type=FieldType.STRING, description=description, examples=examples)


def _number(name: str, description: str) -> FieldSpec:
    return FieldSpec(name=name, type=FieldType.NUMBER, description=description)


KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind=AUTHOR,
        description="A person or group that wrote or maintains packages; the title is the name.",
        is_parent=True,
        fields=(_number("packages", "How many of the packages they wrote or maintain."),),
    ),
    KindSpec(
        kind=DOCUMENT,
        description="A text file; its parts are its sections.",
        is_parent=True,
        fields=(
            _string("path", "Absolute path of the file."),
            _string("media_type", "Format of the file.", "text/markdown", "text/x-rst", "text/plain"),
            _string("checksum", "SHA-256 of the file, in hex."),
            _number("sections", "How many sections it has."),
        ),
    ),
    KindSpec(
        kind=PACKAGE,
        description="An installed Python distribution; its parts are the sections of its README.",
        is_parent=True,
        fields=(
            _string("version", "Installed version.", "1.2.3"),
            _string("license", "Licence expression or name.", "MIT", "Apache-2.0"),
            _string("homepage", "Address of its home page, else of its source."),
            _string("requires_python", "Python versions it runs on.", ">=3.11"),
            _string("keywords", "Its keywords, joined by a comma and a blank."),
            _string("checksum", "Of its metadata and README, 16 hex digits: equal when nothing changed."),
            _number("sections", "How many sections it has."),
        ),
    ),
    KindSpec(
        kind=SECTION,
        description="A passage of a package's README or of a document; the title is its path of headings.",
        is_part=True,
        fields=(_string("heading", "The innermost heading it stands under.", "Installation"),),
    ),
)
"""Sorted by name."""


def object_id(namespace_id: UUID | None, kind: str, name: str) -> UUID:
    """The id of the one object of ``kind`` that is called ``name`` in a namespace: the same on every run and machine."""
    return uuid5(_IDS, f"{namespace_id or ''}/{kind}/{name}")
