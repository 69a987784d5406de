"""Text of others on a terminal: harmless, cut to fit, with matches marked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from brain_async.cli.text import Highlighter, harmless, one_line, packed_lines


def marked(text: Text) -> list[str]:
    return [text.plain[span.start : span.end] for span in text.spans]


@given(st.text())
def test_nothing_can_drive_the_terminal(text: str) -> None:
    assert all(char.isprintable() or char in "\n\t" for char in harmless(text))
    assert all(char.isprintable() for char in one_line(text))


def test_one_line_reads_without_markup() -> None:
    assert (
        one_line("## Use\n\n`pip install` the [docs](https://x.test) **now**\n\n-----\n")
        == "Use pip install the docs now"
    )


@pytest.mark.parametrize(
    "text",
    [
        "repository#number",
        "DeytaHQ/khora#884 fixed",
        "a*b*c, 2 * 3 * 4 and f(*args, **kwargs)",
        "C# and snake__case__name --flag",
        "cat log | grep x|y",
        "a **cut",
        "[x]: y",
    ],
)
def test_what_is_no_mark_stays(text: str) -> None:
    assert one_line(text) == text


@given(st.text(alphabet="ab#*`|_-~[]() \n", max_size=60))
def test_no_word_is_lost(text: str) -> None:
    # Only the address of a link and the language of a fence go.
    plain = re.sub(r"\(|`{3}|~{3}", " ", text)
    assert re.sub("[^ab]", "", one_line(plain)) == re.sub("[^ab]", "", plain)


def test_code_fences_go_with_their_language() -> None:
    assert one_line("So:\n\n```python\nimport asyncio\n```\n\nThen.") == "So: import asyncio Then."
    assert one_line("```python import asyncio") == "import asyncio"
    assert one_line("use ``__init__`` and `*args`") == "use __init__ and *args"


def test_tables_keep_their_cells_apart() -> None:
    table = "| verb | for |\n|---|:--|\n| `search` | open *questions* |\n| `read` | an id |"
    shown = "verb | for · search | open questions · read | an id"
    assert one_line(table) == shown
    assert one_line(" ".join(table.split())) == shown
    assert one_line(f"Before:\n\n{table}\n\nAfter.") == f"Before: {shown} · After."


def test_lines_end_between_pieces() -> None:
    assert packed_lines(["ab", "cd", "ef", "a long one"], " · ", 9) == ["ab · cd", "ef", "a long one"]
    assert packed_lines([], " · ", 9) == []


def test_words_are_marked_in_any_form() -> None:
    assert marked(Highlighter("progress bars").excerpt("A progressing bar in the Bar's terminal", 80)) == [
        "progressing",
        "bar",
        "Bar",
    ]


def test_misspelt_words_are_marked_only_when_fuzzy() -> None:
    assert marked(Highlighter("pyganments").excerpt("Pygments is here", 80)) == []
    assert marked(Highlighter("pyganments", fuzzy=True).excerpt("Pygments is here", 80)) == ["Pygments"]


def test_the_excerpt_is_where_most_words_match() -> None:
    text = "lead " * 40 + "the quince and the medlar in autumn " + "tail " * 40
    shown = Highlighter("quince medlar").excerpt(text, 60).plain
    assert "quince and the medlar" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 62


@given(st.text(max_size=400), st.text(max_size=30), st.integers(1, 120))
def test_any_text_is_cut_to_size(text: str, query: str, chars: int) -> None:
    assert len(Highlighter(query, fuzzy=True).excerpt(text, chars).plain) <= chars + 2
