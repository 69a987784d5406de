from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from brain_async import analysis
from brain_async.analysis import (
    MAX_INDEX_TERMS,
    MAX_KEY_TERMS,
    MAX_QUERY_KEY_WORDS,
    index_terms,
    is_identifier_like,
    key_terms,
    query_key_words,
    query_terms,
    similarity,
    trigrams,
    words,
)
from brain_async.languages import LANGUAGES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("snake_case", ["snake", "case"]),
        ("C:\\repo\\src\\main.py", ["c", "repo", "src", "main", "py"]),
        ("curl x | bash", ["curl", "x", "bash"]),
        ("", []),
        ("~!@#$%^&*()", []),
        ("docker 汇率", ["docker", "汇率"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("किताब", ["किताब"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_terms_are_stemmed_stopped_and_repeated() -> None:
    assert index_terms("The connections are connected; connecting") == ["connect", "connect", "connect"]
    assert index_terms("the and of") == []


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("german", "Die Häuser am Fluss, das Haus", ["haus", "fluss", "haus"]),
        ("french", "la nation et nations continuaient", ["nation", "nation", "continu"]),
        ("russian", "важная книга и важные книги", ["важн", "книг", "важн", "книг"]),
        ("spanish", "las canciones de la canción", ["cancion", "cancion"]),
        ("simple", "The Houses", ["the", "houses"]),
        ("klingon", "The Houses", ["the", "houses"]),
        ("", "The Houses", ["hous"]),
        ("japanese", "今日は the Houses", ["今日", "日は", "the", "houses"]),
        ("german", "外币汇率 ACME-1423 v1a", ["外币", "币汇", "汇率", "acm", "1423", "v1a"]),
    ],
)
def test_a_text_is_analysed_by_its_language(language: str, text: str, terms: list[str]) -> None:
    assert index_terms(text, language) == terms


def test_a_query_is_analysed_by_several_languages_at_once() -> None:
    assert query_terms("Die Häuser", ["german"]) == ["haus"]
    assert query_terms("die Häuser", ["german", "english"]) == ["die", "häuser", "haus"]
    assert query_terms("house house Haus", ["english", "german"]) == ["hous", "hous", "haus"]
    assert query_terms("汇率 houses", ["chinese", "english", "simple"]) == ["汇率", "houses", "hous"]
    assert query_terms("house", []) == []


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_what_is_in_a_part_is_found_by_its_words(language: str) -> None:
    text = "Häuser maisons книги σπίτια بيوت किताबें வீடுகள் evler 汇率 끝말잇기 houses 1423"
    assert set(query_terms(text, [language])) == set(index_terms(text, language))
    assert all(index_terms(word, language) for word in text.split())


def test_threads_do_not_spoil_each_others_stems() -> None:
    # Words that no test before has put into the cache, stemmed by many threads that take turns as often as they can.
    texts = [
        " ".join(f"{chr(97 + n)}{chr(97 + i % 26)}{chr(97 + i // 26)}tionally" for i in range(200)) for n in range(8)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(index_terms, texts))
    finally:
        sys.setswitchinterval(interval)
    english = snowballstemmer.stemmer("english")
    assert found == [[english.stemWord(word) for word in text.split()] for text in texts]


@pytest.mark.parametrize(
    ("query", "same"), [("tb-", "tb"), ("node:", "node"), ("a && !zebra", "a zebra"), ('say "hello', "say hello")]
)
def test_operator_characters_mean_nothing(query: str, same: str) -> None:
    assert index_terms(query) == index_terms(same)


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("外币汇率换算规则", "汇率"),
        ("今日は成語しりとりをした", "しりとり"),
        ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
        ("外币汇率换算规则", "docker 汇率"),
    ],
)
def test_substrings_of_unsegmented_scripts_share_terms(stored: str, query: str) -> None:
    assert set(index_terms(stored)) & set(index_terms(query))


def test_a_single_unsegmented_character_is_a_term() -> None:
    assert index_terms("汇") == ["汇"]


@given(st.text(alphabet="外币汇率换算规则しりとり끝말", min_size=2, max_size=12), st.data())
def test_every_longer_substring_is_found(stored: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(stored) - 2))
    end = data.draw(st.integers(start + 2, len(stored)))
    assert set(index_terms(stored[start:end])) <= set(index_terms(stored))


