"""split_passages: bounded, complete, and cut at the best places."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from brain_async.cli.passages import split_passages

_SENTENCE = "Every passage ends where a reader would pause."


def _squeezed(text: str) -> str:
    return "".join(text.split())


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab .\n\t!`é。\x0b\u2028"), max_size=400), st.integers(1, 60))
def test_nothing_but_white_space_is_dropped(text: str, max_chars: int) -> None:
    passages = split_passages(text, max_chars=max_chars)
    assert _squeezed("".join(passages)) == _squeezed(text)
    assert all(passage.strip() and len(passage) <= max_chars for passage in passages)


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="xyz \n", min_size=1, max_size=40), min_size=1, max_size=8),
    st.integers(1, 50),
)
def test_whole_stretches_never_lose_text(blocks: list[str], max_chars: int) -> None:
    whole, offset = [], 0
    for index, block in enumerate(blocks):
        if index % 2:
            whole.append((offset, offset + len(block)))
        offset += len(block)
    text = "".join(blocks)
    passages = split_passages(text, max_chars=max_chars, whole=whole)
    assert _squeezed("".join(passages)) == _squeezed(text)
    assert all(len(passage) <= max_chars for passage in passages)


def test_paragraph_ends_come_before_sentence_ends() -> None:
    text = f"{_SENTENCE} {_SENTENCE}\n\n{_SENTENCE} {_SENTENCE}"
    first, second = split_passages(text, max_chars=len(text) - 5)
    assert first == second == f"{_SENTENCE} {_SENTENCE}"


def test_a_long_paragraph_is_cut_at_sentence_ends() -> None:
    text = " ".join([_SENTENCE] * 50)
    passages = split_passages(text, max_chars=200)
    assert all(passage.endswith("pause.") and passage.startswith("Every") for passage in passages)
    assert len(passages) == 13


def test_an_abbreviation_ends_no_sentence() -> None:
    text = "Use a cache, e.g. the one that is built in and fast. Then measure."
    assert split_passages(text, max_chars=60)[0] == "Use a cache, e.g. the one that is built in and fast."


def test_a_word_is_cut_only_when_it_is_longer_than_a_passage() -> None:
    assert split_passages("short " + "x" * 25, max_chars=10) == ["short", "x" * 10, "x" * 10, "x" * 5]


def test_code_that_fits_stays_in_one_piece() -> None:
    code = "a = 1.\n\nb = 2.\n\nc = 3."
    text = f"{'Some words. ' * 6}\n\n{code}\n\nThe end."
    start = text.index(code)
    passages = split_passages(text, max_chars=80, whole=[(start, start + len(code))])
    assert any(code in passage for passage in passages)


def test_code_longer_than_a_passage_is_cut_between_lines_and_keeps_its_indentation() -> None:
    code = "\n".join(f"    line_{number} = {number}" for number in range(20))
    passages = split_passages(code, max_chars=60, whole=[(0, len(code))])
    assert "\n".join(passages) == code
