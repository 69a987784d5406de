"""read_distributions: made-up metadata, good and broken, and the environment these tests run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain_async.cli.distributions import Distribution, Requirement, normalized_name, read_distributions


def _install(site: Path, name: str, metadata: str | bytes) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_bytes(metadata.encode() if isinstance(metadata, str) else metadata)


def _read(site: Path, metadata: str) -> Distribution:
    _install(site, "one", f"Metadata-Version: 2.1\nName: One\nVersion: 1.0\n{metadata}")
    (distribution,) = read_distributions([str(site)])
    return distribution


def test_every_field_is_read(tmp_path: Path) -> None:
    distribution = _read(
        tmp_path,
        "Summary: Does one thing\n"
        "License-Expression: MIT\n"
        "Project-URL: Source Code, https://example.org/source\n"
        "Project-URL: Homepage, https://example.org\n"
        "Requires-Python: >=3.11\n"
        "Keywords: one, two words,one\n"
        "Author: First Author\n"
        "Maintainer-email: Second Author <b@example.org>\n"
        "Requires-Dist: Two_Parts[extra]>=2; python_version < '4'\n"
        "Requires-Dist: zope.interface (>=5)\n"
        "Description-Content-Type: text/markdown; charset=UTF-8\n"
        "\n# One\n\nReadme.\n",
    )
    assert distribution == Distribution(
        name="One",
        summary="Does one thing",
        version="1.0",
        license="MIT",
        homepage="https://example.org",
        requires_python=">=3.11",
        keywords=("one", "two words"),
        authors=("First Author", "Second Author"),
        description="# One\n\nReadme.",
        description_type="text/markdown",
        requirements=(
            Requirement("two-parts", "Two_Parts[extra]>=2; python_version < '4'"),
            Requirement("zope-interface", "zope.interface (>=5)"),
        ),
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("License: MIT\nClassifier: License :: OSI Approved :: Apache Software License\n", "MIT"),
        ("License: UNKNOWN\nClassifier: License :: OSI Approved :: MIT License\n", "MIT License"),
        ("License: The Licence\n        \n        All rights\nClassifier: License :: OSI Approved\n", "OSI Approved"),
        ("License: The Licence\n        \n        All rights\n", "The Licence"),
        ("", ""),
    ],
)
def test_license(tmp_path: Path, headers: str, expected: str) -> None:
    assert _read(tmp_path, headers).license == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("Home-page: https://a.example\nProject-URL: Documentation, https://b.example\n", "https://a.example"),
        (
            "Project-URL: Documentation, https://b.example\nProject-URL: source, https://c.example\n",
            "https://c.example",
        ),
        ("Project-URL: Funding, https://d.example\n", ""),
        ("Home-page: UNKNOWN\n", ""),
    ],
)
def test_homepage(tmp_path: Path, headers: str, expected: str) -> None:
    assert _read(tmp_path, headers).homepage == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("\nTitle\n=====\n", "text/x-rst"),
        ("\n# Title\n", "text/markdown"),
        ("Description-Content-Type: text/plain\n\n# Title\n", "text/plain"),
        ("Description-Content-Type: TEXT/X-RST; charset=UTF-8\n\n# Title\n", "text/x-rst"),
    ],
)
def test_description_type(tmp_path: Path, metadata: str, expected: str) -> None:
    assert _read(tmp_path, metadata).description_type == expected


def test_a_folded_description_header_is_unfolded(tmp_path: Path) -> None:
    distribution = _read(tmp_path, "Description: One\n        ===\n        \n          Words.\n")
    assert distribution.description == "One\n===\n\n  Words."


def test_keywords_without_commas_are_separated_by_blanks(tmp_path: Path) -> None:
    assert _read(tmp_path, "Keywords: one two\n").keywords == ("one", "two")


def test_broken_metadata_is_left_out(tmp_path: Path) -> None:
    _install(tmp_path, "good", "Metadata-Version: 2.1\nName: good\n")
    _install(tmp_path, "nameless", "Metadata-Version: 2.1\nVersion: 1\n")
    _install(tmp_path, "undecodable", b"Name: bad\nSummary: \xff\xfe\n")
    _install(tmp_path, "nul", b"Name: nul\nSummary: a\x00b\n")
    (tmp_path / "empty-1.0.dist-info").mkdir()
    (tmp_path / "folder-1.0.dist-info" / "METADATA").mkdir(parents=True)
    (tmp_path / "file-1.0.dist-info").write_text("no folder")
    distributions = read_distributions([str(tmp_path), str(tmp_path / "missing")])
    assert [(d.name, d.summary) for d in distributions] == [("good", ""), ("nul", "ab")]


def test_the_first_of_a_name_wins_and_the_order_is_by_normalised_name(tmp_path: Path) -> None:
    _install(tmp_path / "a", "x", "Name: Foo_Bar\nVersion: 1\n")
    _install(tmp_path / "b", "x", "Name: foo-bar\nVersion: 2\n")
    _install(tmp_path / "b", "y", "Name: Aaa\nVersion: 3\n")
    distributions = read_distributions([str(tmp_path / "a"), str(tmp_path / "b")])
    assert [(d.name, d.version) for d in distributions] == [("Aaa", "3"), ("Foo_Bar", "1")]


def test_normalized_name() -> None:
    assert normalized_name("Zope._-Interface") == "zope-interface"


def test_the_environment_of_these_tests() -> None:
    distributions = {d.normalized_name: d for d in read_distributions()}
    assert len(distributions) >= 30
    assert list(distributions) == sorted(distributions)
    assert "anyio" in {requirement.name for requirement in distributions["httpx"].requirements}
    assert all(d.version for d in distributions.values())
    assert distributions["httpx"].authors == ("Tom Christie",)
    assert distributions["httpx"].license == "BSD-3-Clause"
