"""Spelling: no word within reach is missed by the keys, and distance is what the definition says."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from brain_async.spelling import (
    COMMON_WORDS,
    TWO_EDITS_CHARS,
    edit_distance,
    far_keys,
    is_common,
    is_spelling,
    near_keys,
    reachable,
    vocabulary_keys,
)

LETTERS = "abcé"


@st.composite
def edited(draw: st.DrawFn, most: int) -> tuple[str, str]:
    """A word, and what at most ``most`` edits make of it."""
    word = draw(st.text(LETTERS, min_size=4, max_size=16))
    changed = word
    for _ in range(draw(st.integers(1, most))):
        place = draw(st.integers(0, len(changed) - 1))
        letter = draw(st.sampled_from(LETTERS))
        changed = draw(
            st.sampled_from(
                [
                    changed[:place] + changed[place + 1 :],
                    changed[:place] + letter + changed[place:],
                    changed[:place] + letter + changed[place + 1 :],
                    changed[:place] + changed[place : place + 2][::-1] + changed[place + 2 :],
                ]
            )
        )
        assume(len(changed) >= 3)
    return word, changed


@given(pair=edited(2))
@example(pair=("abcabcabc", "bacabcacb"))
def test_every_word_within_reach_shares_a_key(pair: tuple[str, str]) -> None:
    typed, meant = pair
    distance = edit_distance(typed, meant, 2)
    assume(distance in range(1, reachable(typed) + 1))
    keys = near_keys(typed) if distance == 1 else far_keys(typed)
    assert not keys.isdisjoint(vocabulary_keys(meant)), (typed, meant, distance)


def _definition(left: str, right: str) -> int:
    """Optimal string alignment as it is defined, by recursion."""
    if not left or not right:
        return len(left) + len(right)
    best = min(
        _definition(left[:-1], right) + 1,
        _definition(left, right[:-1]) + 1,
        _definition(left[:-1], right[:-1]) + (left[-1] != right[-1]),
    )
    if left[-2:] == right[-2:][::-1] and len(left) > 1:
        best = min(best, _definition(left[:-2], right[:-2]) + 1)
    return best


@given(left=st.text("ab", max_size=5), right=st.text("abc", max_size=5), limit=st.integers(1, 2))
@example(left="ca", right="abc", limit=2)
def test_distance_is_as_defined_up_to_the_limit(left: str, right: str, limit: int) -> None:
    assert edit_distance(left, right, limit) == min(_definition(left, right), limit + 1)


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("flow", "folw", 1), ("flow", "flow", 0), ("flow", "flown", 1), ("flow", "blew", 2), ("ca", "abc", 3)],
)
def test_distances(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right, 3) == distance


def test_a_word_has_few_keys() -> None:
    assert len(vocabulary_keys("flow")) == 3
    assert len(vocabulary_keys("aerodynamics")) == 6
    assert len(near_keys("aerodynamics")) < 30
    assert len(far_keys("aerodynamics")) < 300


def test_two_edits_only_from_nine_letters_on() -> None:
    assert [reachable("x" * length) for length in (4, TWO_EDITS_CHARS - 1, TWO_EDITS_CHARS, 30)] == [1, 1, 2, 2]


@pytest.mark.parametrize("word", ["flow", "überschuss", "вертолёт", "x" * 32])
def test_spellings(word: str) -> None:
    assert is_spelling(word)


@pytest.mark.parametrize("word", ["of", "which", "1423", "x86", "外币汇率", "สวัสดี", "x" * 33, "ab"])
def test_what_no_vocabulary_keeps(word: str) -> None:
    assert not is_spelling(word)


def test_common_words() -> None:
    assert is_common("which")
    assert is_common("dont")
    assert not is_common("flow")
    assert "which" in COMMON_WORDS
    assert not {"didn", "the"} & COMMON_WORDS, "neither fragments nor words too short to be what a respelt word means"
