"""split_document: sections of Markdown, reStructuredText and plain text."""

from __future__ import annotations

import random
import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.documents import MediaType, Section, split_document
from brain_async.errors import InvalidInputError

MEDIA_TYPES: tuple[MediaType, ...] = get_args(MediaType)

# Without the letters of Roman numbers, which reStructuredText reads as list markers.
_WORD = st.text("abeghknorst", min_size=2, max_size=9)
_SENTENCES = st.lists(_WORD, min_size=1, max_size=12).map(lambda words: " ".join(words) + ".")
_PROSE = st.lists(_SENTENCES, min_size=1, max_size=5).map("\n\n".join)

MARKDOWN = """\
---
title: not shown
---
[![CI](https://ci/b.svg)](https://ci)

A short lead.

# Tool

## Install

### From source

Clone, then:

```sh
# this is no heading
make
```

## Usage

Read the [manual].

> # a quoted heading

Setext heading
--------------

- one
- two

## Credits

[manual]: docs/manual.md
"""

RESTRUCTURED = """\
.. image:: logo.png
   :alt: The logo

|badge| A short lead with :class:`Engine` and `a link <https://example.org>`_.

.. |badge| image:: https://ci/b.svg

====
Tool
====

Install
-------

From source
~~~~~~~~~~~

Clone, then::

    make

.. unheard-of:: argument

   Its body.

Usage
-----

* one
* two

  more

Name
  meaning

=====  =====
Left   Right
=====  =====
1      2
=====  =====

.. raw:: html

   <b>bold</b> words

.. include:: /etc/passwd

.. a comment

.. note:: Mind the gap.
"""


def _titles(sections: list[Section]) -> list[str]:
    return [section.title for section in sections]


def _words(sections: list[Section]) -> set[str]:
    return {word for section in sections for word in f"{section.title} {section.content}".split()}


def test_markdown_sections_carry_their_path_of_headings() -> None:
    sections = split_document(MARKDOWN, media_type="text/markdown")
    assert _titles(sections) == [
        "",
        "Tool > Install > From source",
        "Tool > Usage",
        "Tool > Setext heading",
        "Tool > Credits",
    ]
    assert [section.position for section in sections] == list(range(5))
    assert sections[0].content == "A short lead."
    assert sections[1].content == "Clone, then:\n\n```sh\n# this is no heading\nmake\n```"
    assert sections[2].content == "Read the [manual](docs/manual.md).\n\n> # a quoted heading"
    assert sections[3].content == "- one\n- two"
    assert sections[4].content == "Credits"


def test_restructured_sections_carry_their_path_of_headings() -> None:
    sections = split_document(RESTRUCTURED, media_type="text/x-rst")
    assert _titles(sections) == ["", "Tool > Install > From source", "Tool > Usage"]
    assert sections[0].content == "The logo\n\n A short lead with Engine and a link."
    assert sections[1].content == "Clone, then:\n\nmake\n\n.. unheard-of:: argument\n\n   Its body."
    usage = sections[2].content
    for expected in ("- one\n- two\n  more", "Name: meaning", "Left | Right\n1 | 2", "bold words", "Mind the gap."):
        assert expected in usage
    assert "comment" not in usage
    assert "<b>" not in usage


def test_nothing_is_included_executed_or_printed(capfd: pytest.CaptureFixture[str]) -> None:
    text = ".. include:: /etc/passwd\n\n.. csv-table::\n   :file: /etc/passwd\n\nBad `role`\n=="
    sections = split_document(text, media_type="text/x-rst")
    assert "root:" not in " ".join(section.content for section in sections)
    assert capfd.readouterr() == ("", "")


def test_a_document_docutils_refuses_is_read_as_plain_text() -> None:
    text = "Title\n=====\n\n" + "word " * 3_000
    sections = split_document(text, media_type="text/x-rst")
    assert _words(sections) >= {"Title", "word"}


@pytest.mark.parametrize("text", ["", " \n\t\n", "\x00", "\ud800"])
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_a_blank_text_has_no_sections(text: str, media_type: MediaType) -> None:
    assert split_document(text, media_type=media_type) == []


def test_unstorable_characters_are_dropped() -> None:
    (section,) = split_document("a\x00b \udcffc", media_type="text/plain")
    assert section.content == "ab c"


def test_max_chars_below_one_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        split_document("text", media_type="text/plain", max_chars=0)


