"""readable: what a reader of the rendered page sees, and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.readable import readable


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[![Build](https://ci/x.svg)](https://ci) Fast.", " Fast."),
        ("[![Build][badge]][ci] [![PyPI][p]](https://x) ok", "  ok"),
        ("![A diagram](d.png)", "A diagram"),
        ("<p align='center'>Hello <b>w</b>orld</p>", " Hello world"),
        ("one<br/>two", "one two"),
        ("a <!-- hidden\n words --> b", "a  b"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("<script>let x = 1</script>text", "text"),
        ("run `<div> <!-- x -->` now", "run `<div> <!-- x -->` now"),
        ("``a ` <b>`` <b>c</b>", "``a ` <b>`` c"),
        ("pip install <package>", "pip install <package>"),
        ("see <https://example.org/a>", "see https://example.org/a"),
        ("fish &amp; chips&nbsp;", "fish & chips"),
        ("see ?a=1&copy=2", "see ?a=1&copy=2"),
        ("[text](https://example.org)", "[text](https://example.org)"),
        ("[The Docs] and [here][the\n docs]", "[The Docs](/d) and [here](/d)"),
        ("[unknown] and [x][unknown]", "[unknown] and [x][unknown]"),
        ("a\n\n\n\n\nb  \nc", "a\n\nb\nc"),
    ],
)
def test_markup_is_taken_away(source: str, expected: str) -> None:
    assert readable(source, {"the docs": "/d"}) == expected


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True)))
def test_plain_words_are_left_alone(words: list[str]) -> None:
    text = " ".join(words)
    assert readable(text) == text


@pytest.mark.parametrize("piece", ["<!-- ", "[![", "![a", "<a ", "`", "``a", "[x][", "<script ", "&amp", "<https://"])
def test_unclosed_constructs_do_not_take_quadratic_time(piece: str) -> None:
    started = time.perf_counter()
    readable(piece * 30_000)
    assert time.perf_counter() - started < 5
