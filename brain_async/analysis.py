"""Text analysis shared by every store: words to index terms, key terms, trigrams.

It runs here rather than in the database, so that MemoryStore and both lexical backends of PostgresStore see the very same
terms, whatever the server's version, locale or parser. Words are stemmed with Snowball by the language of their text, as
Postgres' text search configurations do; stop words are dropped; unsegmented scripts (CJK, Thai) become overlapping bigrams
in every language, so that any substring of two or more characters is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

from brain_async.languages import DEFAULT_LANGUAGE, stemmer_of
from brain_async.stop_words import STOP_WORDS_BY_LANGUAGE

__all__ = [
    "MAX_INDEX_TERMS",
    "MAX_QUERY_KEY_WORDS",
    "STOP_WORDS",
    "TRIGRAM_THRESHOLD",
    "index_terms",
    "index_terms_and_words",
    "is_identifier_like",
    "is_unsegmented",
    "key_terms",
    "plain_terms",
    "query_key_words",
    "query_terms",
    "similarity",
    "terms_of_word",
    "trigrams",
    "words",
]

MAX_INDEX_TERMS = 50_000
"""Terms of one part that are indexed; what follows is stored and read, but not found lexically."""

MAX_KEY_TERMS = 64
MAX_QUERY_KEY_WORDS = 8
MIN_KEY_CHARS = 3
MAX_TERM_CHARS = 64
TRIGRAM_THRESHOLD = 0.3
"""pg_trgm's default similarity_threshold."""

_EAGER_CHARS = 20_000

_MARKS = "".join(chr(code) for code in range(0x300, 0x1B00) if unicodedata.category(chr(code))[0] == "M")
_UNSEGMENTED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u3040-\u30ff\u31f0-\u31ff"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_RUN = re.compile(f"[{_UNSEGMENTED}]+|(?:[^\\W_{_UNSEGMENTED}]|[{_MARKS}])+")
_ASCII_RUN = re.compile("[a-z0-9]+")
"""The same of folded text in ASCII, in a third of the time."""

_UNSEGMENTED_START = re.compile(f"[{_UNSEGMENTED}]")

# NLTK's English list, without what splitting at apostrophes leaves to the single letters at its end.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing a an the and but if or because as until while of at by for with about
    against between into through during before after above below to from up down in out on off over under again further
    then once here there when where why how all any both each few more most other some such no nor not only own same so
    than too very can will just don should now ain aren couldn didn doesn hadn hasn haven isn ma mightn mustn needn shan
    shouldn wasn weren won wouldn s t d ll m o re ve y
    """.split()  # noqa: SIM905
)
"""English words that are no index terms, lower-case."""


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def is_unsegmented(word: str) -> bool:
    """Whether ``word`` begins with a letter of a script that is written without spaces."""
    return _UNSEGMENTED_START.match(word) is not None


def words(text: str) -> list[str]:
    """The lower-cased words of ``text``: maximal runs of letters and digits, neither stemmed nor stopped."""
    return _runs(_fold(text))


def _runs(folded: str) -> list[str]:
    return (_ASCII_RUN if folded.isascii() else _RUN).findall(folded)


def _each_word(text: str) -> Iterable[str]:
    """``words``, of a long text one by one, as only its beginning may be looked at."""
    folded = _fold(text)
    if len(folded) <= _EAGER_CHARS:
        return _runs(folded)
    return (match.group() for match in _RUN.finditer(folded))


def _bigrams(run: str) -> tuple[str, ...]:
    return tuple(run[i : i + 2] for i in range(min(len(run) - 1, MAX_INDEX_TERMS))) or (run,)


class _TermsOfWords(dict[str, tuple[str, ...]]):
    """The terms of words of one language, worked out when first asked for: a known word costs no call of Python code."""

    def __init__(self, of_short_word: Callable[[str], tuple[str, ...]], most: int) -> None:
        super().__init__()
        self._of_short_word = of_short_word
        self._most = most

    def __missing__(self, word: str) -> tuple[str, ...]:
        # Neither runs of such scripts nor blobs are kept: there are too many, and some are megabytes long.
        if not word.isascii() and is_unsegmented(word):
            return _bigrams(word)
        if len(word) > MAX_TERM_CHARS:
            return ()
        if len(self) >= self._most:
            self.clear()
        terms = self[word] = self._of_short_word(word)
        return terms


@lru_cache(maxsize=64)
def _terms_of_words_in(language: str) -> _TermsOfWords:
    """The terms of words of ``language``; those of one that is not known are neither stemmed nor stopped."""
    stop_words = STOP_WORDS if language == "english" else STOP_WORDS_BY_LANGUAGE.get(language, frozenset())
    stem = stemmer_of(language)

    def terms(word: str) -> tuple[str, ...]:
        if word in stop_words:
            return ()
        return (stem(word),) if stem is not None and _has_stem(word, language) else (word,)

    return _TermsOfWords(terms, 1 << 17 if language == DEFAULT_LANGUAGE else 1 << 15)


def terms_of_word(word: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """The index terms of one of ``words``: none of a stop word, several of an unsegmented run."""
    return _terms_of_words_in(language or DEFAULT_LANGUAGE)[word]


def _has_stem(word: str, language: str) -> bool:
    if word.isascii():
        return word.isalpha()
    # An English suffix says nothing about a word with letters that English does not have.
    return language != "english" and not any(map(str.isdigit, word))


def index_terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms a part is matched by, in text order with repeats, at most ``MAX_INDEX_TERMS``.

    ``language`` is one of ``languages.LANGUAGES``; another is analysed as ``simple``, and "" as English.
    """
    return _terms_of_words(_each_word(text), language)


