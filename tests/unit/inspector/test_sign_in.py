"""Sessions: a cookie holds for twelve hours, for one token, and as it was issued."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.errors import InvalidInputError
from brain_async.inspector.sign_in import Sessions


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_cookie_ends_after_twelve_hours() -> None:
    clock = Clock()
    sessions = Sessions("sesame", clock=clock)
    cookie = sessions.issue()
    assert sessions.holds(cookie)
    clock.now += 12 * 3600 - 1
    assert sessions.holds(cookie)
    clock.now += 1
    assert not sessions.holds(cookie)


def test_a_cookie_is_of_one_token() -> None:
    cookie = Sessions("sesame").issue()
    assert Sessions("sesame").holds(cookie)
    assert not Sessions("Sesame").holds(cookie)
    assert "sesame" not in cookie


def test_a_cookie_cannot_be_stretched() -> None:
    sessions = Sessions("sesame")
    ends, _, signature = sessions.issue().partition(".")
    assert not sessions.holds(f"{int(ends) + 1}.{signature}")
    assert not sessions.holds(f"{ends}.{signature[:-1]}")
    assert not sessions.holds(f"{ends}.")


@given(st.text())
def test_no_other_text_holds(text: str) -> None:
    sessions = Sessions("sesame")
    assert not sessions.holds(text)
    assert sessions.is_token(text) == (text == "sesame")


def test_the_token_must_not_be_empty() -> None:
    with pytest.raises(InvalidInputError):
        Sessions("")
