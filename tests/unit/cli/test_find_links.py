"""find_links: relative links of Markdown and reStructuredText."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.links import find_links


def test_markdown_links() -> None:
    text = """\
See [the *guide*](docs/guide.md#start), [again](docs/guide.md), [`api`][ref], [spaces](a%20b.md "title"),
[site](https://example.org/x.md), [top](#top), [root](/abs.md), [mail](mailto:a@example.org), <https://example.org>,
[host](//example.org/x), ![image](shot.png), [broken](http://[x).

    [in code](code.md)

[ref]: ../api.rst?raw=1
"""
    assert find_links(text, "text/markdown") == [
        ("docs/guide.md", "the guide"),
        ("../api.rst", "api"),
        ("a b.md", "spaces"),
    ]


def test_restructured_links() -> None:
    text = """\
See `the guide <guide.rst>`_ and :doc:`api` and :doc:`more words <sub/more>` and `out <https://example.org>`__.
A :ref:`reference <label>` is no file.

.. _named: other.rst#part
.. _alias: named_

.. toctree::
   :maxdepth: 2

   intro
   The end <end>
   self/evident

Text.
"""
    assert find_links(text, "text/x-rst") == [
        ("guide.rst", "the guide"),
        ("api", "api"),
        ("sub/more", "more words"),
        ("other.rst", "named"),
        ("intro", "intro"),
        ("end", "The end"),
        ("self/evident", "self/evident"),
    ]


def test_plain_text_has_no_links() -> None:
    assert find_links("[a](b.md)", "text/plain") == []


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("[]()<>`_:.#/%\\ \nab\x00\ud800"), max_size=200))
@pytest.mark.parametrize("media_type", ["text/markdown", "text/x-rst"])
def test_no_text_raises(media_type: str, text: str) -> None:
    for path, label in find_links(text, media_type):  # type: ignore[arg-type]
        path.encode()
        assert path
        assert label
