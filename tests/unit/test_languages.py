from __future__ import annotations

import pytest
import snowballstemmer

from brain_async.languages import LANGUAGES, known_language, stemmer_of
from brain_async.stop_words import STOP_WORDS_BY_LANGUAGE


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("german", "german"),
        (" German ", "german"),
        ("de", "german"),
        ("de-CH", "german"),
        ("pt_BR", "portuguese"),
        ("ZH", "chinese"),
        ("nb", "norwegian"),
        ("simple", "simple"),
        ("und", "simple"),
        ("", None),
        ("germn", None),
        ("tlh", None),
        ("germany-de", None),
    ],
)
def test_names_and_codes(text: str, language: str | None) -> None:
    assert known_language(text) == language


def test_every_language_has_a_code_of_its_own() -> None:
    assert len(set(LANGUAGES.values())) == len(LANGUAGES)
    assert all(known_language(code) == name for name, code in LANGUAGES.items())


def test_snowballs_languages_are_here_and_stemmed() -> None:
    # "porter" and "dutch_porter" are older stemmers of languages that have one.
    assert set(snowballstemmer.algorithms()) - {"porter", "dutch_porter"} <= set(LANGUAGES)
    unstemmed = {name for name in LANGUAGES if stemmer_of(name) is None}
    assert unstemmed == {"chinese", "japanese", "korean", "lao", "simple", "thai"}
    stem = stemmer_of("german")
    assert stem is not None
    assert (stem("häuser"), stem("haus")) == ("haus", "haus")


def test_the_lists_of_stop_words_are_of_known_languages_and_lower_case() -> None:
    assert set(STOP_WORDS_BY_LANGUAGE) <= set(LANGUAGES)
    for words in STOP_WORDS_BY_LANGUAGE.values():
        assert len(words) > 50
        assert all(word == word.lower() for word in words)
