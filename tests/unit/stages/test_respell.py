"""respell: which words may change, what into, and that the rest of the query stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.scope import Scope
from brain_async.ports.vocabulary import VocabularyWord
from brain_async.stages.respell import MAX_WORDS, Respelt, likeliest, respell, respellable


class Dictionary:
    """A vocabulary that holds nothing of what it is asked, and has the same words near everything."""

    def __init__(self, *words: tuple[str, int]) -> None:
        self.words = [VocabularyWord(word, documents) for word, documents in words]
        self.asked: list[list[str]] = []

    async def near_words(self, scope: Scope, words: Sequence[str]) -> Mapping[str, Sequence[VocabularyWord]]:
        self.asked.append(list(words))
        return dict.fromkeys(words, self.words)


def folded(query: str) -> list[str]:
    return [word.folded for word in respellable(query)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Aeordynamics of flwo", ["aeordynamics", "flwo"]),
        ("(heated) wings, tails; and noses?", ["heated", "wings", "tails", "noses"]),
        ("boundary-layer flow,heat", ["boundary", "layer", "flow", "heat"]),
        ("the airplane’s wing", ["airplane", "wing"]),
        ("Überschus вертолет", ["überschus", "вертолет"]),
    ],
)
def test_plain_words_may_be_respelt(query: str, words: list[str]) -> None:
    assert folded(query) == words


@pytest.mark.parametrize(
    "query",
    [
        'the "flwo" of “heatt” and `wnigs` «xylem»',
        "ACME-1423 v1.2 flw0 x86",
        "snake_casse _private camelCasse FLWO NASAA",
        "src/flwo/heatt.py www.exampel.org user@exampel.org and/orr",
        "#flwo @flwo $HOEM --flga %flwo a=bcde",
        "or to be not with which dont cant",
        "外币汇率换算规则 今日は成語 สวัสดีชาวโลก",
        "e³⁴ﬁne xyz ab",
        "",
    ],
)
def test_never_respelt(query: str) -> None:
    assert folded(query) == []


def test_an_unclosed_quote_quotes_nothing() -> None:
    assert folded('say "helo wrold') == ["wrold"], "what a quote is glued to is left alone"


def test_only_the_first_words_of_a_long_query_are_looked_at() -> None:
    assert len(folded("wordy " * 500)) == MAX_WORDS


@given(st.text(max_size=60))
def test_places_are_those_of_the_words(query: str) -> None:
    for word in respellable(query):
        assert query[word.start : word.end].lower() == word.folded


async def test_the_rest_of_the_query_and_capitals_stay() -> None:
    found = await respell(Dictionary(("flow", 5)), Scope(), '  Flwo,\tflwo "flwo" (flwo)! ')
    assert found == Respelt('  Flow,\tflow "flwo" (flow)! ', (("Flwo", "Flow"), ("flwo", "flow")))


async def test_each_word_is_asked_for_once_and_nothing_for_no_word() -> None:
    dictionary = Dictionary()
    assert await respell(dictionary, Scope(), "Flwo flwo heet") == Respelt("Flwo flwo heet")
    assert await respell(dictionary, Scope(), "ACME-1423 invoise") == Respelt("ACME-1423 invoise"), "like an identifier"
    await respell(dictionary, Scope(), "to be")
    assert dictionary.asked == [["flwo", "heet"]]


@pytest.mark.parametrize(
    ("word", "candidates", "choice"),
    [
        ("flwo", [("flow", 5), ("floor", 90)], "flow"),
        ("fliw", [("flew", 2), ("flow", 700)], "flow"),
        ("fliw", [("flow", 3), ("flew", 3)], "flew"),
        ("xyzzy", [], None),
        ("wich", [("rich", 1000)], "which"),
        ("temperatuer", [("temperature", 1), ("temperate", 900)], "temperature"),
    ],
    ids=["near", "frequent", "tie", "none", "stop word", "nearest first"],
)
def test_the_likeliest(word: str, candidates: list[tuple[str, int]], choice: str | None) -> None:
    assert likeliest(word, [VocabularyWord(*each) for each in candidates]) == choice


@given(st.permutations([("flow", 3), ("flew", 3), ("flaw", 3), ("slow", 3)]))
def test_the_order_of_the_candidates_does_not_matter(candidates: list[tuple[str, int]]) -> None:
    assert likeliest("flpw", [VocabularyWord(*each) for each in candidates]) == "flaw"