def test_a_thematic_break_is_no_front_matter() -> None:
    (section,) = split_document("---\n\nPlain words\n\n---\n", media_type="text/markdown")
    assert section.content == "Plain words"


def test_windows_line_ends() -> None:
    sections = split_document("# A\r\n\r\none\r\n\r\n# B\r\n\r\ntwo", media_type="text/markdown")
    assert [(section.title, section.content) for section in sections] == [("A", "one"), ("B", "two")]


def test_a_code_fence_within_a_list_is_kept_verbatim() -> None:
    text = "- do this:\n\n  ```html\n  <b>x</b>\n  ```\n\n- then <b>that</b>"
    (section,) = split_document(text, media_type="text/markdown")
    assert "<b>x</b>" in section.content
    assert section.content.endswith("- then that")


def test_a_fence_that_fits_is_never_split() -> None:
    fence = "```python\n" + "\n\n".join(f"value_{n} = {n}. " for n in range(40)) + "\n```"
    text = f"# Code\n\n{'A sentence before. ' * 20}\n\n{fence}\n\n{'A sentence after. ' * 20}"
    sections = split_document(text, media_type="text/markdown", max_chars=len(fence) + 50)
    assert any(fence in section.content for section in sections)


@settings(deadline=None)
@given(_PROSE, st.sampled_from(MEDIA_TYPES), st.integers(20, 200))
def test_every_word_of_prose_is_in_some_section(text: str, media_type: MediaType, max_chars: int) -> None:
    sections = split_document(text, media_type=media_type, max_chars=max_chars)
    assert _words(sections) >= set(text.split())
    assert all(section.content.strip() and len(section.content) <= max_chars for section in sections)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), _WORD, _SENTENCES | st.just("")), max_size=6))
def test_every_heading_and_paragraph_of_markdown_is_in_some_section(chapters: list[tuple[int, str, str]]) -> None:
    text = "".join(f"{'#' * level} {heading}\n\n{prose}\n\n" for level, heading, prose in chapters)
    sections = split_document(text, media_type="text/markdown")
    expected = {word for _, heading, prose in chapters for word in f"{heading} {prose}".split()}
    assert _words(sections) >= expected


_MARKS = r"# = - ~ ` `` ``` * _ __ | : :: .. > < [ ]( ) ! & ; word é 1. :a:` +--+ \ ."
_PIECES = ["\n", "\n\n", "\t", " ", "    ", ".. note:: ", ".. role:: x(raw)\n\n", ".. |a| replace:: ", *_MARKS.split()]
_MARKUP = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


@settings(max_examples=300, deadline=None)
@given(_MARKUP | st.text(max_size=200), st.sampled_from(MEDIA_TYPES), st.integers(1, 100))
def test_no_text_raises_or_gives_a_blank_section(text: str, media_type: MediaType, max_chars: int) -> None:
    sections = split_document(text, media_type=media_type, max_chars=max_chars)
    assert [section.position for section in sections] == list(range(len(sections)))
    assert all(section.content.strip() and len(section.content) <= max_chars for section in sections)


@settings(deadline=None)
@given(_MARKUP | st.text(max_size=200))
def test_plain_text_keeps_every_character_but_white_space(text: str) -> None:
    sections = split_document(text, media_type="text/plain", max_chars=50)
    kept = re.sub(r"[\s\x00\ud800-\udfff]", "", text)
    assert re.sub(r"\s", "", "".join(section.content for section in sections)) == kept


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_a_long_document_is_read_in_linear_time(media_type: MediaType) -> None:
    words = random.Random(7).choices(["alpha", "beta.", "gamma", "`delta`", "*eps*", "\n\n"], k=60_000)
    sections = split_document(" ".join(words), media_type=media_type)
    assert 140 < len(sections) < 400


@pytest.mark.parametrize("text", [">" * 20_000 + " x", "- " * 2_000 + "x", "[" * 20_000, "*a_ " * 20_000])
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_deep_nesting_is_survived(text: str, media_type: MediaType) -> None:
    split_document(text, media_type=media_type)


def test_escaped_characters_of_restructured_text_lose_their_backslash_and_hold_no_nul() -> None:
    text = "Title\n=====\n\nWrite \\*args and `a\\b <https://x.test>`_ and |sub|.\n\n.. |sub| replace:: x\\*y\n"
    (section,) = split_document(text, media_type="text/x-rst")
    assert "\x00" not in section.content
    assert section.content == "Write *args and ab and x*y."
