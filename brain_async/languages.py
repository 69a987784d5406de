"""The languages that text can be analysed in: their names, their codes, and their stemmers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import snowballstemmer

__all__ = ["DEFAULT_LANGUAGE", "LANGUAGES", "SIMPLE", "known_language", "stemmer_of"]

DEFAULT_LANGUAGE = "english"

SIMPLE = "simple"
"""Neither stemmed nor stopped, as Postgres' configuration of that name."""

LANGUAGES: Mapping[str, str] = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "catalan": "ca",
    "chinese": "zh",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "lao": "lo",
    "lithuanian": "lt",
    "nepali": "ne",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "sr",
    "sesotho": "st",
    "spanish": "es",
    "swedish": "sv",
    "tamil": "ta",
    "thai": "th",
    "turkish": "tr",
    "yiddish": "yi",
    SIMPLE: "und",
}
"""The name of each, as Postgres and Snowball write it, and its ISO 639-1 code (``und``, undetermined, for ``simple``).

Chinese, Japanese, Korean, Lao and Thai have no stemmer: their scripts are indexed as bigrams in every language.
"""

_NAMES = {code: name for name, code in LANGUAGES.items()} | {"nb": "norwegian", "nn": "norwegian"}
_STEMMED = frozenset(snowballstemmer.algorithms()) & LANGUAGES.keys()


def known_language(text: str) -> str | None:
    """The name of the language that ``text`` is the name or the code of (``German``, ``de``, ``de-CH``), else None."""
    folded = text.strip().lower()
    if folded in LANGUAGES:
        return folded
    return _NAMES.get(folded.replace("_", "-").partition("-")[0])


class _Stemmers(threading.local):
    """A stemmer works on a word kept in itself: threads must not share one."""

    def __init__(self) -> None:
        self.by_language: dict[str, Callable[[str], str]] = {}


_stemmers = _Stemmers()


def stemmer_of(language: str) -> Callable[[str], str] | None:
    """What stems a lower-case word of ``language``, from any thread; None where there is no stemmer."""
    if language not in _STEMMED:
        return None

    def stem(word: str) -> str:
        found = _stemmers.by_language.get(language)
        if found is None:
            found = _stemmers.by_language[language] = snowballstemmer.stemmer(language).stemWord
        return found(word)

    return stem