def index_terms_and_words(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[list[str], frozenset[str]]:
    """``index_terms`` and the distinct words that they were made of, stop words among them."""
    found = _each_word(text)
    if isinstance(found, list):
        return _terms_of_words(found, language), frozenset(found)
    read: set[str] = set()
    noted = (word for word in found if read.add(word) is None)  # type: ignore[func-returns-value]
    return _terms_of_words(noted, language), frozenset(read)


def _terms_of_words(found: Iterable[str], language: str) -> list[str]:
    known = _terms_of_words_in(language or DEFAULT_LANGUAGE)
    if isinstance(found, list):
        return list(chain.from_iterable(map(known.__getitem__, found)))[:MAX_INDEX_TERMS]
    terms: list[str] = []
    for word in found:
        terms.extend(known[word])
        if len(terms) >= MAX_INDEX_TERMS:
            return terms[:MAX_INDEX_TERMS]
    return terms


def query_terms(query: str, languages: Iterable[str]) -> list[str]:
    """The terms that a query matches parts of any of ``languages`` by, in order of their first appearance, with repeats.

    Those of each language together; a term counts as often as it does in the language where it does so most.
    """
    counts: Counter[str] = Counter()
    for language in sorted(languages):
        counts |= Counter(index_terms(query, language))
    return list(counts.elements())


def plain_terms(text: str) -> list[str]:
    """The terms a graph's entity texts and edge notes are matched by: ``words``, unsegmented scripts as bigrams.

    In text order with repeats, neither stemmed nor stopped, at most ``MAX_INDEX_TERMS``.
    """
    terms: list[str] = []
    for word in _each_word(text):
        if is_unsegmented(word):
            terms.extend(_bigrams(word))
        else:
            terms.append(word)
        if len(terms) >= MAX_INDEX_TERMS:
            return terms[:MAX_INDEX_TERMS]
    return terms


_TOKEN = re.compile(r"[^\W_][\w.\-/:\\@#+]*[\w+#]|[^\W_]")
_IDENTIFIER = re.compile(
    r"(?=.*[^\W\d_])(?=.*\d)"  # letters and digits: ACME-1423, v1.2, sha256
    r"|.*\w_\w"  # snake_case
    r"|.*[^\W\d_][.:\\@#/]+[^\W\d_]"  # dotted names, paths, addresses
    r"|.*[a-z][A-Z]"  # camelCase
    r"|\d{4,}$"  # bare numbers
)


_PUNCTUATION = ".,;:!?()\"'"


def _is_plain(token: str) -> bool:
    """Whether ``token`` is of letters, none behind the first a capital, as most are: no alternative of an identifier fits."""
    return token.isalpha() and (len(token) == 1 or token[1:].islower())


def _is_identifier(token: str) -> bool:
    if _is_plain(token):
        return False
    return len(token) <= MAX_TERM_CHARS and _IDENTIFIER.match(token) is not None


def _each_token(text: str) -> Iterable[str]:
    """The tokens of ``text`` that may be identifiers; of a long text all, one by one, as in ``_each_word``."""
    if len(text) <= _EAGER_CHARS:
        # No token reaches across white space: so plain words, most of what there is, are told without the expression.
        suspects = [
            chunk
            for chunk in dict.fromkeys(text.split())
            if not (chunk.isalpha() and chunk.islower()) and not _is_plain(chunk.strip(_PUNCTUATION))
        ]
        return _TOKEN.findall(" ".join(suspects))
    return (match.group() for match in _TOKEN.finditer(text))


def is_identifier_like(query: str) -> bool:
    """Whether ``query`` is at most three tokens with an identifier among them, rather than natural language."""
    tokens = query.split()
    return 0 < len(tokens) <= 3 and any(_is_identifier(token) for token in _TOKEN.findall(query))


def _usable_key(term: str) -> bool:
    return MIN_KEY_CHARS <= len(term) <= MAX_TERM_CHARS and term not in STOP_WORDS


def _distinct_keys(found: Iterable[str]) -> dict[str, None]:
    """The usable ones; all of them where none is, so that a thing called "It" or "The Who" has keys at all."""
    terms = [term for term in found if len(term) <= MAX_TERM_CHARS]
    return dict.fromkeys([term for term in terms if _usable_key(term)] or terms)


def key_terms(title: str, content: str = "") -> list[str]:
    """The terms a part is fuzzily found by: the words of its title and the identifier-like tokens of title and content.

    Lower-cased, distinct, in order of appearance, at most 64; stop words and those of fewer than 3 characters are left out,
    except from a title of nothing else.
    """
    found = _distinct_keys(words(title))
    for text in (title, content):
        for token in _each_token(text):
            if len(found) >= MAX_KEY_TERMS:
                break
            if _is_identifier(token) and _usable_key(token):
                found.setdefault(_fold(token))
    return list(found)[:MAX_KEY_TERMS]


def query_key_words(query: str) -> list[str]:
    """The words of a query that are looked up fuzzily: its identifiers whole, its other words one by one, at most 8."""
    found: list[str] = []
    for match in _TOKEN.finditer(query):
        token = match.group()
        found += [_fold(token)] if _is_identifier(token) else words(token)
    return list(_distinct_keys(found))[:MAX_QUERY_KEY_WORDS]


@lru_cache(maxsize=1 << 14)
def trigrams(term: str) -> frozenset[str]:
    """The trigrams of ``term`` as pg_trgm makes them: two spaces before each word and one after."""
    return frozenset(
        padded[i : i + 3] for word in words(term) for padded in (f"  {word} ",) for i in range(len(padded) - 2)
    )


def similarity(left: str, right: str) -> float:
    """pg_trgm's ``similarity``: shared trigrams divided by all trigrams of both, in [0, 1]."""
    a, b = trigrams(left), trigrams(right)
    union = len(a | b)
    return len(a & b) / union if union else 0.0
