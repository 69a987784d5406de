"""Reading the Python distributions installed in an environment: their metadata, README and requirements."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from brain_async.cli.authors import author_names
from brain_async.cli.documents import MediaType, storable

if TYPE_CHECKING:
    from importlib.metadata import PackageMetadata

__all__ = ["Distribution", "Requirement", "normalized_name", "read_distributions"]

_NAME_SEPARATORS = re.compile(r"[-_.]+")
_REQUIREMENT_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_LONGEST_LICENSE_NAME = 100
_HOMEPAGE_LABELS = ("homepage", "home", "source", "sourcecode", "code", "repository", "github", "documentation", "docs")
_MARKDOWN_SIGN = re.compile(r"^(?:#{1,6} \S|```|\[!\[)", re.MULTILINE)


class Requirement(msgspec.Struct, frozen=True):
    """One ``Requires-Dist``: the normalised name of what is required, and the requirement as written, with its marker."""

    name: str
    text: str


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """What one installed distribution says about itself; "" and () where it says nothing."""

    name: str
    summary: str = ""
    version: str = ""
    license: str = ""
    homepage: str = ""
    requires_python: str = ""
    keywords: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    description: str = ""
    description_type: MediaType = "text/x-rst"
    requirements: tuple[Requirement, ...] = ()

    @property
    def normalized_name(self) -> str:
        """The name by which others require it."""
        return normalized_name(self.name)


def normalized_name(name: str) -> str:
    """``name`` as PEP 503 compares it: lower case, runs of ``-``, ``_`` and ``.`` as one ``-``."""
    return _NAME_SEPARATORS.sub("-", name).lower()


def read_distributions(path: Sequence[str] | None = None) -> list[Distribution]:
    """The distributions found on ``path`` (default: ``sys.path``), sorted by normalised name, the first of each name.

    One whose metadata cannot be read or has no name is left out: an environment may hold the remains of a broken install.
    """
    found: dict[str, Distribution] = {}
    everything = importlib.metadata.distributions
    for installed in everything() if path is None else everything(path=list(path)):
        distribution = _read(installed)
        if distribution is not None:
            found.setdefault(distribution.normalized_name, distribution)
    return [found[name] for name in sorted(found)]


def _read(installed: importlib.metadata.Distribution) -> Distribution | None:
    try:
        metadata = installed.metadata
        requires = installed.requires or []
    except (OSError, ValueError, LookupError):
        return None
    name = _first(metadata, "Name")
    if not name:
        return None
    # importlib.metadata gives the body of the file as this header too, and unfolds the header of old formats.
    description = _first(metadata, "Description")
    return Distribution(
        name=name,
        summary=_first(metadata, "Summary"),
        version=_first(metadata, "Version"),
        license=_license(metadata),
        homepage=_homepage(metadata),
        requires_python=_first(metadata, "Requires-Python"),
        keywords=_keywords(_first(metadata, "Keywords")),
        authors=author_names(
            [*_all(metadata, "Author"), *_all(metadata, "Maintainer")],
            [*_all(metadata, "Author-email"), *_all(metadata, "Maintainer-email")],
        ),
        description=description,
        description_type=_media_type(_first(metadata, "Description-Content-Type"), description),
        requirements=tuple(
            Requirement(normalized_name(match[1]), " ".join(storable(text).split()))
            for text in requires
            if (match := _REQUIREMENT_NAME.match(text))
        ),
    )


def _all(metadata: PackageMetadata, header: str) -> list[str]:
    """The non-blank values of a header; old build tools write UNKNOWN for one that was not given."""
    values = [storable(str(value)).strip() for value in metadata.get_all(header) or ()]
    return [value for value in values if value and value != "UNKNOWN"]


def _first(metadata: PackageMetadata, header: str) -> str:
    return next(iter(_all(metadata, header)), "")


def _license(metadata: PackageMetadata) -> str:
    if expression := _first(metadata, "License-Expression"):
        return expression
    # Some put the whole text of the licence into the header: its classifiers say it shorter.
    text = _first(metadata, "License")
    if text and "\n" not in text and len(text) <= _LONGEST_LICENSE_NAME:
        return text
    classifiers = [c.split("::")[-1].strip() for c in _all(metadata, "Classifier") if c.startswith("License ::")]
    specific = [name for name in classifiers if name != "OSI Approved"]
    return ", ".join(specific or classifiers) or text.partition("\n")[0].strip()[:_LONGEST_LICENSE_NAME]


def _homepage(metadata: PackageMetadata) -> str:
    addresses: dict[str, str] = {}
    for entry in _all(metadata, "Project-URL"):
        label, _, address = entry.partition(",")
        addresses.setdefault(re.sub(r"[\W_]", "", label).lower(), address.strip())
    if home := _first(metadata, "Home-page"):
        addresses.setdefault("homepage", home)
    return next((addresses[label] for label in _HOMEPAGE_LABELS if addresses.get(label)), "")


def _keywords(text: str) -> tuple[str, ...]:
    separator = "," if "," in text else None
    return tuple(dict.fromkeys(word.strip() for word in text.split(separator) if word.strip()))


def _media_type(content_type: str, description: str) -> MediaType:
    match content_type.partition(";")[0].strip().lower():
        case "text/markdown":
            return "text/markdown"
        case "text/plain":
            return "text/plain"
        case "text/x-rst":
            return "text/x-rst"
        case _:
            # reStructuredText is the default, but some READMEs in Markdown never said so.
            return "text/markdown" if _MARKDOWN_SIGN.search(description) else "text/x-rst"