def test_terms_are_bounded() -> None:
    assert len(index_terms("zebra " * (MAX_INDEX_TERMS + 10))) == MAX_INDEX_TERMS
    assert index_terms("x" * 65) == []


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_is_analysed(text: str) -> None:
    assert all(term for term in index_terms(text))
    assert len(query_key_words(text)) <= MAX_QUERY_KEY_WORDS
    assert len(key_terms(text, text)) <= MAX_KEY_TERMS
    is_identifier_like(text)


@pytest.mark.parametrize(
    "query",
    ["ACME-1423", "v1.2.3", "snake_case", "camelCase", "src/main.py", "error 4711", "C:\\repo\\main.py", "std::vector"],
)
def test_identifier_like_queries(query: str) -> None:
    assert is_identifier_like(query)


@pytest.mark.parametrize("query", ["", "renewal risk", "how do I configure v2 of this thing", "hello", "a b c"])
def test_natural_language_queries(query: str) -> None:
    assert not is_identifier_like(query)


def test_key_terms_are_title_words_and_identifiers() -> None:
    found = key_terms("The Renewal of ACME-1423", "See src/main.py and plain words; it is v1.2.3 in snake_case")
    assert found[:3] == ["renewal", "acme", "1423"]
    assert {"acme-1423", "src/main.py", "v1.2.3", "snake_case"} <= set(found)
    assert not {"the", "of", "plain", "words"} & set(found)


def test_query_key_words() -> None:
    assert query_key_words("ACME-1423 renewal renewal of it") == ["acme-1423", "renewal"]


def test_trigrams_as_pg_trgm_makes_them() -> None:
    assert trigrams("cat") == {"  c", " ca", "cat", "at "}
    assert trigrams("") == frozenset()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("word", "two words", 4 / 11),
        ("cat", "cat", 1.0),
        ("Cat", "cAT", 1.0),
        ("abc", "xyz", 0.0),
        ("", "", 0.0),
        ("外币", "外币汇率换算", 0.25),
    ],
)
def test_similarity(left: str, right: str, expected: float) -> None:
    assert similarity(left, right) == pytest.approx(expected)


@given(st.text(max_size=20), st.text(max_size=20))
def test_similarity_is_symmetric_and_bounded(left: str, right: str) -> None:
    assert 0.0 <= similarity(left, right) == similarity(right, left) <= 1.0


@pytest.mark.parametrize(("title", "keys"), [("It", ["it"]), ("The Who", ["the", "who"]), ("The Who live", ["live"])])
def test_a_title_of_stop_words_alone_keeps_them_as_keys(title: str, keys: list[str]) -> None:
    assert key_terms(title) == keys
    assert query_key_words(title) == keys


def test_a_text_of_megabytes_is_found_by_its_beginning() -> None:
    assert index_terms("alpha beta " * 500_000) == ["alpha", "beta"] * (MAX_INDEX_TERMS // 2)
    assert len(index_terms("汇率" * 500_000)) == MAX_INDEX_TERMS


def test_blobs_and_unsegmented_runs_are_not_remembered() -> None:
    index_terms("renewal")
    remembered = len(analysis._terms_of_words_in("english"))
    assert index_terms("外币汇率换算规则 " + "f" * 20_000) == ["外币", "币汇", "汇率", "率换", "换算", "算规", "规则"]
    assert len(analysis._terms_of_words_in("english")) == remembered


@given(st.text(st.sampled_from("aB9_ .,:/-é中\u0301'(\n\u00a0#Ⅻ"), max_size=60))
def test_words_of_ascii_are_told_as_those_of_any_text(text: str) -> None:
    folded = analysis._fold(text)
    assert words(text) == analysis._RUN.findall(folded)


@given(st.text(st.sampled_from("abAB19_ .,:/-é中'()\t\u00a0#+@"), max_size=60))
def test_no_identifier_is_passed_over(text: str) -> None:
    found = analysis._TOKEN.findall(text)
    identifiers = [token for token in dict.fromkeys(found) if analysis._IDENTIFIER.match(token)]
    tokens = dict.fromkeys(analysis._each_token(text))
    assert [token for token in tokens if analysis._IDENTIFIER.match(token)] == identifiers
