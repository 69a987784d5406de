"""Text analysis shared by every store: words to index terms, key terms, trigrams.

It runs here rather than in the database, so that MemoryStore and both lexical backends of PostgresStore see the very same
terms, whatever the server's version, locale or parser. English words are stemmed with Snowball (Porter2), as Postgres'
``english`` configuration does; stop words are dropped; unsegmented scripts (CJK, Thai) become overlapping bigrams, so
that any substring of two or more characters is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer

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

_stemmer = snowballstemmer.stemmer("english")


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def is_unsegmented(word: str) -> bool:
    """Whether ``word`` begins with a letter of a script that is written without spaces."""
    return _UNSEGMENTED_START.match(word) is not None


def words(text: str) -> list[str]:
    """The lower-cased words of ``text``: maximal runs of letters and digits, neither stemmed nor stopped."""
    return _RUN.findall(_fold(text))


def _each_word(text: str) -> Iterable[str]:
    """``words``, of a long text one by one, as only its beginning may be looked at."""
    folded = _fold(text)
    if len(folded) <= _EAGER_CHARS:
        return _RUN.findall(folded)
    return (match.group() for match in _RUN.finditer(folded))


def terms_of_word(word: str) -> tuple[str, ...]:
    """The index terms of one of ``words``: none of a stop word, several of an unsegmented run."""
    if not word.isascii() and is_unsegmented(word):
        return tuple(word[i : i + 2] for i in range(min(len(word) - 1, MAX_INDEX_TERMS))) or (word,)
    # Neither runs of such scripts nor blobs are kept in the cache: there are too many, and some are megabytes long.
    return _terms_of_short_word(word) if len(word) <= MAX_TERM_CHARS else ()


@lru_cache(maxsize=1 << 17)
def _terms_of_short_word(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS:
        return ()
    return (_stemmer.stemWord(word),) if word.isascii() and word.isalpha() else (word,)


def index_terms(text: str) -> list[str]:
    """The terms a part or a query is matched by, in text order with repeats, at most ``MAX_INDEX_TERMS``."""
    return _terms_of_words(_each_word(text))


def index_terms_and_words(text: str) -> tuple[list[str], frozenset[str]]:
    """``index_terms`` and the distinct words that they were made of, stop words among them."""
    found = _each_word(text)
    if isinstance(found, list):
        return _terms_of_words(found), frozenset(found)
    read: set[str] = set()
    terms = _terms_of_words(word for word in found if read.add(word) is None)  # type: ignore[func-returns-value]
    return terms, frozenset(read)


def _terms_of_words(found: Iterable[str]) -> list[str]:
    terms: list[str] = []
    for word in found:
        terms.extend(terms_of_word(word))
        if len(terms) >= MAX_INDEX_TERMS:
            return terms[:MAX_INDEX_TERMS]
    return terms


def plain_terms(text: str) -> list[str]:
    """The terms a graph's entity texts and edge notes are matched by: ``words``, unsegmented scripts as bigrams.

    In text order with repeats, neither stemmed nor stopped, at most ``MAX_INDEX_TERMS``.
    """
    terms: list[str] = []
    for word in _each_word(text):
        if is_unsegmented(word):
            terms.extend(terms_of_word(word))
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


def _is_identifier(token: str) -> bool:
    if token.isalpha() and token[1:].islower():  # a plain word, as most tokens are: none of the alternatives fits
        return False
    return len(token) <= MAX_TERM_CHARS and _IDENTIFIER.match(token) is not None


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
        for match in _TOKEN.finditer(text):
            if len(found) >= MAX_KEY_TERMS:
                break
            token = match.group()
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
