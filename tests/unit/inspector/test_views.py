"""Marked words, the timeline and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.inspector.views import marked, number, timeline
from brain_async.model.results import ChannelOutcome


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("Lemons are picked in May.", "picking lemon", ["Lemons", "picked"]),
        ("lemonade", "lemon", []),
        ("The who?", "the who", ["The", "who"]),
        ("plan_b and plan c", "plan", ["plan", "plan"]),
        ("Größe zählt", "größe", ["Größe"]),
        ("anything", "", []),
        ("", "lemon", []),
        ("a.b(c)*", "b(", ["b"]),
    ],
)
def test_the_words_of_the_query_are_marked_in_any_form(text: str, query: str, words: list[str]) -> None:
    assert [piece for piece, is_word in marked(text, query) if is_word] == words


@given(st.text(max_size=60), st.text(max_size=20))
def test_marking_keeps_every_character(text: str, query: str) -> None:
    pieces = marked(text, query)
    assert "".join(piece for piece, _ in pieces) == text
    assert all(piece for piece, _ in pieces)


def test_lanes_share_one_scale() -> None:
    outcomes = [
        ChannelOutcome(channel="lexical", status="ok", started=0.0, seconds=0.1),
        ChannelOutcome(channel="vector", status="timeout", started=0.1, seconds=0.3),
        ChannelOutcome(channel="trigram", status="skipped", started=0.4, seconds=0.0),
    ]
    assert [(lane.left, lane.width) for lane in timeline(outcomes)] == [
        (0.0, pytest.approx(25)),
        (pytest.approx(25), pytest.approx(75)),
        (99.0, 1.0),
    ]
    assert timeline([]) == []
    assert [lane.width for lane in timeline([ChannelOutcome(channel="x", status="empty")])] == [1.0]


def test_small_numbers_keep_their_digits() -> None:
    assert [number(value) for value in (0.0, 1.0, 0.25, -3.14159, 0.000123456)] == [
        "0.000",
        "1.000",
        "0.250",
        "-3.142",
        "1.23e-04",
    ]
